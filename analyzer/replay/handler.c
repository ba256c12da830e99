/* handler.c - signal handlers that interrupted a hook: which call of the level
 * below was open at that moment. The level below is replayed step by step up to
 * each such moment, since its stack is known only then.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

/* The level below, as it is being replayed. */
struct below {
	struct replay *replay;
	struct stream *stream;
	const struct chunk *chunk;
	size_t i;                /* record words replayed so far */
};

/* Replay the records before index `to`. */
static void advance(struct below *b, size_t to)
{
	if (to > b->chunk->header.records)
		to = b->chunk->header.records;
	if (to > b->i)
		b->i = replay_run(b->replay, b->stream, b->chunk, b->i, to);
}

/* The record that the interrupted hook was about to write has an earlier tick
 * than the handler, and so has that of a LEAF which lasts: replay the records
 * up to a moment inside the interruption. */
static void advance_to_tick(struct below *b, ticks at)
{
	const struct chunk *const chunk = b->chunk;

	while (b->i < chunk->header.records) {
		const uint64_t word = chunk->records[b->i];
		const ticks lead = rec_kind(word) == REC_OPERAND ? 0 :
				   decode_record_lead(word);

		if (b->stream->now + lead > at)
			return;
		advance(b, b->i + 1);
	}
}

/* A handler's level without an open call is interrupted only where it begins to
 * run a handler, or where its chunk is about to be closed: its next INTERRUPT
 * says where it stands. */
static void advance_to_place(struct below *b)
{
	const struct stream *const st = b->stream;

	if (st->level > 0 && replay_stack_is_empty(st) &&
	    b->i < b->chunk->header.records &&
	    rec_kind(b->chunk->records[b->i]) == REC_INTERRUPT)
		advance(b, b->i + 1);
}

/* The node of the call that was open at that moment. A call that became a LEAF
 * afterwards has ended by the records, but not by the clock. */
static struct place open_call(const struct below *b, ticks at)
{
	const struct stream *const st = b->stream;
	const struct place here = { st->tree, st->frame[st->depth - 1].node };
	const uint64_t *const last = b->i > 0 ?
				     &b->chunk->records[b->i - 1] : NULL;
	const bool is_lua = last && st->lua && st->lua->leaf == last &&
			    st->lua->leaf_chunk == b->replay->chunk;
	const uint32_t body = st->segments > 1 &&
		st->depth == segment_first(replay_top(st)) ?
		replay_time_body(b->replay, st) : 0;
	const node_id from = is_lua ? st->lua->caller : here.node;
	node_id leaf;
	func_id func;

	if (!last || rec_kind(*last) != REC_LEAF || at >= st->now)
		return here;
	func = b->replay->func[rec_func(*last)];
	leaf = cct_find(st->tree, from, func, is_lua ? 0 : body);
	/* Its node may stand in "(deeper)". */
	if (!leaf && cct_deeper(st->tree) > 0)
		leaf = cct_child(st->tree, from, func, is_lua ? 0 : body);
	return leaf ? (struct place){ st->tree, leaf } : here;
}

/* room is the caller's: the places of one chunk are found in one go. */
static void add_place(struct waiting *w, size_t *room, struct place place)
{
	*vec_add(&w->place, room, &w->places) = place;
}

/* Where the handlers of one chunk stand: the first where its header says, the
 * others where their INTERRUPTs say. */
static void find_places(struct below *b, struct waiting *w)
{
	const struct chunk *const chunk = w->chunk;
	ticks at = chunk->header.tick_begin;
	size_t room = 0;

	advance(b, chunk->header.interrupted_record);
	add_place(w, &room, open_call(b, at));
	for (size_t i = 0; i < chunk->header.records; i++) {
		const uint64_t *const record = &chunk->records[i];

		if (rec_kind(*record) == REC_OPERAND)
			continue;
		at += decode_record_ticks(*record);
		if (rec_kind(*record) != REC_INTERRUPT)
			continue;
		/* Before the chunk began: in lost records. */
		if (rec_value(record[1]) != chunk->header.interrupted_chunk ||
		    at < b->chunk->header.tick_begin) {
			add_place(w, &room, (struct place){ 0 });
			continue;
		}
		advance(b, (size_t)rec_value(record[2]));
		advance_to_tick(b, at);
		advance_to_place(b);
		add_place(w, &room, open_call(b, at));
	}
}

/* A handler's chunk that waits behind one for a later chunk gets no places: it
 * runs when their trees may be gone. No tracer writes such chunks. */
size_t replay_handler_find(struct replay *r, struct stream *st,
			   const struct chunk *chunk, struct stream *upper)
{
	struct below b = { r, st, chunk, 0 };
	const uint64_t number = chunk->header.number;

	for (struct waiting *w = upper ? upper->first : NULL;
	     w && w->chunk->header.interrupted_chunk <= number; w = w->next)
		if (w->chunk->header.interrupted_chunk == number)
			find_places(&b, w);
	return b.i;
}

