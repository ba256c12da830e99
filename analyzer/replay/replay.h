/* replay.h - from chunks back to what the threads did. Never guesses: records
 * that contradict the stack are counted ("unnested") and left out.
 *
 * analyzer/replay: the rules (docs/format.md) by which records move stitched
 * stacks and fill a session's tree. Uses base, chunk and model; must not know
 * where chunks come from, nor who looks at the stacks.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/chunk/decode.h"
#include "analyzer/model/session.h"
#include "analyzer/model/stack_table.h"

/* ---- events ---- */

/* How a call's beginning or end came about. */
enum replay_why {
	REPLAY_SEEN,        /* recorded as such: an entry, or a return */
	REPLAY_OPEN_BEFORE, /* entry: the call was open when the stream (or what
	                     * is left of it) began; the tick is that moment.
	                     * Both ends of a LEAVE_OLD, or of a call among
	                     * omitted frames, are given at its end */
	REPLAY_UNWOUND,     /* exit: event.reason says why (enum unwind) */
	REPLAY_DIED,        /* exit: its coroutine ended by an error or was
	                     * found dead */
	REPLAY_CUT,         /* exit: still open where records are missing, or
	                     * where recording was turned off */
	REPLAY_OPEN_AT_END, /* exit: still open at the end of the trace */
	REPLAY_BORROWED,    /* entry: a call of another thread, for which this
	                     * one works from now on */
};

/* Events that are given later than they happened, or of another stack than the
 * stream's. */
enum replay_deferred {
	REPLAY_NOW,              /* not deferred */
	REPLAY_DEFERRED_OLD,     /* both ends of a LEAVE_OLD, below all that the
	                          * window has shown so far */
	REPLAY_DEFERRED_OMITTED, /* both ends of a call among omitted frames */
	REPLAY_DEFERRED_YIELD,   /* frames that a suspend and the resume after
	                          * it show differently */
	REPLAY_DEFERRED_FINISH,  /* by replay_finish: the stack is gone */
};

/* A stream of records (process, thread, level) with its stack. */
struct stream;

/* An event of a thread. */
struct replay_event {
	ticks tick;
	uint64_t recording;
	uint32_t process, thread;       /* indices in the session */
	uint32_t process_serial, thread_serial;
	uint32_t pid, tid, level;
	uint32_t depth;                 /* open frames below this call, over all
	                                 * segments; resume, suspend: below the
	                                 * coroutine's own frames */
	uint64_t coroutine;             /* serial of the segment it happens in;
	                                 * 0: the thread itself. Resume,
	                                 * suspend, create: the one that is
	                                 * resumed, suspended, created */
	uint64_t in;                    /* the coroutine that resumes or creates
	                                 * it, or that runs after the suspend;
	                                 * 0: the thread */
	func_id func;                   /* enter, leave, mark, wait; else 0 */
	enum replay_why why;            /* enter, leave */
	uint32_t reason;                /* REPLAY_UNWOUND: enum unwind; suspend:
	                                 * SUSPEND_YIELD, _RETURN, _ERROR or
	                                 * _CLOSED; resume: the last of these if
	                                 * it is only closed then; wait, heap:
	                                 * its flags */
	bool inferred;                  /* resume, suspend: not seen itself */
	uint64_t slept;                 /* resume: ticks since its suspend */
	uint64_t vm;                    /* create, collected: the VM's serial */
	uint64_t object;                /* wait: what is waited for; heap: the
	                                 * block */
	uint64_t size, old;             /* heap: its size; where it was */
	ticks begin;                    /* heap: when it was still there */
	uint32_t owner;                 /* wait: the tid that held it, or 0 */
	func_id place, site;            /* wait: the object's place, and that of
	                                 * the code that calls, as functions;
	                                 * 0: not known. heap: site alone */
	/* heap: where all calls are counted, the node that takes the memory, in
	 * a chunk whose functions are these; else NULL. */
	const struct chunk *counted;
	const func_id *names;
	uint64_t node;
	/* wait, on a condition: its mutex, or 0, and where that lies, or 0;
	 * after how many ns it gives up, 0: never. */
	uint64_t mutex, left;
	func_id mutex_place;
	enum replay_deferred deferred;  /* enter, leave */
	const struct stream *stream;    /* its stack: after an enter, a leave
	                                 * and a resume; before a suspend */
	/* Suspend, resume: a number that a suspend shares with the resume after
	 * it, 0 if there is none. Threads are replayed one after the other, so
	 * either of the two may come first; numbers are used again after the
	 * second one came. */
	uint32_t pair;
	bool is_second;
};

/* A call that was seen to begin and to return, and was not suspended. */
struct replay_call {
	ticks begin, end, self;
	func_id func;
	uint32_t depth;                 /* as in replay_event */
};

/* Where a sampled VM was at a tick that stands for so much time on the CPU. */
struct replay_noted {
	enum noted state;
	ticks span;
	const func_id *func;     /* on top of the stream's stack, outermost
	                          * first; none if their calls are recorded */
	size_t count;
};

/* Any may be NULL. The events of a stream come in the order of time, except for
 * deferred ones; streams are not ordered among each other. Each frame of a
 * coroutine is entered once and left once, on whatever thread; a suspend and a
 * resume are neither. What a trace with loss leaves unpaired, replay_finish
 * pairs: frames of coroutines that never ran again are left
 * (REPLAY_OPEN_AT_END), frames whose entry never came are entered
 * (REPLAY_OPEN_BEFORE). */
struct replay_sink {
	void (*enter)(void *ctx, const struct replay_event *);
	void (*leave)(void *ctx, const struct replay_event *);
	/* For whom it will do to know of a call when it ends: this is called in
	 * place of enter and leave, with calls in the order of their ends, the
	 * event being the last one's. Returns a time: calls that take less may
	 * be told later, but before the stream's next event of another kind;
	 * one that takes as long is told when it ends, with its stack, and so
	 * is the first one after such an event. Still told by enter are calls
	 * that were open before; by leave, those that were, or were suspended,
	 * or end otherwise, while they are on the stack. */
	ticks (*calls)(void *ctx, const struct replay_event *,
		       const struct replay_call *, size_t n);
	void (*resume)(void *ctx, const struct replay_event *);
	void (*suspend)(void *ctx, const struct replay_event *);
	void (*create)(void *ctx, const struct replay_event *);
	void (*mark)(void *ctx, const struct replay_event *);
	/* What the innermost call, which is open, waits for or ends waits
	 * for. */
	void (*wait)(void *ctx, const struct replay_event *);
	/* Memory is taken, given back, or moved. */
	void (*heap)(void *ctx, const struct replay_event *);
	/* A VM's collector has ended a cycle, since the VM took or gave back
	 * memory before. */
	void (*collected)(void *ctx, const struct replay_event *);
	/* Once before a chunk's events and once after them. Chunks of handlers
	 * (level > 0) wait for the chunk they interrupted and come right after
	 * it. */
	void (*chunk_begin)(void *ctx, const struct replay_event *,
			    const struct chunk *);
	void (*chunk_end)(void *ctx, const struct replay_event *);
	/* The chunk's own stack has replaced the one that the records before
	 * left. Comes after the entries that follow from that. */
	void (*adopt)(void *ctx, const struct replay_event *);
	/* The stack stands as it is from tick `from` until `to`, later. For a
	 * stream, these spans cover all ticks of its chunks once, rising. */
	void (*pass)(void *ctx, const struct stream *, ticks from, ticks to);
	/* The same of time that the thread was off the CPU, where its switches
	 * are known; of its own stream (level 0) only. Of time that only_count
	 * leaves out, too. ready: it had no core; else it slept. */
	void (*off)(void *ctx, const struct stream *, ticks from, ticks to,
		    bool ready);
	/* The same of time for which the thread's switches are not known,
	 * though they are for other time of the trace. */
	void (*unknown)(void *ctx, const struct stream *, ticks from, ticks to);
	/* A tick of a sampled VM. */
	void (*noted)(void *ctx, const struct replay_event *,
		      const struct replay_noted *);
};

/* In a callback: of what happens on the stream before that tick, calls that are
 * seen to begin or end need not be told to enter and leave, nor time that
 * passes and is over by then. */
void stream_be_quiet(const struct stream *, ticks until);

/* ---- a stream's stack, during a callback ---- */

/* A number from 0 on, one for each stream. */
size_t stream_number(const struct stream *);
/* The session's index of its thread, and its level. */
uint32_t stream_thread(const struct stream *);
uint32_t stream_level(const struct stream *);

/* The number, from 1 on, of its window if the base of that is not known; 0 if
 * it is. */
uint64_t stream_window(const struct stream *);

/* An open call. Frames that were left out are one frame. */
struct stream_frame {
	func_id func;            /* FUNC_SPECIAL if omitted */
	uint64_t omitted;        /* how many frames were left out here */
	bool is_known;           /* was its entry seen? */
	ticks entry;             /* if so: when it began, plus the time that its
	                          * coroutine slept since */
	ticks self;              /* that passed in it since it came onto this
	                          * stack; only with a sink */
};
/* Number of open frames; frame 0 is the outermost. */
size_t stream_depth(const struct stream *);
struct stream_frame stream_frame(const struct stream *, size_t);

/* A coroutine's frames: from its base up to the next segment's base, or to the
 * depth. Segment 0 is the thread's own, with serial 0. */
struct stream_segment {
	uint64_t serial;
	size_t base;
	ticks since;             /* resumed, or first seen */
};
size_t stream_segments(const struct stream *);
struct stream_segment stream_segment(const struct stream *, size_t);
struct stream_segment stream_top(const struct stream *); /* the last one */

/* The stack on which a HEAP's memory is taken, without the code that calls. */
stack_id replay_heap_stack(const struct replay_event *, struct stack_table *);

/* The stack `id` of a table with the frames [from, to) on top. */
stack_id stream_stack(const struct stream *, size_t from, size_t to,
		      struct stack_table *, stack_id id);
/* The frames of the topmost coroutine alone. */
stack_id stream_own_stack(const struct stream *, struct stack_table *);
/* How many frames of the whole stack lie below those of a segment. */
size_t stream_seam(const struct stream *, size_t segment);
/* On the stack `id`, the functions of sampled Lua that made a call which is, or
 * until this callback was, frame `at`: of that function, with that entry. */
stack_id stream_lua(const struct stream *, size_t at, func_id, ticks entry,
		    struct stack_table *, stack_id id);
/* The same, those of its own coroutine, outermost first; returns how many. */
size_t stream_lua_funcs(const struct stream *, size_t at, func_id, ticks entry,
			func_id to[NOTED_FRAMES]);
/* The same of those that resumed the topmost coroutine. */
size_t stream_lua_resumers(const struct stream *, func_id to[NOTED_FRAMES]);
/* Did a sampled VM say so of any call? */
bool stream_is_sampled(const struct stream *);
/* The same as stream_stack for each number of frames: stack[from] is there;
 * stack[from + 1] to stack[to] have the frames from `from` on, one more
 * each. */
void stream_stacks(const struct stream *, size_t from, size_t to,
		   struct stack_table *, stack_id *stack);

/* ---- the replay ---- */

struct replay;

/* Fills the session, which the caller owns and frees after the replay. Also
 * calls the sink (borrowed; NULL: none), at tens of ns a call; without one it
 * takes about 10 ns a record. One replay may take several recordings. */
struct replay *replay_new(struct session *, const struct replay_sink *,
			  void *ctx);
void replay_free(struct replay *);       /* NULL is allowed */

/* What is collected only on demand. */
struct replay_collect {
	bool hist;               /* how long calls took: cct_hist_counts */
	bool only_events;        /* for the sink: what the session and its tree
	                          * say of calls and times is worth nothing */
	bool vm;                 /* which VM a coroutine belongs to: bodies of
	                          * one function differ by it */
	/* The bodies of one coroutine get CCT_CHOSEN. serial 0: of none; pid 0:
	 * of any process. */
	uint64_t serial;
	uint32_t pid;
	/* What happens before tick `from`, or at `to` or later, goes below
	 * CCT_OUTSIDE nodes. Time is cut there exactly, sleep too; a call
	 * counts where it begins, its duration where it ends. to 0: all is
	 * inside. */
	ticks from, to;
};
/* To be called before the first chunk. */
void replay_want(struct replay *, const struct replay_collect *);

/* Processes and threads that another session of this trace has get the numbers
 * that they have there, whatever the order of the chunks is now. To be called
 * before the first chunk; the session is borrowed during the call. */
void replay_number_as(struct replay *, const struct session *);

/* From now on no chunk waits for handlers that interrupted it: the caller gives
 * those first, where he can. A chunk's events come before replay_chunk
 * returns. */
void replay_be_eager(struct replay *);

/* Take a chunk that decode_chunk has accepted; borrowed during the call. Chunks
 * of a stream must come in the order of their numbers (others are counted as
 * duplicates and ignored); streams may come in any order. Returns 0. */
int replay_chunk(struct replay *, const struct chunk *);

/* The tree of all that has been replayed, also where calls were open at the
 * beginning (as when weft attached), which are known only when they end: the
 * session's own tree, if there is no such call, or another one, which the
 * caller frees with cct_free. */
struct cct *replay_tree_now(struct replay *);

/* No chunk follows: close what is open, place what was held back. */
void replay_finish(struct replay *);

/* Are the stacks of all streams as they should be? */
bool replay_valid(const struct replay *);

/* Decisions where the format leaves room:
 *
 * Every chunk of a window that began with an unknown base carries
 * CHUNK_BASE_UNKNOWN. Such a window ends at CHUNK_LAST, at a chunk without the
 * flag, where chunks or records are missing (recording may have been turned off
 * and on meanwhile), where the tracer gives another stack than ours, or at the
 * stream's end.
 * LEAVE_OLD(f) puts f below everything that this thread did since its window
 * began. What is left at the window's end hangs directly below the thread's
 * root if at least one LEAVE_OLD came (open calls were seen to end), else below
 * "[open before start]". The calls of f do not grow: its entry was not seen.
 *
 * A chunk is contiguous if its number is the next, no record was lost (lost[])
 * and it does not carry CHUNK_GAP. Otherwise what was open ends, and the
 * chunk's ITEM_STACK is adopted. A contiguous chunk's ITEM_STACK is compared
 * with the replay's own stack; a difference counts as unnested, and the item's
 * stack is adopted.
 *
 * Frames left out of a stack show as one special function "[n frames]".
 *
 * Handlers (level > 0) stand below the call that was open at the record they
 * interrupted. Where that chunk is missing they stand below the thread's root
 * and are counted. Each INTERRUPT says anew where what follows it stands.
 * The time of a handler's frames is subtracted from the interrupted call's self
 * (as far as that suffices, then from its callers'), so that the self times of
 * a thread add up to its traced time. Ticks of the handler's stream outside of
 * frames belong to the interrupted call and count only there. */
