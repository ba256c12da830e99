/* timeline_spans.h - the lanes of a time line: their spans, how these are laid
 * down one after the other, and how they are folded with a coarser grain.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* An index in timeline.lanes, or one of these. */
enum {
	TIMELINE_NONE = UINT32_MAX,     /* there is no lane for it */
	TIMELINE_SEVERAL = UINT32_MAX - 1, /* of a folded span: several */
};

enum timeline_kind {
	/* The lane ran without a break: a thread while it was recorded; a
	 * coroutine from a resume to the suspend after it, also while others
	 * that it had resumed ran. Always at depth 0; all else is deeper. A
	 * coroutine is suspended between its runs. */
	TIMELINE_RUN,
	TIMELINE_CALL,
	/* A coroutine that it had resumed ran on top of the lane's calls. */
	TIMELINE_GUEST,
	/* Gaps of threads, not among the spans: the thread was not recorded, or
	 * its records are missing. */
	TIMELINE_OFF, TIMELINE_LOST,
	/* The thread was off the CPU, inside of its runs. */
	TIMELINE_WAIT,
};

/* A stretch of time in a lane. A call that was open over several runs has a
 * span in each of them, and counts in the first.
 *
 * Spans that are shorter than timeline.grain are folded: neighbours of the same
 * depth into one span, and what is deeper into them. Then parts is above 1, or
 * calls above 1 for a single one, and func, kind and who are those of the
 * longest part. For all spans:
 *   longest <= busy <= to - from
 *   sum of calls = calls that began while their begin was seen */
struct timeline_span {
	ticks from, to;
	ticks busy;        /* parts added up */
	ticks longest;     /* part */
	uint64_t calls;    /* that began here, itself and deeper ones that have
	                    * no span of their own included */
	uint64_t parts;    /* spans of this depth that it stands for; 1: only
	                    * itself */
	func_id func;      /* CALL; GUEST, RUN of a coroutine: its body, if
	                    * known; else 0 */
	uint16_t depth;
	uint8_t kind;      /* enum timeline_kind */
	/* Lanes. RUN of a coroutine: who resumed it at `from`, and who ran
	 * after it at `to`: these are the arrows of a drawing. GUEST: who is
	 * the coroutine. */
	uint32_t by, back, who;
};

/* fence: private. */
struct timeline_spans { struct timeline_span *at; size_t count, room, fence; };

struct timeline_lane {
	bool is_coroutine;
	uint32_t process;        /* indices in the session */
	uint32_t thread;         /* of a thread, or that a handler interrupts */
	uint32_t level;          /* of a signal handler; else 0 */
	uint32_t coroutine;      /* index in the session */
	ticks begin, end;        /* of its first and its last run. Both 0: it
	                          * did not run in the range; it has no span
	                          * then, and is not to be drawn */
	uint64_t runs, calls;    /* sums over its spans: parts of runs; calls */
	ticks active;            /* its runs added up */
	/* By rising `from`; of several that begin at one tick, the outermost
	 * is first. Gaps overlap no run. Waits are of threads, as far as their
	 * switches are known, and none if one coroutine was asked for. */
	struct timeline_spans spans, gaps, waits;
	const struct stream *last; /* private */
	bool is_mixed;             /* private */
};

/* What was found; complete after timeline_finish. Lanes of threads come first,
 * in the session's order, then those of coroutines in theirs, then those of
 * signal handlers. */
struct timeline {
	struct timeline_lane *lanes; size_t lane_count, lane_room;
	ticks from, to;          /* all spans are in between */
	ticks grain;             /* shorter spans are folded; 0: none are */
	uint16_t depths;         /* calls as deep as this, or deeper, have no
	                          * spans: their callers count them */
	/* What ran in coroutines that have no lane: those that were active for
	 * the shortest time. */
	struct timeline_rest {
		uint64_t coroutines, runs, calls;
		ticks active;
	} rest;
	/* Private: */
	size_t held;             /* spans, gaps and waits of all lanes */
	size_t most;             /* if it is more, the grain doubles */
	ticks end;               /* calls that begin before it count */
	struct timeline_work *work;
};

/* ---- for timeline.c ---- */

/* Spans beyond the depth limit are kept only until what is around them ends. */
bool timeline_is_deep(const struct timeline *, const struct timeline_span *);

/* Lay a span down at the lane's end: what it swallows is counted in it, and it
 * may be joined with its neighbour. */
void timeline_lay(struct timeline *, struct timeline_spans *,
		  struct timeline_span);

/* The same for n calls, the outermost frame of whose lane is `base`: most are
 * shorter than the grain. Stops at one that is not, or is not in the range, or
 * after which the lanes hold too much; returns how many were laid down. */
size_t timeline_lay_short(struct timeline *, struct timeline_spans *,
			  size_t base, const struct replay_call *, size_t n);

static inline struct timeline_span timeline_span(enum timeline_kind kind,
						 ticks from, ticks to)
{
	return (struct timeline_span){
		.kind = (uint8_t)kind, .from = from, .to = to, .parts = 1,
		.by = TIMELINE_NONE, .back = TIMELINE_NONE,
		.who = TIMELINE_NONE };
}

/* How deep a frame of the stack is in a lane of that base. */
static inline uint16_t timeline_depth(size_t base, size_t frame)
{
	const size_t depth = frame >= base ? frame - base + 1 : 1;

	return depth < UINT16_MAX ? (uint16_t)depth : UINT16_MAX;
}

void timeline_sort(struct timeline_spans *,
		   int (*compare)(const void *, const void *));

/* Lay all spans down once more. Streams that shared a lane have laid down
 * theirs one after the other. */
void timeline_fold(struct timeline *);

/* A coarser grain, then fewer depths. False: this is the coarsest. */
bool timeline_coarsen(struct timeline *);
