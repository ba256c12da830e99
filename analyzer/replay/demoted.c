/* demoted.c - which calls a chunk may not have, to keep a budget; and of its
 * calls those that stand for others. Sums by function go to the session, those
 * by node to the tree; what follows from them is in model/estimate.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/map.h"
#include "analyzer/replay/replay_private.h"

#include <string.h>

/* A function of the item. */
static bool next(const struct replay *r, const struct chunk_item *item,
		 size_t *i, struct chunk_demoted *d, func_id *func)
{
	if (!decode_demoted(item, (*i)++, d))
		return false;
	*func = func_native(r->session->funcs,
			    r->module[dict_module(d->place)],
			    dict_offset(d->place));
	return true;
}

enum { IS_WINDOW = 1, IS_NAMED = 2 };

/* Mark what is left out, and of it what the dictionary has. */
static void mark(struct replay *r, const struct chunk *chunk,
		 const struct chunk_item *item)
{
	struct chunk_demoted d;
	func_id func;

	for (size_t i = 0; next(r, item, &i, &d, &func); )
		;
	const size_t need = func_count(r->session->funcs) + 1;

	if (need > r->demoted_room) {
		r->demoted = mem_grow(r->demoted, need * 2, 1);
		r->demoted_room = need * 2;
	}
	memset(r->demoted, 0, r->demoted_room);
	for (size_t i = 0; next(r, item, &i, &d, &func); ) {
		if (d.kind == DEMOTED_WINDOW)
			r->demoted[func] |= IS_WINDOW;
		r->has_windows |= d.kind == DEMOTED_WINDOW;
	}
	for (size_t i = 0; i < chunk->header.funcs; i++)
		r->demoted[r->func[i]] |= IS_NAMED;
}

/* ---- what a chunk's calls say ---- */

enum { SEGMENTS = 64, DEEP = 1 << 30 };

/* The chunk's records, as far as this needs them. */
struct scan {
	double *calls;         /* by function */
	struct demotion_span span;
	/* By function: the tick until which its calls may be missing although
	 * the chunk names it; 0: they are not, 1: it was not met yet. */
	ticks *named;
	ticks now;
	/* Frames of the segments that are on; DEEP: many, or not known. */
	uint32_t depth[SEGMENTS], segments;
	struct map *kept;      /* depth + 1 of suspended coroutines */
};

/* What begins a coroutine, and what a resume brings, is named although it is
 * skipped: calls from then on are recorded, calls before it were not. */
static void name(struct scan *n, func_id func, bool begins)
{
	if (n->named[func] == 1)
		n->named[func] = begins ? n->now : 0;
}

static uint32_t *top_of(struct scan *n)
{
	return &n->depth[n->segments <= SEGMENTS ? n->segments - 1 :
			 SEGMENTS - 1];
}

static void push(struct scan *n, uint32_t depth)
{
	n->segments++;
	*top_of(n) = n->segments < SEGMENTS ? depth : DEEP;
}

static void resume(const struct replay *r, struct scan *n,
		   const uint64_t *record)
{
	const uint64_t serial = rec_value(record[1]);
	const bool is_given = (rec_func(record[0]) & RESUME_STACK) != 0;
	const uint32_t kept = map_find(n->kept, serial, 0);
	const uint64_t frames = is_given ? rec_value(record[3]) : 0;
	const bool has_body = (rec_func(record[0]) & RESUME_BODY) != 0;

	for (uint64_t i = 0; i < frames + (is_given && has_body); i++)
		if (rec_func(record[4 + i]) != REC_FUNC_OMITTED)
			name(n, r->func[rec_func(record[4 + i])], true);
	push(n, is_given ? (uint32_t)frames : kept ? kept - 1 : 0);
}

static void suspend(struct scan *n, const uint64_t *record)
{
	*map_put(n->kept, rec_value(record[1]), 0) = *top_of(n) + 1;
	if (n->segments > 1)
		n->segments--;
	else
		n->depth[0] = DEEP;
}

static void enter(const struct replay *r, struct scan *n, uint64_t word)
{
	const func_id func = r->func[rec_func(word)];

	name(n, func, *top_of(n) == 0);
	n->calls[func]++;
	n->span.hooks++;
}

static void scan_record(const struct replay *r, struct scan *n,
			const uint64_t *record)
{
	uint32_t *const depth = top_of(n);

	switch (rec_kind(*record)) {
	case REC_ENTER:
		enter(r, n, *record);
		++*depth;
		break;
	case REC_LEAF:
		enter(r, n, *record);
		break;
	case REC_LEAVE:
		*depth -= *depth > 0;
		break;
	case REC_UNWIND:
		*depth -= rec_value(record[1]) < *depth ?
			  (uint32_t)rec_value(record[1]) : *depth;
		break;
	case REC_RESUME:
		resume(r, n, record);
		break;
	case REC_SUSPEND:
		suspend(n, record);
		break;
	default:
		break;
	}
}

static void scan_stack(const struct replay *r, const struct chunk *chunk,
		       struct scan *n)
{
	const uint64_t *segment = chunk->stack ? chunk->stack + 2 : NULL;
	const uint64_t segments = segment ? chunk->stack[1] : 0;

	for (uint64_t i = 0; i < segments; i++, segment += 2 + segment[1])
		for (uint64_t k = 0; k < segment[1]; k++)
			if (rec_func(segment[2 + k]) != REC_FUNC_OMITTED)
				n->named[r->func[rec_func(segment[2 + k])]] = 0;
	for (uint64_t i = 0; chunk->bodies && i < segments; i++)
		if (chunk->bodies[i] != 0)
			n->named[r->func[rec_func(chunk->bodies[i])]] = 0;
}

/* What the stack at the chunk's start names, and what is counted, the chunk has
 * from its start on. */
static void scan_items(const struct replay *r, const struct chunk *chunk,
		       struct scan *n)
{
	const uint64_t *word = chunk->counted;

	for (size_t i = 0; i < chunk->nodes; i++, word += COUNTED_WORDS) {
		const func_id func = r->func[rec_func(word[0])];

		if (rec_kind(word[0]) != (enum rec_kind)COUNTED_CALL ||
		    word[1] == 0)
			continue;
		n->named[func] = 0;
		n->calls[func] += (double)word[1];
		n->span.hooks += (double)word[1] / 2;
	}
	scan_stack(r, chunk, n);
}

/* The thread's time on the CPU, ns; if that is not known, all of it. */
static double time_of(const struct chunk_header *h)
{
	const double hz = h->tick_hz ? (double)h->tick_hz : 1e9;

	return h->cpu_begin != 0 && h->cpu_end > h->cpu_begin ?
	       (double)(h->cpu_end - h->cpu_begin) :
	       (double)(h->tick_end - h->tick_begin) / hz * 1e9;
}

static void scan_begin(const struct replay *r, const struct chunk *chunk,
		       struct scan *n)
{
	*n = (struct scan){ .now = chunk->header.tick_begin, .segments = 1,
			    .span.time = time_of(&chunk->header),
			    .depth = { DEEP }, .kept = map_new() };
	n->calls = mem_alloc(r->demoted_room * sizeof(*n->calls));
	n->named = mem_alloc(r->demoted_room * sizeof(*n->named));
	for (size_t i = 0; i < chunk->header.funcs; i++)
		n->named[r->func[i]] = 1;
	scan_items(r, chunk, n);
	for (size_t i = 0; i < chunk->header.records; i++) {
		const uint64_t word = chunk->records[i];

		if (rec_kind(word) == REC_OPERAND)
			continue;
		n->now += decode_record_lead(word);
		scan_record(r, n, &chunk->records[i]);
		n->now += decode_record_ticks(word) - decode_record_lead(word);
	}
}

/* ---- sums ---- */

/* What part of the chunk's time lies between the ticks. */
static double part_of(const struct chunk_header *h, ticks from, ticks to)
{
	const ticks all = h->tick_end - h->tick_begin;

	from = from < h->tick_begin ? h->tick_begin : from;
	to = to > h->tick_end ? h->tick_end : to;
	return all == 0 || to <= from ? 0 : (double)(to - from) / (double)all;
}

/* The time in which its calls may be missing. A function that the chunk names
 * when it is called first was not called before. */
static double missing_part(const struct replay *r, const struct chunk_header *h,
			   func_id func, const struct chunk_demoted *d,
			   const struct scan *n)
{
	const ticks from = d->kind == DEMOTED_WINDOW ? d->to : d->from;
	ticks to = d->kind == DEMOTED_WINDOW ? h->tick_end : d->to;

	if (r->demoted[func] & IS_NAMED)
		to = n->named[func] > 1 && n->named[func] < to ?
		     n->named[func] : n->named[func] > 1 ? to : 0;
	return part_of(h, from, to);
}

static void add_span(struct demotion_span *to, const struct demotion_span *s,
		     double part)
{
	to->time += part * s->time;
	to->hooks += part * s->hooks;
}

static void add_window(struct replay *r, const struct chunk_header *h,
		       func_id func, const struct chunk_demoted *d,
		       struct demotion_part *sum, const struct scan *n)
{
	struct demotion_look *const l = demotion_look(sum, d->from);

	l->calls += n->calls[func];
	add_span(&l->in, &n->span, r->demoted[func] & IS_NAMED ? 1 :
		 part_of(h, h->tick_begin, d->to));
}

static void add(struct replay *r, uint32_t thread, const struct chunk_header *h,
		func_id func, const struct chunk_demoted *d,
		const struct scan *n)
{
	struct demotions *const all = &r->session->demotions;
	struct demotion *const sum = demotion_of(all, func);
	const double all_ticks = (double)(h->tick_end - h->tick_begin);
	struct demotion_part *const of = demotion_part(all, sum, thread);
	struct demotion_look *last;
	double part;

	sum->since = d->from < sum->since ? d->from : sum->since;
	sum->rate = d->rate > sum->rate ? d->rate : sum->rate;
	sum->ns = d->ns;
	if (d->kind == DEMOTED_COUNTED) {
		sum->counted += (ticks)(part_of(h, d->from, d->to) * all_ticks);
		return;
	}
	if (d->kind == DEMOTED_WINDOW)
		add_window(r, h, func, d, of, n);
	part = missing_part(r, h, func, d, n);
	if (part == 0)
		return;
	sum->skipped += (ticks)(part * all_ticks);
	of->skipped += (ticks)(part * all_ticks);
	last = demotion_last(of, h->tick_begin);
	if (of->rate == 0)
		of->rate = (double)d->rate;
	add_span(last ? &last->until : &of->before, &n->span, part);
}

/* From the first of them on to the last one: which ones is not of interest. */
static void hide(struct replay *r, const struct chunk_header *h,
		 const struct chunk_demoted *d)
{
	const bool is_window = d->kind == DEMOTED_WINDOW;
	const ticks from = is_window ? d->to : d->from;
	const ticks to = is_window ? h->tick_end : d->to;

	r->hidden_from = from < r->hidden_from ? from : r->hidden_from;
	r->hidden_to = to > r->hidden_to ? to : r->hidden_to;
}

void replay_demoted(struct replay *r, uint32_t thread,
		    const struct chunk *chunk, const struct chunk_item *item)
{
	struct chunk_demoted d;
	struct scan scan;
	func_id func;

	mark(r, chunk, item);
	scan_begin(r, chunk, &scan);
	for (size_t i = 0; next(r, item, &i, &d, &func); )
		if (d.kind >= DEMOTED_SKIPPED && d.kind <= DEMOTED_COUNTED) {
			add(r, thread, &chunk->header, func, &d, &scan);
			hide(r, &chunk->header, &d);
		}
	map_free(scan.kept);
	mem_free_all(scan.calls, scan.named);
}

void replay_demoted_call(const struct replay *r, const struct stream *st,
			 func_id func, node_id node)
{
	if (r->demoted[func] & IS_WINDOW)
		cct_count_windowed(st->tree, node);
}
