/* chronicle.h - what ran when: the calls of each thread and of each coroutine,
 * in the order of time, strictly nested. Collects during a replay, in bounded
 * memory: calls that are too short to be seen are folded into one span that
 * says how many they were.
 *
 * analyzer/watch: what is collected during a replay, through its sink, beside
 * the tree. Uses base, chunk, model and replay's public header; must not know
 * how stacks are kept there, nor how anything is printed.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"
#include "analyzer/watch/track.h"

struct chronicle_options {
	/* Coroutines have tracks of their own, and who resumes one has a span
	 * SPAN_RUN meanwhile; false: a thread's track has its stitched
	 * stack. */
	bool by_coroutine;
	size_t max_spans;        /* 0: any number */
	ticks below;             /* shorter calls are folded in any case */
	ticks from, to;          /* as struct replay_collect has them */
	const uint8_t *threads;  /* by index: 1 if it is shown; NULL: all */
	size_t thread_count;
	/* By func_id, each NULL or with `funcs` elements: frames that are left
	 * out, and functions outside of which nothing is shown. */
	const uint8_t *skip, *under;
	size_t funcs;
	/* Only this coroutine and what is on top of it; 0: all. pid 0: of any
	 * process. */
	uint64_t serial;
	uint32_t pid;
	/* For a drawing, with by_coroutine: the tracks are lanes, with
	 * SPAN_ACTIVE, SPAN_OFF and waits; the coroutines that were active
	 * for longest have one, `most` of them (0: all). Of an earlier replay
	 * of the trace, borrowed; NULL: no lanes. */
	const struct session *lanes_of;
	size_t most;
};

/* A mark that the program left. */
struct chronicle_mark { ticks at; func_id func; uint32_t track; };

/* What was collected. */
struct chronicle_found {
	struct track *tracks; size_t count;
	struct chronicle_mark *marks; /* those of a stream rise */
	size_t mark_count;
	uint64_t marks_left_out; /* there were more than max_spans */
	uint64_t calls;          /* that began in all spans */
	uint64_t folded;         /* of them, those in spans of several */
	uint64_t unknown;        /* calls whose beginning was not seen, and
	                          * which are known by their ends alone: in no
	                          * span */
	uint64_t clipped;        /* spans that overlapped another one of their
	                          * track, as clocks of threads may differ: cut
	                          * to where that ended */
	ticks below;             /* calls shorter than this were folded; 0:
	                          * none */
	ticks from, to;          /* in lanes: what is shown */
	/* What ran in coroutines that have no lane. */
	struct chronicle_rest {
		uint64_t coroutines, runs, calls;
		ticks active;
	} rest;
};

struct chronicle;
/* The options are copied; the arrays that they refer to are borrowed until
 * chronicle_free. */
struct chronicle *chronicle_new(const struct chronicle_options *);
void chronicle_free(struct chronicle *);   /* NULL is allowed */

/* For a replay, without lanes or with them; its context is the struct. Call
 * chronicle_finish once after replay_finish: it puts the spans in order. */
extern const struct replay_sink chronicle_sink, chronicle_lanes_sink;
void chronicle_finish(struct chronicle *);

/* Borrowed; complete after chronicle_finish. */
const struct chronicle_found *chronicle_found(const struct chronicle *);

/* The first span of a coroutine's track that is part of a SPAN_RUN of it; NULL
 * if none is. */
const struct span *chronicle_of_run(const struct chronicle_found *,
				   const struct span *run);

/* Decisions: while its coroutine is suspended a call has no span: each part of
 * it, from a resume to the next suspend, is one, and only the first counts as a
 * call. So all spans of a function add up to its total, as in a report. What a
 * signal handler did that interrupted a hook has a track of its own, and its
 * time is in the interrupted call as well. A call on a stack whose base is not
 * known has nothing below it. */
