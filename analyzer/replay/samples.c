/* samples.c - which node a sample belongs to: the innermost call at its tick.
 * Its address may lie in a function that was entered or left next to it: the
 * code before a function's first hook and after its last one, and a clock that
 * is a little off, show so. Which function an address lies in is not known
 * here; net.c decides when it is.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

/* States of the stack that are looked at: those at most so many ns from a
 * sample, up to so many after it; and the first one after it, since the
 * interrupt that took the sample lies before that, and may take long. */
enum { NEAR_NS = 2000, STATES_AFTER = 4 };

void replay_samples_begin(struct replay *r, struct stream *st,
			  const struct chunk *chunk)
{
	struct sampling *const sm = &st->sampling;
	const uint64_t hz = chunk->header.tick_hz;
	struct chunk_samples s;

	sm->count = sm->first = sm->last = 0;
	sm->from = sm->to = 0;
	sm->before = hz ? (ticks)((double)hz * (double)NEAR_NS / 1e9) : NEAR_NS;
	if (r->want.only_events || st->level > 0 || !decode_samples(chunk, &s))
		return;
	cct_collect_samples(r->session->cct);
	sm->from = s.from;
	sm->to = s.to;
	for (size_t i = 0; i < s.n; i++) {
		const ticks at = s.pair[2 * i];
		const uint64_t word = s.pair[2 * i + 1];

		*vec_add(&sm->pick, &sm->room, &sm->count) = (struct pick){
			.at = at, .left = STATES_AFTER,
			.sample.hides = chunk->nodes > 0,
			.sample.period = s.period < UINT32_MAX ?
					 (uint32_t)s.period : UINT32_MAX,
			.sample.place = session_place(r->session,
				r->place_of, &r->place_room,
				dict_kind(word) == DICT_NATIVE ?
				r->module[dict_module(word)] : 0,
				dict_offset(word)) };
	}
}

bool replay_samples_are_known(const struct stream *st)
{
	return st->now >= st->sampling.from && st->now < st->sampling.to;
}

ticks replay_samples_edge(struct stream *st)
{
	struct sampling *const sm = &st->sampling;

	while (sm->last < sm->count &&
	       sm->pick[sm->last].at <= st->now + sm->before)
		sm->last++;
	if (st->now < sm->from)
		return sm->from;
	if (sm->last < sm->count)
		return sm->pick[sm->last].at - sm->before;
	return st->now < sm->to ? sm->to : UINT64_MAX;
}

bool replay_samples_are_near(const struct stream *st)
{
	return st->sampling.first < st->sampling.last;
}

/* May the sample lie in the code of the node's function? In that of the nearest
 * entry below its address, if in any. */
static void consider(const struct replay *r, const struct stream *st,
		     struct pick *p, node_id node, ticks distance)
{
	const struct session *const s = r->session;
	const struct code_place *const place = &s->places[p->sample.place];
	const struct func *const f = func_get(s->funcs,
					      st->tree->nodes[node].func);

	if (f->kind != FUNC_NATIVE || f->module != place->module ||
	    f->offset > place->offset ||
	    (p->sample.near && (f->offset < p->entry ||
				(f->offset == p->entry &&
				 distance >= p->distance))))
		return;
	p->sample.near = node;
	p->entry = f->offset;
	p->distance = distance;
}

/* The stack stood so from one tick to the other. */
static void look(const struct replay *r, const struct stream *st,
		 struct pick *p, node_id node, ticks from, ticks to)
{
	if (from <= p->at)
		p->sample.node = node;
	else if (node != p->seen && p->left > 0)
		p->left--;
	p->seen = node;
	if (p->left < STATES_AFTER - 1 && from > p->at + st->sampling.before)
		return;
	consider(r, st, p, node, p->at < from ? from - p->at :
				 p->at > to ? p->at - to : 0);
}

static void settle(struct stream *st, size_t to)
{
	struct sampling *const sm = &st->sampling;

	for (; sm->first < to; sm->first++) {
		struct pick *const p = &sm->pick[sm->first];

		if (!p->sample.node)
			p->sample.node = st->frame[st->depth - 1].node;
		cct_add_sample(st->tree, &p->sample);
	}
}

void replay_samples_pass(const struct replay *r, struct stream *st,
			 node_id node, ticks span)
{
	struct sampling *const sm = &st->sampling;
	size_t done = sm->first;

	for (size_t i = sm->first; i < sm->last; i++)
		look(r, st, &sm->pick[i], node, st->now - span, st->now);
	while (done < sm->last && sm->pick[done].left == 0)
		done++;
	settle(st, done);
	/* The short way may be taken again. */
	if (!replay_samples_are_near(st))
		st->edge = st->now;
}

void replay_samples_end(struct stream *st)
{
	settle(st, st->sampling.count);
	st->sampling.last = st->sampling.count;
}
