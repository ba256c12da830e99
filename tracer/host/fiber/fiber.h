/* fiber.h - native coroutines: stacks of their own that a program switches
 * between, on any of its threads. What a fiber has open when it is switched
 * away from goes with it: native calls, and the Lua coroutines on top of them.
 * fiber/ may use base/, pool/ and thread/, and tells its switches to Lua only
 * through the stack.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/thread.h"

/* One segment of a fiber that is off every thread. */
struct fiber_part {
	/* The first part is the fiber's own, the others are of Lua coroutines
	 * that run on it. */
	struct segment as;
	uint32_t count;           /* of its frames */
	uint32_t epoch;           /* of the chunk its SUSPEND stands in */
};

/* A native coroutine. Objects are never freed, only used again. A fiber that is
 * off every thread belongs to whoever switches to it next; the program itself
 * sees to it that this is one thread at a time, so the fields are not atomic.
 * */
struct fiber {
	uint64_t magic;       /* FIBER_MAGIC: a fiber; FIBER_OWN: a thread's
	                       * own stack */
	uint64_t serial;      /* of its coroutine; 0: none yet */
	uint64_t low, high;   /* its stack; 0: not known */
	uint64_t since;       /* tick of its SUSPEND */
	uint32_t window;      /* for which its frames are right */
	uint32_t thread, level;
	uint32_t vm;          /* serial of its first VM; 0: none */
	bool ran;             /* it is not new */
	bool unknown;         /* calls may be open on it that are not known */
	uint32_t region;      /* chosen calls (weft_inside_only) it sleeps in */
	uint32_t part_count, part_room, frame_room;
	uint64_t too_deep;	 /* see struct thread_state */
	struct fiber_part *part; /* outermost first, its own first of all */
	struct frame *frame;  /* theirs, one part's after the other's */
	struct fiber_start *start; /* of a context; or NULL */
};

#define FIBER_MAGIC UINT64_C(0x7265626966746677)
#define FIBER_OWN UINT64_C(0x6e776f7466657777)

/* The fiber this thread runs on; NULL: on its own stack. */
extern HIDDEN THREAD_LOCAL struct fiber *fiber_now;

/* Who tells of switches, the most reliable last. A program may do so in several
 * ways at once, and each switch must count once: when a source has told of one,
 * those before it are not listened to any more. */
enum fiber_by { FIBER_BY_CONTEXT = 1, FIBER_BY_ASAN, FIBER_BY_TSAN,
		FIBER_BY_API };
/* Does this source count, from now on? Hook-safe. */
bool fiber_counts(enum fiber_by who);

/* A new one, or NULL: no memory. fiber_free gives it back; then another
 * coroutine may get the same object. */
struct fiber *fiber_new(void);
void fiber_free(struct fiber *f);

/* The one fiber of the stack that begins at low (its lowest address), made if
 * need be, or NULL: no memory, or no room, which is counted. It is never given
 * back, as the program may use the stack again. fiber_find_at only looks for
 * it. */
struct fiber *fiber_at(uint64_t low);
struct fiber *fiber_find_at(uint64_t low);

/* What ran on it before is gone: the next one to run is a new coroutine. Its
 * stack stays. */
void fiber_renew(struct fiber *f);

/* Makes what is to run on it a coroutine: writes CREATE. sp: frame address of
 * the caller. The caller must hold no thread state (not busy). Does not change
 * errno. */
void fiber_create(struct fiber *f, uint64_t sp);

/* This thread is about to go on on another stack: that of to, or its own
 * (NULL). ends: the fiber it was on will not come back. sp: frame address of
 * the caller, on the stack that is left. The caller must hold no thread state
 * (not busy). Does not change errno. To be called right before the switch; also
 * while recording is off, so that the thread is known to be on that stack. */
void fiber_switch(struct fiber *to, bool ends, uint64_t sp);
