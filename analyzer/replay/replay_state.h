/* replay_state.h - the replay's inside, shared by the replay*.c files only.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_REPLAY_REPLAY_STATE_H
#define WEFT_ANALYZER_REPLAY_REPLAY_STATE_H

#include "analyzer/base/map.h"
#include "analyzer/model/cct_private.h"
#include "analyzer/replay/replay.h"

/* An open call. entry is the tick it began at, sleep of its coroutine added;
 * or, from ENTRY_NONE down, not a tick: ENTRY_UNKNOWN, or ENTRY_UNKNOWN - n for
 * n frames that were left out. */
struct frame {
	func_id func;
	node_id node;
	ticks entry;
};

#define ENTRY_UNKNOWN UINT64_MAX
#define ENTRY_NONE (UINT64_MAX - (UINT64_C(1) << REC_GAP_BITS))

static inline int frame_is_omitted(const struct frame *f)
{
	return f->entry >= ENTRY_NONE && f->entry < ENTRY_UNKNOWN;
}

static inline uint64_t frame_omitted(const struct frame *f)
{
	return ENTRY_UNKNOWN - f->entry;
}

/* One coroutine's frames on a thread: from frame base up to the next segment's
 * base, or to the depth. co: its index in the session + 1; 0: the thread. */
struct segment {
	uint64_t serial;
	uint32_t co;
	size_t base;
	ticks since;             /* resumed, or first seen */
};

/* Stacks kept over a suspension; valid within the chunk they were made in. */
struct kept {
	size_t first, count, room; /* in replay.kept_frames */
	uint32_t co;
	node_id under;           /* node they were stitched on top of */
	struct cct *tree;
};

/* What a base-unknown window did, in a tree of its own, until it is known which
 * calls it all happened under. roots[i] holds what happened before old[i]
 * ended; the last root has no old function. */
struct window {
	struct cct *tree;
	struct old { node_id root; func_id func; } *old;
	size_t count, room;
	node_id root;            /* of what happens now */
};

/* Where a handler stands; node 0: not known. */
struct place {
	struct cct *tree;
	node_id node;
};

/* A copied chunk that waits for its turn. A handler's: place[0] is what was open
 * where its header says it interrupted, the others where its INTERRUPTs say so;
 * no places: not known. */
struct waiting {
	struct waiting *next;
	struct place *place;
	size_t places;
	struct chunk view;
	uint64_t words[];
};

/* A stream: chunks of one (process, thread, level).
 * Invariants: frame[0] is no call: its node is where segment 0 hangs; depth >=
 * 1; segment[0].base = 1; bases rise; segments >= 1. */
struct stream {
	uint32_t thread;         /* index in the session */
	uint32_t level;
	uint64_t arrived;        /* numbers below have come */
	int interrupted;         /* a handler's chunk came for it */
	uint64_t next;           /* numbers below have been replayed */
	uint64_t written;        /* record words in them, those that are
	                          * missing included */
	uint64_t lost[LOST_REASONS];
	int seen, closed;        /* any chunk; its last was CHUNK_LAST */
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
	ticks edge;              /* when what holds now may change next */
	size_t edges;            /* the chunk's edges up to here are passed */
	uint32_t cpu;            /* enum cpu_state now */
	int outside;             /* not in the time that is asked for */
	ticks settled;           /* level > 0: up to here, the frames' time was
	                          * taken off what they interrupted */
	uint64_t windows;        /* that began with an unknown base */
	struct waiting *first, *last; /* level 0: held; others: for the chunk
	                               * they interrupted */
	size_t waiting;
};

enum { LEVELS = 3 };

/* Coroutines, beside the session's: where the stack kept in this chunk is. */
struct co_kept {
	uint64_t chunk;          /* replay.chunk it is valid in */
	uint32_t kept;
	ticks body_at;           /* when its outermost function was seen first */
};

/* A stack between its suspend and its resume (events only). */
struct parked {
	func_id *func;
	size_t count;
	int resumed;             /* its resume came before its suspend */
	struct replay_event who;
	uint32_t next_free;      /* index + 1 */
	int used;
};

enum cpu_state { CPU_ON, CPU_OFF, CPU_UNKNOWN };

/* From this tick on a thread runs, or does not. */
struct edge { ticks at; uint32_t cpu; };

struct replay {
	struct session *session;
	const struct replay_sink *sink;
	void *ctx;
	struct map *process_of, *thread_of, *co_of, *vm_of, *stream_of;
	struct map *parked_of;
	struct stream **streams;
	size_t stream_count, stream_room;
	size_t process_room, thread_room, co_room, vm_room, note_room;
	size_t label_room;
	uint64_t chunk;          /* chunks replayed */
	size_t held_words;       /* in all waiting chunks */
	int is_eager;            /* no chunk of level 0 waits */
	struct co_kept *co_kept;
	size_t co_kept_room;
	struct kept *kept;
	size_t kept_count, kept_room;
	struct frame *kept_frames;
	size_t kept_used, kept_frames_room;
	struct parked *parked;
	size_t parked_count, parked_room;
	uint32_t parked_free;    /* index + 1 */
	struct replay_collect want;
	struct edge *edge;       /* of the chunk of level 0 that came last, */
	uint32_t edge_thread;    /* of that thread; rising */
	size_t edge_count, edge_room;
	func_id open_before;     /* "[open before start]" */
	uint64_t calls;          /* of the run under way */
	elf_id module[DICT_MAX_MODULES];
	func_id func[CHUNK_MAX_FUNCS + 1];
};

/* replay.c */
struct stream *replay_find_stream(const struct replay *, uint32_t thread,
				  uint32_t level); /* or NULL */
struct waiting *replay_take_waiting(struct replay *, struct stream *);

/* replay_chunk.c */
void replay_chunk_run(struct replay *, struct stream *,
		      const struct chunk *, const struct waiting *);
void replay_chunk_close(struct replay *, struct stream *, enum replay_why);

/* replay_handler.c: signal handlers that interrupted hooks. */
size_t replay_handler_find(struct replay *, struct stream *,
			   const struct chunk *, struct stream *upper);
void replay_handler_run(struct replay *, struct stream *upper,
			uint64_t number);
void replay_handler_hang(struct replay *, struct stream *,
			 const struct chunk *, const struct waiting *);
void replay_handler_interrupt(struct replay *, struct stream *,
			      const uint64_t *record);
void replay_handler_settle(struct replay *, struct stream *);

/* replay_who.c: identities, and what items tell. */
uint32_t replay_identities_thread(struct replay *, const struct chunk_header *);
uint32_t replay_identities_coroutine(struct replay *, uint32_t process,
			      uint64_t serial); /* index + 1 */
void replay_identities_ran(struct replay *, uint32_t co, uint32_t thread);
void replay_identities_items(struct replay *, const struct chunk *,
		      uint32_t thread);

/* replay_clock.c: time passes, off the CPU or not, inside of the time that is
 * asked for or not. */
void replay_clock_begin(struct replay *, struct stream *);
void replay_clock_pass(struct replay *, struct stream *, ticks gap);
void replay_clock_slept(struct replay *, struct stream *, ticks slept);
void replay_clock_add_edge(struct replay *, ticks at, uint32_t cpu);
int replay_clock_knows(const struct replay *, const struct stream *);
struct cct_cpu replay_clock_cpu(const struct replay *, ticks from, ticks to);
node_id replay_clock_side(const struct stream *, node_id);
uint32_t replay_clock_body(const struct replay *, const struct stream *);

/* replay_notes.c: notes and labels; process: index + 1, 0: of all. */
void replay_notes(struct replay *, const struct chunk *);
void replay_notes_label(struct replay *, uint64_t recording, uint32_t process,
			const struct chunk_item *);

/* replay_run.c: the records [from, to); returns where it stopped, >= to. */
size_t replay_run(struct replay *, struct stream *, const struct chunk *,
		  size_t from, size_t to);

/* replay_stack.c: what is rarer than a call. They work on stream.now, .frame
 * and .depth. */
void replay_stack_init(struct stream *, node_id root);
void replay_stack_need(struct stream *, size_t frames);
void replay_stack_begin(struct replay *, struct stream *,
			const struct chunk *, int contiguous);
int replay_stack_same(const struct replay *, const struct stream *,
		      const struct chunk *);
void replay_stack_close(struct replay *, struct stream *, enum replay_why);
void replay_stack_pop(struct replay *, struct stream *, enum replay_why,
		      uint32_t reason);
void replay_stack_body(struct replay *, struct stream *, func_id);
void replay_stack_push_open(struct replay *, struct stream *,
			    const uint64_t *word, size_t n);
void replay_stack_record(struct replay *, struct stream *,
			 const uint64_t *record);

/* replay_switch.c: coroutines come and go. */
void replay_switch_resume(struct replay *, struct stream *,
			  const uint64_t *record);
void replay_switch_suspend(struct replay *, struct stream *,
			   const uint64_t *record);
void replay_switch_create(struct replay *, struct stream *,
			  const uint64_t *record);

/* replay_window.c */
void replay_window_begin(struct replay *, struct stream *);
void replay_window_end(struct replay *, struct stream *);
int replay_window_leave_old(struct stream *, func_id);

/* replay_emit.c: events; each needs replay.sink. */
void replay_emit_chunk(struct replay *, struct stream *,
		       const struct chunk *);
void replay_emit_chunk_end(struct replay *, struct stream *);
void replay_emit_enter(struct replay *, struct stream *, ticks, func_id,
		       size_t depth, enum replay_why);
void replay_emit_leave(struct replay *, struct stream *, ticks, func_id,
		       size_t depth, enum replay_why, uint32_t reason);
/* A call that turns out, at its end, to have been open all the time. */
void replay_emit_pair(struct replay *, struct stream *, func_id,
		      enum replay_deferred);
void replay_emit_adopt(struct replay *, struct stream *);
void replay_emit_mark(struct replay *, struct stream *, func_id);
void replay_emit_create(struct replay *, struct stream *, uint64_t serial,
			uint64_t vm);
/* With the topmost segment as it is right after a resume, before a suspend. */
void replay_emit_resume(struct replay *, struct stream *, uint64_t slept,
			int inferred);
void replay_emit_suspend(struct replay *, struct stream *, uint32_t flags);
void replay_emit_finish(struct replay *);

static inline void replay_emit_pass(const struct replay *r,
				    const struct stream *st, ticks from,
				    ticks to)
{
	if (r->sink->pass && from < to)
		r->sink->pass(r->ctx, st, from, to);
}

static inline void replay_unnested(struct replay *r, const struct stream *st)
{
	r->session->threads[st->thread].unnested++;
	r->session->unnested++;
}

static inline struct segment *replay_top(const struct stream *st)
{
	return &st->segment[st->segments - 1];
}

/* Where the innermost open call stands. */
static inline struct cct_node *replay_here(const struct stream *st)
{
	return &st->tree->nodes[st->frame[st->depth - 1].node];
}

#endif
