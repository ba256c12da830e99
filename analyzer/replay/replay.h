/* replay.h - from chunks back to what the threads did. Knows the rules by which
 * records move a stitched stack; never guesses: what contradicts the stack is
 * counted ("unnested") and left out. docs/format.md says the rules.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_REPLAY_REPLAY_H
#define WEFT_ANALYZER_REPLAY_REPLAY_H

#include "analyzer/model/session.h"
#include "analyzer/chunk/decode.h"

#include <stddef.h>
#include <stdint.h>

/* How a call's beginning or end came about. */
enum replay_why {
	REPLAY_SEEN,        /* recorded as such: an entry, or a return */
	REPLAY_OPEN_BEFORE, /* entry: the call was open when the stream (or what
	                     * is left of it) began; the tick is that moment.
	                     * Both ends of a LEAVE_OLD, or of a call among
	                     * omitted frames, are given at its end */
	REPLAY_UNWOUND,     /* exit: event.reason says why (enum unwind) */
	REPLAY_DIED,        /* exit: its coroutine ended by error or was found
	                     * dead */
	REPLAY_CUT,         /* exit: still open where records are missing, or
	                     * where recording was turned off */
	REPLAY_OPEN_AT_END, /* exit: still open at the end of the trace */
};

/* Events that are told later, or of another stack, than they belong to. */
enum replay_deferred {
	REPLAY_NOW,
	REPLAY_DEFERRED_OLD,     /* both ends of a LEAVE_OLD, under all that the
	                      * window has shown so far */
	REPLAY_DEFERRED_OMITTED, /* both ends of a call among omitted frames */
	REPLAY_DEFERRED_YIELD,   /* frames that a suspend and the resume after it
	                      * show differently */
	REPLAY_DEFERRED_FINISH,  /* by replay_finish: the stream's stack is gone */
};

/* A stream of records (process, thread, level) with its stack as it is now,
 * during a callback: replay_look.h. */
struct stream;

/* One event of a thread. depth counts all open frames below this call (for
 * resume and suspend: below the coroutine's own frames), over all segments. */
struct replay_event {
	ticks tick;
	uint64_t recording;
	uint32_t process, thread;       /* indices in the session */
	uint32_t process_serial, thread_serial;
	uint32_t pid, tid, level;
	uint32_t depth;
	uint64_t coroutine;             /* serial of the segment it happens in;
	                                 * 0: the thread itself. For resume,
	                                 * suspend and create: the coroutine
	                                 * that is meant */
	uint64_t in;                    /* the coroutine that resumes, makes,
	                                 * or is gone back to; 0: the thread */
	func_id func;                   /* enter, leave, mark; else 0 */
	enum replay_why why;
	uint32_t reason;                /* REPLAY_UNWOUND: enum unwind; suspend:
	                                 * SUSPEND_YIELD, _RETURN or _ERROR */
	int inferred;                   /* resume, suspend: not seen itself */
	uint64_t slept;                 /* resume: ticks since its suspend */
	uint64_t vm;                    /* create: the VM's serial */
	enum replay_deferred deferred;          /* enter, leave */
	const struct stream *stream;    /* its stack: after an enter, a leave
	                                 * and a resume; before a suspend */
};

/* Any may be NULL. Of one stream (process, thread, level) events come in time
 * order, but for the late ends below; streams are not ordered among each other.
 * Entries and exits pair up: each frame of a coroutine is entered once and left
 * once, on whatever thread; at suspend and resume its frames are neither. What
 * a trace with loss leaves unpaired is paired by replay_finish (frames of
 * coroutines that never ran again: left, REPLAY_OPEN_AT_END; frames whose entry
 * never came: entered, REPLAY_OPEN_BEFORE, late). */
struct replay_sink {
	void (*enter)(void *ctx, const struct replay_event *);
	void (*leave)(void *ctx, const struct replay_event *);
	void (*resume)(void *ctx, const struct replay_event *);
	void (*suspend)(void *ctx, const struct replay_event *);
	void (*create)(void *ctx, const struct replay_event *);
	void (*mark)(void *ctx, const struct replay_event *);
	/* Once before a chunk's events, and once after all of them: a good time
	 * to give them on. Chunks of handlers (level > 0) wait for the chunk
	 * they interrupted and come right after it. */
	void (*chunk_begin)(void *ctx, const struct replay_event *,
			    const struct chunk *);
	void (*chunk_end)(void *ctx, const struct replay_event *);
	/* The stack was taken as the chunk gives it, not as the records before
	 * left it; after the entries that come of that. */
	void (*adopt)(void *ctx, const struct replay_event *);
	/* From tick `from` until `to`, later, the stack stands as it is. What
	 * one stream is told of is each tick of its chunks, once, rising. */
	void (*pass)(void *ctx, const struct stream *, ticks from, ticks to);
};

struct replay;

/* Fills the session, which the caller owns and frees after the replay. With a
 * sink (borrowed; NULL: none) also calls it, which costs tens of ns a call;
 * without one about 10 ns a record. One replay may take several recordings. */
struct replay *replay_new(struct session *, const struct replay_sink *,
			  void *ctx);
void replay_free(struct replay *);
/* From now on no chunk waits for handlers that interrupted it: the caller gives
 * those first, where he can. Each chunk's events come before replay_chunk
 * returns. */
void replay_be_eager(struct replay *);

/* What is collected only where a view asks for it. */
struct replay_collect {
	int hist;                /* how long calls took: cct_hist_counts */
	int vm;                  /* whose VM a coroutine is of: the bodies of
	                          * one function are told apart by it */
	/* The bodies of one coroutine get CCT_CHOSEN. serial 0: of none; pid 0:
	 * of any process. */
	uint64_t serial;
	uint32_t pid;
	/* What happens from one tick on and before another; anything else goes
	 * below CCT_OUTSIDE nodes. Time is cut there exactly, sleep too; a call
	 * counts where it begins, its length where it ends. to 0: all. */
	ticks from, to;
};
/* Before the first chunk. */
void replay_want(struct replay *, const struct replay_collect *);

/* Take a chunk. Needs decode_chunk's 0; borrows the view during the call. Chunks
 * of one stream come in rising number (what does not is ignored and counted as
 * a duplicate); streams may come in any order. Returns 0. */
int replay_chunk(struct replay *, const struct chunk *);
/* The same, with the type of in.h's in_chunk_fn. */
int replay_chunk_fn(void *replay, const struct chunk *);

/* No chunk follows: close what is open, place what was held back. */
void replay_finish(struct replay *);

/* Decisions where the format leaves room:
 *
 * Every chunk of a window that began with an unknown base carries
 * CHUNK_BASE_UNKNOWN. Such a window ends at CHUNK_LAST, at a chunk without the
 * flag, where chunks or records are missing (recording may have been turned off
 * and on meanwhile), where the tracer gives another stack than ours, or at the
 * stream's end.
 * LEAVE_OLD(f) puts f under everything this thread did since its window began.
 * What is left at the window's end hangs directly below the thread's root if at
 * least one LEAVE_OLD came (open calls were seen to end), else below "[open
 * before start]". f's calls do not grow: its entry was not seen.
 *
 * A chunk is contiguous if its number is the next, no record was lost (lost[])
 * and it does not carry CHUNK_GAP. Otherwise what was open ends, and the
 * chunk's ITEM_STACK is adopted. A contiguous chunk's ITEM_STACK is compared
 * with the replay's own stack; a difference counts as unnested and the item's
 * stack is adopted.
 *
 * Frames left out of a stack show as one special function "[n frames]".
 *
 * Handlers (level > 0) stand under the frame that was open at the record they
 * interrupted, where that chunk is to be had, else under the thread's root, and
 * are counted. Each INTERRUPT says anew where what follows it stands.
 * What their frames take is taken off the interrupted frame's self (as far as
 * that has it, then off its callers'), so that self times of a thread add up to
 * its traced time; ticks of the handler's stream outside frames are the
 * interrupted frame's and count there alone. */

#endif
