/* replay_private.h - the inside of a replay, for the files of this folder. Each
 * calls only functions of those declared above its own.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/cct_private.h"
#include "analyzer/replay/replay.h"

#include <assert.h>

/* An open call. entry is the tick it began at plus the sleep of its coroutine;
 * or, from ENTRY_NONE on, not a tick: ENTRY_UNKNOWN, or ENTRY_UNKNOWN - n for
 * n frames that were left out. */
struct frame {
	func_id func;
	node_id node;
	ticks entry;
	ticks self;              /* as in struct stream_frame; plus SELF_GIVEN
	                          * if it was not entered on this stack, but
	                          * put there */
};

#define SELF_GIVEN (UINT64_C(1) << 63)

#define ENTRY_UNKNOWN UINT64_MAX
#define ENTRY_NONE (UINT64_MAX - (UINT64_C(1) << REC_GAP_BITS))

static inline bool frame_is_omitted(const struct frame *f)
{
	return f->entry >= ENTRY_NONE && f->entry < ENTRY_UNKNOWN;
}

static inline uint64_t frame_omitted(const struct frame *f)
{
	return ENTRY_UNKNOWN - f->entry;
}

/* A coroutine's frames on a thread: from frame `base` up to the next segment's
 * first one, or to the depth. If a tail call has replaced its body, that stays
 * open, as the frame below the base: records do not know it any more. */
struct segment {
	uint64_t serial;
	uint32_t co;             /* its index in the session + 1; 0: the
	                          * thread */
	bool on_body;            /* the frame below the base is its body */
	bool tail;               /* the next call replaces one at the base */
	size_t base;
	node_id under;           /* the node that it stands on */
	ticks since;             /* resumed, or first seen */
};

static inline size_t segment_first(const struct segment *g)
{
	return g->base - g->on_body;
}

/* A stack kept during a suspension; valid within the chunk it was made in. */
struct kept {
	size_t first, count, room; /* in replay.kept_frames */
	bool on_body;            /* the first of them is as in struct segment */
	uint32_t co;
	node_id under;           /* the node that it was stitched on top of */
	struct cct *tree;
};

/* What happened in a window whose base is unknown, in a tree of its own until
 * the calls are known below which it all belongs. old[i].root holds what
 * happened before that call ended; root is that of what happens now. */
struct window {
	struct cct *tree;
	struct old { node_id root; func_id func; } *old;
	size_t count, room;
	node_id root;
};

/* Where a handler stands; node 0: not known. */
struct place {
	struct cct *tree;
	node_id node;
};

/* A chunk that waits for its turn. The chunk of a handler also has
 * places: place[0] is what was open where its header says it interrupted, the
 * others where its INTERRUPTs say so; no places: not known. */
struct waiting {
	struct waiting *next;
	struct place *place;
	size_t places;
	const struct chunk *chunk;
};

enum { LEVELS = 3 };

/* READY is also off: without a core. */
enum cpu_state { CPU_ON, CPU_UNKNOWN, CPU_OFF, CPU_READY };

/* From this tick on a thread is in that state. */
struct edge { ticks at; uint32_t cpu; };

/* A thread's switches in its last chunk of level 0; all its levels have
 * them. */
struct switches {
	struct edge *edge; size_t count, room; /* rising */
	bool is_there;           /* there was such a chunk */
};

/* A sample that is looked for: the states around its tick are being seen. */
struct pick {
	ticks at;
	struct cct_sample sample;
	uint64_t entry;          /* of sample.near's function */
	ticks distance;          /* from that state's time to the sample */
	node_id seen;            /* the last state's node */
	uint32_t left;           /* states to come */
};

/* The samples of a stream's chunk at hand, which rise: those up to `first` are
 * settled, the states around those up to `last` are being seen. */
struct sampling {
	struct pick *pick; size_t count, room;
	size_t first, last;
	ticks from, to;          /* known; from = to: none are */
	ticks before;            /* so long before a sample states are seen */
};

/* Which functions of a sampled VM stand between the innermost frame and what
 * the next record says; where they are known. */
struct lua_calls {
	const uint64_t *leaf;    /* the last LEAF that they have made, and */
	node_id caller;          /* what it stands on; in which chunk */
	uint64_t leaf_chunk;
	uint64_t chunk;          /* of replay.chunk, 0: no chunk */
	bool pending;            /* the next record is yet to come */
	uint32_t count;
	func_id func[NOTED_FRAMES];
};

/* The chunks of one (process, thread, level).
 * Invariants (replay_valid): frame[0] is no call: its node is where segment 0
 * hangs; 1 <= depth <= room; segment[0].base = 1; bases rise up to the depth;
 * segments >= 1. A closed stream has no stack: room and segment_room are 0. */
struct stream {
	uint32_t number;         /* its index in replay.streams */
	uint32_t thread;         /* index in the session */
	uint32_t level;
	uint64_t arrived;        /* chunks with lower numbers have come, and */
	uint64_t next;           /* those with lower numbers than this have
	                          * been replayed */
	bool interrupted;        /* a handler's chunk came for it */
	bool seen, closed;       /* any chunk; its last was CHUNK_LAST */
	bool outside;            /* not in the time that is asked for */
	bool omits;              /* frames were left out of a stack of its */
	uint64_t written;        /* record words in the chunks before `next`,
	                          * missing ones included */
	uint64_t lost[LOST_REASONS];
	ticks now;               /* of the last record, or tick_end */
	uint64_t open;           /* frames open at the end of the last window */
	struct cct *tree;
	struct window *window;   /* NULL: base known */
	struct frame *frame;
	size_t depth, room;
	struct segment *segment;
	size_t segments, segment_room;
	const struct place *place; /* level > 0: where the chunk's next */
	size_t places;           /* handlers stand */
	ticks until;             /* records are replayed by the short way while
	                          * the clock is before it: it is edge, or 0 */
	struct switches own;     /* level 0 */
	const struct switches *switches; /* of the thread */
	struct sampling sampling;  /* level 0 */
	ticks edge;              /* when what holds now may change next */
	size_t edges;            /* how many of the switches are passed */
	uint32_t cpu;            /* enum cpu_state now */
	ticks settled;           /* level > 0: until then, the frames' time has
	                          * been taken off the interrupted call */
	uint64_t cpu_at;         /* cpu_end of the chunk before, and what of */
	uint64_t cpu_left;       /* its CPU time its switches do not explain */
	uint64_t windows;        /* that began with an unknown base */
	ticks quiet;             /* see stream_be_quiet */
	struct lua_calls *lua;   /* NULL: there were none */
	struct replay_event told;  /* the last call's: most of it is the same
	                            * for all calls of a chunk */
	struct waiting *first, *last; /* level 0: held; others: for the chunk
	                               * they interrupted */
	size_t waiting;
};

/* What the replay knows of a coroutine beside the session. */
struct co_kept {
	uint64_t chunk;          /* its stack is kept while replay.chunk is
	                          * this: */
	uint32_t kept;           /* an index in replay.kept */
};

/* A suspend that waits for its resume, or the other way round. */
struct parked {
	func_id *func;           /* the coroutine's frames, outermost first */
	size_t count;
	bool is_used, is_resume;
	struct replay_event event;
	uint32_t next_free;      /* index + 1 */
};

struct replay {
	struct session *session;
	const struct replay_sink *sink;
	void *ctx;
	struct replay_collect want;
	struct map *process_of, *thread_of, *co_of, *vm_of, *stream_of;
	struct stream **streams; size_t stream_count, stream_room;
	size_t process_room, thread_room, co_room, vm_room, note_room;
	size_t label_room;
	size_t held_words;       /* in all waiting chunks */
	bool is_eager;           /* no chunk of level 0 waits */
	uint64_t chunk;          /* chunks replayed */
	uint64_t calls;          /* in the chunk at hand */
	const struct chunk *at_hand;
	/* Suspended coroutines. */
	struct co_kept *co_kept; size_t co_kept_room;
	struct kept *kept; size_t kept_count, kept_room;
	struct frame *kept_frames; size_t kept_used, kept_frames_room;
	/* Suspends and resumes that are not paired yet; with a sink only. */
	struct map *parked_of;
	struct parked *parked; size_t parked_count, parked_room;
	uint32_t parked_free;    /* index + 1 */
	struct map *place_of;    /* of the session's places */
	struct map *line_of;     /* see session_note_line */
	size_t place_room, line_room;
	func_id open_before;     /* "[open before start]" */
	/* What the dictionary of the chunk at hand stands for. */
	elf_id module[DICT_MAX_MODULES];
	func_id func[CHUNK_MAX_FUNCS + 1];
	struct chunk_string hint[CHUNK_MAX_FUNCS + 1]; /* what it is called */
	struct replay_call ended[64]; /* for replay_sink.calls */
};

static inline void replay_unnested(struct replay *r, const struct stream *st)
{
	r->session->threads[st->thread].unnested++;
	r->session->unnested++;
}

static inline struct segment *replay_top(const struct stream *st)
{
	return &st->segment[st->segments - 1];
}

/* The node that a call made now stands on. */
static inline node_id replay_here(const struct stream *st)
{
	const struct segment *const top = replay_top(st);

	return st->segments > 1 && st->depth == segment_first(top) ?
	       top->under : st->frame[st->depth - 1].node;
}

/* The stream of that level, or NULL. */
static inline struct stream *replay_stream(const struct replay *r,
					   uint32_t thread, uint32_t level)
{
	const uint32_t id = map_find(r->stream_of, thread, level);

	return id ? r->streams[id - 1] : NULL;
}

/* ---- events.c: tells the sink. All but _pair need one. ---- */

void replay_emit_chunk_begin(struct replay *, struct stream *,
			     const struct chunk *);
void replay_emit_chunk_end(struct replay *, struct stream *);
void replay_emit_adopt(struct replay *, struct stream *);
void replay_emit_enter(struct replay *, struct stream *, func_id,
		       size_t depth, enum replay_why);
void replay_emit_leave(struct replay *, struct stream *, func_id,
		       size_t depth, enum replay_why, uint32_t reason);
/* Only if the sink has calls: the first n of replay.ended. */
ticks replay_emit_calls(struct replay *, struct stream *, size_t n);
/* Before the events of a chunk. */
void replay_emit_begin(const struct replay *, struct stream *);
/* Both ends, now, of a call that turns out to have been open all the time. */
void replay_emit_pair(struct replay *, struct stream *, func_id,
		      enum replay_deferred);
void replay_emit_mark(struct replay *, struct stream *, func_id);
void replay_emit_noted(struct replay *, struct stream *,
		       const uint64_t *record, enum noted, ticks span);
void replay_emit_heap(struct replay *, struct stream *, const struct chunk *,
		      const uint64_t *record);
void replay_emit_wait(struct replay *, struct stream *, const uint64_t *record,
		      size_t n);
void replay_emit_create(struct replay *, struct stream *, uint64_t serial,
			uint64_t vm);
/* After the topmost segment was resumed, before it is suspended. */
void replay_emit_resume(struct replay *, struct stream *, uint64_t slept,
			uint32_t flags);
void replay_emit_suspend(struct replay *, struct stream *, uint32_t flags);
void replay_emit_finish(struct replay *);

static inline void replay_emit_pass(const struct replay *r,
				    const struct stream *st, ticks from,
				    ticks to)
{
	if (r->sink->pass && from < to)
		r->sink->pass(r->ctx, st, from, to);
}

/* ---- samples.c: works on stream.now, .frame and .depth ---- */

/* A chunk begins: take its samples. */
void replay_samples_begin(struct replay *, struct stream *,
			  const struct chunk *);
/* Were all samples of this moment taken? */
bool replay_samples_are_known(const struct stream *);
/* When that, or replay_samples_are_near, changes next; for all streams. */
ticks replay_samples_edge(struct stream *);
/* Is there a sample so near that every state of the stack must be seen? */
bool replay_samples_are_near(const struct stream *);
/* The stack stood so, with that node, for a time that ends now. */
void replay_samples_pass(const struct replay *, struct stream *, node_id,
			 ticks span);
/* The chunk has ended. */
void replay_samples_end(struct stream *);

/* ---- time.c: what passing time counts as ---- */

/* From a tick on the thread of the chunk is on the CPU, or not. */
void replay_time_add_edge(struct switches *, ticks at, enum cpu_state);
/* How much of that time, which is of the chunk that has these switches, was off
 * the CPU, and of how much that is not known. */
struct cct_cpu replay_time_cpu(const struct switches *, ticks from, ticks to);
/* A chunk begins; its stack is there. */
void replay_time_begin(struct replay *, struct stream *);
/* The innermost call runs for so long. */
void replay_time_pass(struct replay *, struct stream *, ticks gap);
/* The coroutine on top slept until now, with the frames it has. */
void replay_time_slept(struct replay *, struct stream *, ticks slept);
/* The frames of a handler's stream took the time since the last settling from
 * the call they interrupted. */
void replay_time_settle(struct replay *, struct stream *);
/* The last gap was not the time of a handler's innermost frame. */
void replay_time_take_back(struct stream *, ticks gap);
/* The node that stands for a node of the inside now. */
node_id replay_time_side(const struct stream *, node_id);
/* The flags of the node of a call that is the outermost of a coroutine's own
 * frames. co: as in struct segment. */
uint32_t replay_time_body_of(const struct replay *, const struct stream *,
			     uint64_t serial, uint32_t co);
/* The same of the topmost coroutine. */
uint32_t replay_time_body(const struct replay *, const struct stream *);

/* ---- noted.c ---- */

/* What a sampled VM says: a record NOTED. */
void replay_noted(struct replay *, struct stream *, const uint64_t *record);
/* Did it say which Lua functions make the call whose record comes next? */
static inline bool replay_lua_calls(const struct stream *st)
{
	return st->lua && st->lua->pending;
}
/* If so, the node of the last of them, which was not told of since; else that
 * of the innermost frame. */
node_id replay_lua_caller(struct replay *, struct stream *);

/* ---- identities.c ---- */

uint32_t replay_identities_thread(struct replay *,
				  const struct chunk_header *); /* index */
uint32_t replay_identities_coroutine(struct replay *, uint32_t process,
				     uint64_t serial); /* index + 1 */
/* Take a chunk's items but its switches, and fill replay.func. */
void replay_identities_items(struct replay *, uint32_t thread,
			     const struct chunk *);
/* So many ticks of that chunk in ns. */
uint64_t replay_ns(const struct chunk_header *, ticks);
/* The thread's switches become edges of its time. */
void replay_identities_switches(struct replay *, struct stream *,
				const struct chunk *);
/* Take the notes and labels of the recorder's own chunk. */
void replay_identities_notes(struct replay *, const struct chunk *);

/* ---- stack.c: works on stream.now, .frame and .depth ---- */

/* Empty: one segment without frames, hanging at a node. */
void replay_stack_init(struct stream *, node_id root);
bool replay_stack_is_empty(const struct stream *);
/* Stands for n frames that were left out; one function for each n. */
func_id replay_stack_omitted(struct replay *, uint64_t n);
/* Room for so many frames. */
void replay_stack_need(struct stream *, size_t frames);
/* Is the stack that the chunk gives the one we have? */
bool replay_stack_same(const struct replay *, const struct stream *,
		       const struct chunk *);
/* A chunk begins: its open stacks are ours, or become ours. */
void replay_stack_begin(struct replay *, struct stream *,
			const struct chunk *, bool contiguous);
/* The outermost call of the topmost coroutine is one of that function. */
void replay_stack_set_body(struct replay *, struct stream *, func_id);
/* A call is made at the topmost coroutine's base; returns the flags of its
 * node. */
uint32_t replay_stack_outermost(struct replay *, struct stream *, func_id);
/* A tail call replaces the call at the topmost coroutine's base; false: that
 * ends. */
bool replay_stack_tail(struct stream *);
/* The same, before the coroutine was put on the thread: push its body. */
void replay_stack_push_body(struct replay *, struct stream *, uint64_t word);
/* Above its base the topmost coroutine has no frame left: its body ends, if
 * a tail call has replaced it. */
void replay_stack_end_body(struct replay *, struct stream *, enum replay_why,
			   uint32_t reason);
/* Push n open-frame words on the topmost segment. */
void replay_stack_push_open(struct replay *, struct stream *,
			    const uint64_t *word, size_t n);
/* The same of the topmost segment, and the sink is told: calls of another
 * thread, for which this one works. */
void replay_stack_borrow(struct replay *, struct stream *,
			 const uint64_t *word, size_t n);
/* Take the innermost frame off. */
void replay_stack_pop(struct replay *, struct stream *, enum replay_why,
		      uint32_t reason);
/* All that is open ends here, unseen. */
void replay_stack_close(struct replay *, struct stream *, enum replay_why);

/* window.c: a window with an unknown base. Both need an empty stack. */
void replay_window_begin(struct replay *, struct stream *);
void replay_window_end(struct replay *, struct stream *);
/* A call ended that was open since before the window; false without one. */
bool replay_window_leave_old(struct stream *, func_id);

/* A chunk of a handler begins; one that runs in it already stays where it is.
 * The places are borrowed until the chunk's end. */
void replay_stack_hang(struct replay *, struct stream *, const struct chunk *,
		       const struct waiting *);
/* A handler begins to run. */
void replay_stack_interrupt(struct replay *, struct stream *,
			    const uint64_t *record);

/* ---- switch.c: records about coroutines ---- */

void replay_switch_resume(struct replay *, struct stream *,
			  const uint64_t *record);
void replay_switch_suspend(struct replay *, struct stream *,
			   const uint64_t *record);
void replay_switch_create(struct replay *, struct stream *,
			  const uint64_t *record);

/* ---- counted.c ---- */

/* Add the calls that the chunk counts to the tree, when its time has passed. */
void replay_counted(struct replay *, struct stream *, const struct chunk *);

/* ---- run.c ---- */

/* Replay the records [from, to); returns where it stopped, >= to. */
size_t replay_run(struct replay *, struct stream *, const struct chunk *,
		  size_t from, size_t to);

/* ---- handler.c ---- */

/* Replay the chunk's records up to the last place where a handler of the level
 * above interrupted them, and tell these handlers' chunks their places. Returns
 * how many records that were. */
size_t replay_handler_find(struct replay *, struct stream *,
			   const struct chunk *, struct stream *upper);
