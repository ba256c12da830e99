/* record.h - the record word: how one event of a thread is written and read.
 * Knows nothing of chunks, pools or symbols.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A record is one 64-bit word, sometimes followed by OPERAND words.
 *
 *  63                                          18 17          4 3    0
 * +----------------------------------------------+-------------+------+
 * |        gap: ticks since the record before    |  function   | kind |
 * +----------------------------------------------+-------------+------+
 *  63                   41 40                 18 17          4 3    0
 * +-----------------------+---------------------+-------------+------+
 * | duration, ticks       | gap: ticks to entry |  function   | LEAF |
 * +-----------------------+---------------------+-------------+------+
 *  63                                                        4 3    0
 * +------------------------------------------------------------+------+
 * |                          value                             | TIME |
 * |                                                            | or   |
 * |                                                            | OPERAND
 * +------------------------------------------------------------+------+
 *  63                                          18 17          4 3    0
 * +----------------------------------------------+-------------+------+
 * |  age: ticks since entry, suspension excluded |  function   |OPERAND|
 * +----------------------------------------------+-------------+------+
 *                         (an open frame, in a stack)
 *
 * "function" is an index into the dictionary of the record's chunk. A gap
 * counts from the end of the record before, where a LEAF ends when its call
 * returns. The gap of a chunk's first record counts from the chunk's
 * tick_begin.
 */
enum {
	REC_KIND_BITS = 4,
	REC_FUNC_BITS = 14,
	REC_GAP_BITS = 64 - REC_KIND_BITS - REC_FUNC_BITS,
	REC_LEAF_BITS = REC_GAP_BITS / 2,
	REC_VALUE_BITS = 64 - REC_KIND_BITS,
	REC_FUNC_SHIFT = REC_KIND_BITS,
	REC_GAP_SHIFT = REC_KIND_BITS + REC_FUNC_BITS,
	REC_DUR_SHIFT = REC_GAP_SHIFT + REC_LEAF_BITS,
};

#define REC_KIND_MASK ((UINT64_C(1) << REC_KIND_BITS) - 1)
#define REC_FUNC_MASK ((UINT64_C(1) << REC_FUNC_BITS) - 1)
#define REC_GAP_MAX ((UINT64_C(1) << REC_GAP_BITS) - 1)
#define REC_LEAF_MAX ((UINT64_C(1) << REC_LEAF_BITS) - 1)
#define REC_VALUE_MAX ((UINT64_C(1) << REC_VALUE_BITS) - 1)

/* Not a dictionary index: in a stack, as many frames as "age" says are left out
 * here. */
#define REC_FUNC_OMITTED REC_FUNC_MASK
/* The age of a frame whose entry was not seen, or was more than REC_GAP_MAX - 2
 * ticks ago. */
#define REC_AGE_UNKNOWN REC_GAP_MAX
/* The same of a borrowed frame with which a coroutine begins. */
#define REC_AGE_BODY (REC_GAP_MAX - 1)

/* X(name, number, operands that must follow, meaning). Zero is no record, so
 * that memory that was never written is not taken for one. After RESUME's three
 * operands come as many frames as the third one says, if RESUME_STACK is set,
 * and then one more, if RESUME_BODY is. After NOTED's four come as many frames
 * as the fourth one says.
 * A kind that names no function has flags in the "function" field. */
#define REC_LIST(X)                                                            \
	X(ENTER, 1, 0, "a call of function begins")                            \
	X(LEAVE, 2, 0, "the innermost open call, of function, ends")           \
	X(LEAF, 3, 0, "a whole call that recorded nothing inside")             \
	X(UNWIND, 4, 1, "the innermost frames end; why: enum unwind")          \
	X(RESUME, 5, 3, "a coroutine's stack goes onto this thread")           \
	X(SUSPEND, 6, 1, "the topmost coroutine's stack comes off")            \
	X(TIME, 7, 0, "value ticks pass; for a gap too long for its field")    \
	X(MARK, 8, 0, "the program said: function is a NAME of the dictionary")\
	X(CREATE, 9, 2, "a coroutine is made by the code that runs here")      \
	X(LEAVE_OLD, 10, 0, "a call of function that began unseen ends")       \
	X(INTERRUPT, 11, 2, "a signal handler begins to run; level > 0 only")  \
	X(HEAP, 12, 0, "memory is taken, given back, moved; flags: how")      \
	X(WAIT, 13, 2, "what the innermost call waits for, or ends waits for")\
	X(NOTED, 14, 4, "which Lua functions a VM is in, at a tick")           \
	X(OPERAND, 15, 0, "belongs to the record before")

enum rec_kind {
#define X(name, number, operands, meaning) REC_##name = (number),
	REC_LIST(X)
#undef X
};

/* Operands, in order:
 *   UNWIND   how many of the innermost frames of the topmost segment end
 *   RESUME   coroutine serial; ticks for which it was suspended (0 at its first
 *            resume); number of frames that follow (0 without RESUME_STACK)
 *   SUSPEND  coroutine serial
 *   CREATE   coroutine serial; serial of the VM it belongs to
 *   INTERRUPT number of the chunk of the level below that it interrupts (as in
 *            its own chunk's header); record words that were written to it
 *   WAIT     address of the object; tid of the thread that held it then, 0:
 *            none, or not known; mostly also two indices of the dictionary, or
 *            REC_FUNC_OMITTED: what lies at that address, and the code that
 *            makes the call; of a wait on a condition, mostly three more: the
 *            address of its mutex, an index or REC_FUNC_OMITTED: what lies
 *            there, and after how many ns it gives up, 0: never
 *   HEAP     address of the block; but for a free: its size, an index of the
 *            dictionary or REC_FUNC_OMITTED: the code that makes the call; of a
 *            move: the block's address before; ticks since the move began, when
 *            the block was still there. Where all calls are counted, but for a
 *            free, these two and the number of the node that takes it, 0: none.
 *            HEAP_COLLECTED has the VM's serial
 *   NOTED    ns on the CPU that it stands for; ns since the thread's last NOTED
 *            in which Lua may have run and nothing was noted; serial of the VM;
 *            number of frames that follow, outermost first: a function, and in
 *            the place of its age the line that runs in it (0: not known)
 */

/* Why frames ended without a return of their own (UNWIND's flags). */
enum unwind {
	UNWIND_JUMP = 1,     /* longjmp or siglongjmp, as it happened */
	UNWIND_SKIPPED = 2,  /* a later event shows that they have ended: C++
	                      * exception, pthread_exit */
	UNWIND_ERROR = 3,    /* a Lua error went through them */
	UNWIND_TAIL = 4,     /* replaced by a tail call; for readers, a
	                      * coroutine's outermost call stays open under what
	                      * replaces it */
	UNWIND_YIELD = 5,    /* native frames a yield jumped over */
	UNWIND_CLOSED = 6,   /* coroutine closed, collected or reused */
	UNWIND_RESET = 7,    /* the tracer lost track of the stack */
	UNWIND_BORROWED = 8, /* borrowed frames: the work for them is done */
};

/* RESUME's flags. */
enum {
	RESUME_STACK = 1,    /* the stack follows and replaces what was known */
	RESUME_INFERRED = 2, /* found at the coroutine's next event: the resume
	                      * was earlier, by at most the gap */
	RESUME_WITH = 4,     /* nobody resumed it: the native coroutine that it
	                      * runs in was resumed */
	RESUME_CLOSES = 8,   /* nobody resumed it: it is being closed */
	RESUME_BODY = 16,    /* with RESUME_STACK: the frame behind the stack is
	                      * the body, which a tail call has replaced */
	RESUME_BORROWED = 32, /* with RESUME_STACK, and serial 0: no coroutine;
	                      * the stack goes onto the topmost segment. They
	                      * are calls of the thread for which this one works
	                      * from now on, and none of its own */
};

/* SUSPEND's flags: a reason, and how it came. */
enum {
	SUSPEND_YIELD = 1,   /* it can run again; its stack is kept */
	SUSPEND_RETURN = 2,  /* its body returned; no frame is left */
	SUSPEND_ERROR = 3,   /* an error left it; no frame is left */
	SUSPEND_CLOSED = 4,  /* it was closed; no frame is left */
	SUSPEND_REASON = 7,  /* mask of the above */
	SUSPEND_INFERRED = 8, /* found at a later event */
	SUSPEND_WITH = 16,   /* the native coroutine that it runs in was
	                      * suspended */
};

/* WAIT's flags: what kind of object it is, and whether the call ends the waits
 * of others. */
enum {
	WAIT_MUTEX = 1,
	WAIT_READ = 2,       /* of a read-write lock */
	WAIT_WRITE = 3,
	WAIT_SEMAPHORE = 4,
	WAIT_CONDITION = 5,
	WAIT_BARRIER = 6,
	WAIT_JOIN = 7,       /* the object is what pthread_join is given */
	WAIT_THREAD = 8,     /* no wait: the call has made this thread (owner 1:
	                      * a detached one); with WAIT_ENDS: detaches it */
	WAIT_KIND = 15,      /* mask of the above */
	WAIT_ENDS = 16,      /* others wait, and this call lets one go on */
};

/* HEAP's flags. Readers skip others: kind 12 was free for long. */
enum {
	HEAP_TAKE = 256,
	HEAP_FREE = 257,
	HEAP_MOVE = 258,     /* at address 0: there is no block any more */
	HEAP_COLLECTED = 259, /* a VM's collector has ended a cycle */
};

/* NOTED's flags: what the VM was doing. It was in the innermost frame, but for
 * the last two, in which it did what that frame had caused. */
enum noted {
	NOTED_UNKNOWN = 0,   /* this Lua does not tell */
	NOTED_INTERPRETED = 1, NOTED_COMPILED = 2, NOTED_C = 3,
	NOTED_COLLECTOR = 4, NOTED_COMPILER = 5,
	NOTED_CALLS = 6,     /* no tick: it makes the call whose record comes
	                      * next, resumes, or takes memory. Without frames:
	                      * the same as the last one in the chunk */
	NOTED_STATE = 15,    /* mask of those; or with this: */
	NOTED_OPEN = 32,     /* each call is recorded; the one frame is that of
	                      * an open call */
	NOTED_FRAMES = 128,  /* as many are noted, the innermost */
};

/* Will the coroutine never go on from there? reason: without other flags. */
static inline bool suspend_ends(uint32_t reason)
{
	return reason == SUSPEND_RETURN || reason == SUSPEND_ERROR ||
	       reason == SUSPEND_CLOSED;
}

static inline uint64_t rec_put(enum rec_kind kind, uint64_t func, uint64_t gap)
{
	return gap << REC_GAP_SHIFT | func << REC_FUNC_SHIFT | kind;
}

static inline enum rec_kind rec_kind(uint64_t word)
{
	return (enum rec_kind)(word & REC_KIND_MASK);
}

static inline uint32_t rec_func(uint64_t word)
{
	return (uint32_t)(word >> REC_FUNC_SHIFT & REC_FUNC_MASK);
}

static inline uint64_t rec_gap(uint64_t word)
{
	return word >> REC_GAP_SHIFT;
}

/* TIME and OPERAND. */
static inline uint64_t rec_put_value(enum rec_kind kind, uint64_t value)
{
	return value << REC_KIND_BITS | kind;
}

static inline uint64_t rec_value(uint64_t word)
{
	return word >> REC_KIND_BITS;
}

/* Is it an ENTER that can become a LEAF, if the duration fits? Kind and gap are
 * looked at in one go. */
static inline bool rec_may_be_leaf(uint64_t word)
{
	return (word & (REC_KIND_MASK | UINT64_MAX << REC_DUR_SHIFT)) ==
	       REC_ENTER;
}

/* Whether an ENTER can become a LEAF of that duration. */
static inline bool rec_fits_leaf(uint64_t enter, uint64_t duration)
{
	return rec_may_be_leaf(enter) && duration <= REC_LEAF_MAX;
}

static inline uint64_t rec_enter_to_leaf(uint64_t enter, uint64_t duration)
{
	return enter + (REC_LEAF - REC_ENTER) + (duration << REC_DUR_SHIFT);
}

static inline uint64_t rec_leaf_gap(uint64_t word)
{
	return word >> REC_GAP_SHIFT & REC_LEAF_MAX;
}

static inline uint64_t rec_leaf_duration(uint64_t word)
{
	return word >> REC_DUR_SHIFT;
}

_Static_assert(REC_GAP_BITS == 46 && REC_LEAF_BITS == 23, "46 = 2 x 23 bits");
_Static_assert(REC_DUR_SHIFT + REC_LEAF_BITS == 64, "a LEAF fills its word");
