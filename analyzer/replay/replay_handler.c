/* replay_handler.c - signal handlers that interrupted a hook: under which call
 * of the level below they stand, and whose time they took.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

/* The level below, as it is being replayed. */
struct below {
	struct replay *replay;
	struct stream *stream;
	const struct chunk *view;
	size_t i;                /* records replayed so far */
};

static void advance(struct below *b, size_t to)
{
	if (to > b->view->header.records)
		to = b->view->header.records;
	if (to > b->i)
		b->i = replay_run(b->replay, b->stream, b->view, b->i, to);
}

/* The record that a hook was about to write when it was interrupted has the
 * earlier tick, and so is the one whose call lasts: records go on to a moment
 * inside the interruption. */
static void advance_to_tick(struct below *b, ticks at)
{
	const struct chunk *const v = b->view;

	while (b->i < v->header.records) {
		const uint64_t word = v->records[b->i];
		ticks lead = 0;

		if (rec_kind(word) == REC_LEAF)
			lead = rec_leaf_gap(word);
		else if (rec_kind(word) != REC_OPERAND)
			lead = decode_record_ticks(word);
		if (b->stream->now + lead > at)
			return;
		advance(b, b->i + 1);
	}
}

/* A level that has no call open is interrupted only where it begins to run a
 * handler, or where its chunk is about to be closed: there its next INTERRUPT
 * says where it stands. */
static void advance_to_place(struct below *b)
{
	const struct stream *const st = b->stream;

	if (st->level > 0 && st->depth == 1 && st->segments == 1 &&
	    b->i < b->view->header.records &&
	    rec_kind(b->view->records[b->i]) == REC_INTERRUPT)
		advance(b, b->i + 1);
}

/* The node open at that moment. A call that has become a LEAF since is over by
 * the records, but not by the clock. */
static struct place open_call(const struct below *b, ticks at)
{
	const struct stream *const st = b->stream;
	const struct place here = { st->tree, st->frame[st->depth - 1].node };
	const uint64_t word = b->i > 0 ? b->view->records[b->i - 1] : 0;
	const uint32_t body = st->segments > 1 &&
		st->depth == replay_top(st)->base ?
		replay_clock_body(b->replay, st) : 0;
	node_id leaf;

	if (rec_kind(word) != REC_LEAF || at >= st->now)
		return here;
	leaf = cct_find(st->tree, here.node,
			    b->replay->func[rec_func(word)], body);
	return leaf ? (struct place){ st->tree, leaf } : here;
}

static void add_place(struct waiting *w, size_t *room, struct place place)
{
	*vec_add(&w->place, room, &w->places) = place;
}

/* Where the handlers of one chunk stand: as its header says, and as each
 * INTERRUPT in it does. */
static void find_places(struct below *b, struct waiting *w)
{
	const struct chunk *const v = &w->view;
	ticks at = v->header.tick_begin;
	size_t room = 0;

	advance(b, v->header.interrupted_record);
	add_place(w, &room, open_call(b, at));
	for (size_t i = 0; i < v->header.records; i++) {
		const uint64_t *const record = &v->records[i];

		if (rec_kind(*record) == REC_OPERAND)
			continue;
		at += decode_record_ticks(*record);
		if (rec_kind(*record) != REC_INTERRUPT)
			continue;
		/* Before it began: in records that were lost. */
		if (rec_value(record[1]) != v->header.interrupted_chunk ||
		    at < b->view->header.tick_begin) {
			add_place(w, &room, (struct place){ 0 });
			continue;
		}
		advance(b, (size_t)rec_value(record[2]));
		advance_to_tick(b, at);
		advance_to_place(b);
		add_place(w, &room, open_call(b, at));
	}
}

/* Replay the chunk's records up to the last place where a handler interrupted
 * them; returns how many. A chunk that waits behind one for a later chunk, which
 * no tracer writes, gets no places: it runs when these trees may be gone. */
size_t replay_handler_find(struct replay *r, struct stream *st,
			   const struct chunk *v, struct stream *upper)
{
	struct below b = { r, st, v, 0 };

	for (struct waiting *w = upper ? upper->first : NULL;
	     w && w->view.header.interrupted_chunk <= v->header.number; w =
		     w->next)
		if (w->view.header.interrupted_chunk == v->header.number)
			find_places(&b, w);
	return b.i;
}

/* Replay the handlers' chunks that interrupted chunks up to this number. */
void replay_handler_run(struct replay *r, struct stream *upper,
			uint64_t number)
{
	while (upper && upper->first &&
	       upper->first->view.header.interrupted_chunk <= number) {
		struct waiting *const w = replay_take_waiting(r, upper);

		replay_chunk_run(r, upper, &w->view, w);
		mem_free(w->place);
		mem_free(w);
	}
}

static void take_cpu(struct cct_cpu *of, const struct cct_cpu *cpu)
{
	of->off -= cpu->off < of->off ? cpu->off : of->off;
	of->unknown -= cpu->unknown < of->unknown ? cpu->unknown :
		       of->unknown;
}

/* Handlers' frames took the time from the call they interrupted. */
static void take_off(struct replay *r, struct stream *st, ticks span)
{
	struct cct *const t = st->tree;
	const struct cct_cpu cpu =
		replay_clock_cpu(r, st->now - span, st->now);

	if (replay_clock_knows(r, st))
		take_cpu(&t->cpu[st->frame[0].node], &cpu);

	for (node_id n = st->frame[0].node; n && span; n = t->nodes[n].parent) {
		const ticks have = t->nodes[n].self;
		const ticks some = span < have ? span : have;

		t->nodes[n].self -= some;
		span -= some;
	}
	/* More than there was: its chunk is lost, and so is its time. */
	r->session->threads[st->thread].traced += span;
}

/* What passed since the last time: that outside of frames went to the
 * interrupted call and comes off it again. */
void replay_handler_settle(struct replay *r, struct stream *st)
{
	take_off(r, st, st->now - st->settled);
	st->settled = st->now;
}

static int is_empty(const struct stream *st)
{
	return st->depth == 1 && st->segments == 1;
}

/* What is entered on an empty stack from now on stands there. Frames that a
 * jump has left behind may still be there: they keep their places. */
static void stand(struct replay *r, struct stream *st, struct place place)
{
	if (place.node) {
		if (r->want.to)
			place.node = cct_beside(place.tree, place.node,
						st->outside);
		if (is_empty(st)) {
			st->tree = place.tree;
			replay_stack_init(st, place.node);
		} else if (st->tree == place.tree) {
			st->frame[0].node = place.node;
		}
		return;
	}
	r->session->threads[st->thread].unplaced++;
	if (!is_empty(st))
		return;
	st->tree = r->session->cct;
	replay_stack_init(st, replay_clock_side(st,
				cct_root(st->tree, st->thread)));
}

/* A chunk begins. A handler that goes on in it stands where it stood. */
void replay_handler_hang(struct replay *r, struct stream *st,
			 const struct chunk *v, const struct waiting *w)
{
	const int says_itself = v->header.records > 0 &&
				rec_kind(v->records[0]) == REC_INTERRUPT;
	struct place under = { 0 };

	st->settled = v->header.tick_begin;
	st->place = NULL;
	st->places = 0;
	if (w && w->places > 0) {
		under = w->place[0];
		st->place = w->place + 1;
		st->places = w->places - 1;
	}
	if (is_empty(st) && (under.node || !says_itself))
		stand(r, st, under);
}

/* A handler begins to run. The gap before it was the interrupted call's, not
 * that of frames which a jump had ended. */
void replay_handler_interrupt(struct replay *r, struct stream *st,
			      const uint64_t *record)
{
	const ticks gap = rec_gap(*record);
	struct place place = { 0 };

	if (st->level == 0) {
		replay_unnested(r, st);
		return;
	}
	if (!is_empty(st)) {
		struct cct_node *const here = replay_here(st);
		const struct cct_cpu cpu =
			replay_clock_cpu(r, st->now - gap, st->now);

		if (replay_clock_knows(r, st))
			take_cpu(&st->tree->cpu[here - st->tree->nodes], &cpu);
		here->self -= gap < here->self ? gap : here->self;
		st->settled += gap;
	}
	replay_handler_settle(r, st);
	if (st->places > 0) {
		place = *st->place++;
		st->places--;
	}
	stand(r, st, place);
}
