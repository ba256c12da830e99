/* track.h - the spans of one thread or of one coroutine. Calls that are shorter
 * than a limit are folded into the next span of their kind; the limit grows
 * with the number of spans.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

enum span_kind {
	SPAN_CALL,
	SPAN_RUN,                /* a coroutine runs, which was resumed here */
	SPAN_MISSING,            /* records of the thread are missing */
	/* Only in lanes (struct chronicle_options). */
	SPAN_ACTIVE,             /* the track's thread is recorded, or its
	                          * coroutine runs, or others that it resumed;
	                          * all else but gaps is deeper */
	SPAN_OFF,                /* the thread was not recorded */
	SPAN_READY,              /* the thread had no core, */
	SPAN_BLOCKED,            /* or it slept */
	SPAN_SAMPLED,            /* a function of sampled Lua, which ticks saw;
	                          * nothing else was recorded from the first of
	                          * them to its end, the last one */
};

/* How a span is more than one call, or less. */
enum span_flag {
	SPAN_FOLDED = 1,         /* several spans, one after the other, whose
	                          * callers are the same call; as long as they
	                          * are together, which is at most `below`
	                          * shorter than from the first to the last */
	SPAN_DEEP = 2,           /* spans below it were folded into it */
	SPAN_MIXED = 4,          /* not all of them are of func, which is that
	                          * of the longest */
	SPAN_ALONE = 8,          /* private: not to be folded with the span
	                          * before it */
	SPAN_BACK = 16,          /* active: it ended by a suspend */
};

enum { TRACK_NONE = UINT32_MAX };

/* A call, or a part of one, or several. */
struct span {
	ticks begin, end;        /* begin <= end */
	uint64_t calls;          /* that began in it; a call that goes on after
	                          * a suspension, and a run, are 0 */
	ticks longest;           /* folded: of them */
	func_id func;            /* run, active: the coroutine's body, 0: not
	                          * known */
	uint32_t depth;          /* on its track */
	uint32_t to;             /* run: its coroutine's track; active: that of
	                          * who resumed it, or TRACK_NONE */
	uint8_t kind, flags;     /* enum span_kind, enum span_flag */
};

/* The function that all of it is of; 0: there is none. */
static inline func_id span_func(const struct span *s)
{
	return s->flags & SPAN_MIXED ? 0 : s->func;
}

/* After track_finish the spans are in the order of their beginnings, each
 * before those that it contains, and strictly nested by depth. */
struct track {
	uint32_t process, thread, level; /* indices. Of a coroutine: where it
	                          * was made, or ran first as far as is known */
	uint64_t coroutine;      /* serial; 0: the track is a thread's */
	uint32_t parent;         /* a coroutine's: the track, before this one,
	                          * of who made or resumed it */
	struct span *spans; size_t count;
	/* In lanes: how often it was active, for how long, the begin of the
	 * first time and the end of the last; 0: never. */
	uint64_t runs;
	ticks active, from, to;
	struct track *waits;     /* a thread's: when it was off the CPU, and
	                          * nothing else; NULL: not known */
	/* Private: */
	bool is_rest;            /* it has no spans: they are only counted */
	size_t room;
	struct span *pending;    /* by depth: a span that may take more */
	uint8_t *is_pending; size_t pending_room, is_pending_room;
	size_t low;              /* no lower depth has one */
	ticks suspended;         /* when its last run ended */
};
void track_fini(struct track *);

/* Add a span that is over, after those it contains, which are as long at most;
 * spans rise. below: shorter calls are folded. */
void track_add(struct track *, const struct span *, ticks below);
/* The same of a call that began and ended, if it is one of those that join what
 * pends right before them, as most short calls do; false: it is not. */
static inline bool track_join_call(struct track *t, func_id func,
				   uint32_t depth, ticks begin, ticks end,
				   ticks below)
{
	struct span *to;

	if (end - begin >= below || depth >= t->is_pending_room ||
	    !t->is_pending[depth] || (depth + 1 < t->is_pending_room &&
				      t->is_pending[depth + 1]))
		return false;
	to = &t->pending[depth];
	if (begin < to->end || begin - to->end >= below)
		return false;
	if (to->func != func || to->kind != SPAN_CALL)
		to->flags |= SPAN_MIXED;
	if (to->kind != SPAN_SAMPLED)
		to->kind = SPAN_CALL;
	if (end - begin > to->longest) {
		to->longest = end - begin;
		to->func = func;
	}
	to->end += end - begin;
	to->calls++;
	to->flags |= SPAN_FOLDED;
	return true;
}

/* Fold again what is there, with a higher limit. */
void track_fold(struct track *, ticks below);
/* Nothing pends any more. */
void track_flush(struct track *);
/* Move all spans of `from`, flushed, to a track of the same coroutine. */
void track_join(struct track *, struct track *from);
/* No span follows: put them in order. Returns how many were cut because they
 * overlapped. */
uint64_t track_finish(struct track *);
