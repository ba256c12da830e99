/* cct_samples.c - the samples of a tree's nodes: a list for each node, and what
 * they come to. Knows no address: places are numbers here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/cct_private.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- how exactly a sum is divided --------------------------------------- */

/* Of a part s of a sum, whose own doubt is q of Q, q (1-s)^2 + (Q-q) s^2; here
 * each node's part may have been made shorter since. If the sum is known, these
 * two are one error: what a part has too much, the others lack. */
static double of_parts(const struct cct_division *d)
{
	const double square = d->share * d->share, rest = d->all - d->cross;
	const double own = d->doubt - 2 * d->share * d->cross +
			   square * d->cross;

	if (d->most <= 0)
		return fmax(own + square * rest, 0);
	return fmax(fmax(own * fmin(d->most / d->cross, 1),
			 square * fmin(d->most, rest)), 0);
}

double cct_division_variance(const struct cct_division *d)
{
	return d->others + of_parts(d);
}

bool cct_division_is_one(const struct cct_division *a,
			 const struct cct_division *b)
{
	return a->all == b->all && a->func == b->func;
}

static bool fits(const struct cct_division *a, const struct cct_division *b)
{
	return a->all <= 0 || b->all <= 0 || cct_division_is_one(a, b);
}

static void add_parts(struct cct_division *to, const struct cct_division *more)
{
	to->func = to->all > 0 ? to->func : more->func;
	to->doubt += more->doubt;
	to->cross += more->cross;
	to->share += more->share;
	to->all = fmax(to->all, more->all);
	to->most = fmax(to->most, more->most);
}

void cct_division_add(struct cct_division *to, const struct cct_division *more)
{
	to->others += more->others;
	if (fits(to, more))
		add_parts(to, more);
	else
		to->others += of_parts(more);
}

/* Of one function, a node has one part. */
void cct_division_give(struct cct *t, node_id to,
		       const struct cct_division *more)
{
	struct cct_sampled *const of = &t->sampled[to];
	uint64_t key;
	uint32_t *known;

	memcpy(&key, &more->all, sizeof(key));
	t->given_of = t->given_of ? t->given_of : map_new();
	known = map_put(t->given_of, (uint64_t)more->func << 32 | to, key);
	if (*known == 0) {
		*vec_add(&t->given, &t->given_room, &t->givens) =
			(struct cct_given){ .node = to, .next = of->given };
		*known = of->given = (uint32_t)t->givens;
	}
	add_parts(&t->given[*known - 1].of, more);
}

void cct_division_add_given(struct cct_division *to, const struct cct *t,
			    node_id id)
{
	for (uint32_t i = t->sampled[id].given; i > 0; i = t->given[i - 1].next)
		cct_division_add(to, &t->given[i - 1].of);
}

static void join_division(struct cct *t, node_id to, const struct cct *from,
			  node_id id, bool is_same)
{
	struct cct_division *const own = &t->sampled[to].division;
	const struct cct_sampled *const of = &from->sampled[id];

	if (is_same && fits(own, &of->division))
		add_parts(own, &of->division);
	else if (of->division.all > 0)
		cct_division_give(t, to, &of->division);
	for (uint32_t i = of->given; i > 0; i = from->given[i - 1].next)
		cct_division_give(t, to, &from->given[i - 1].of);
}

/* ---- the samples ------------------------------------------------------- */

/* Where there are no samples, that is all of self but the time off the CPU. */
static uint64_t unsampled_of(const struct cct *t, node_id id)
{
	const uint64_t self = t->nodes[id].self;
	const uint64_t off = t->cpu ? t->cpu[id].off : 0;

	return t->sampled ? t->sampled[id].unsampled :
	       off < self ? self - off : 0;
}

void cct_collect_samples(struct cct *t)
{
	struct cct_sampled *all;

	if (t->sampled)
		return;
	all = mem_alloc(t->room * sizeof(*all));
	for (node_id id = 1; id <= t->count; id++) {
		all[id].unsampled = unsampled_of(t, id);
		all[id].raw = t->nodes[id].self;
	}
	t->sampled = all;
}

void cct_collect_samples_as(struct cct *t, const struct cct *other)
{
	if (other->sampled)
		cct_collect_samples(t);
	t->is_net |= other->is_net;
}

bool cct_has_samples(const struct cct *t)
{
	return t->sampled != NULL;
}

bool cct_is_net(const struct cct *t)
{
	return t->is_net;
}

void cct_set_net(struct cct *t, bool is_net)
{
	assert(t->sampled);
	t->is_net = is_net;
}

struct cct_sampled *cct_sampled_of(const struct cct *t, node_id id)
{
	return t->sampled ? &t->sampled[id] : NULL;
}

void cct_add_sample(struct cct *t, const struct cct_sample *sample)
{
	struct cct_sample *s;

	assert(t->sampled && sample->node > 0 && sample->node <= t->count);
	s = vec_add(&t->sample, &t->sample_room, &t->sample_count);
	*s = *sample;
	s->next = t->sampled[s->node].first;
	t->sampled[s->node].first = (uint32_t)t->sample_count;
}

const struct cct_sample *cct_sample_next(const struct cct *t, node_id id,
					 const struct cct_sample *s)
{
	const uint32_t next = s ? s->next :
			      t->sampled ? t->sampled[id].first : 0;

	return next ? &t->sample[next - 1] : NULL;
}

size_t cct_sample_count(const struct cct *t)
{
	return t->sample_count;
}

struct cct_sample *cct_sample_get(struct cct *t, size_t i)
{
	assert(i < t->sample_count);
	return &t->sample[i];
}

void cct_link_samples(struct cct *t)
{
	for (size_t id = 1; id <= t->count; id++)
		t->sampled[id].first = 0;
	for (size_t i = t->sample_count; i-- > 0; ) {
		struct cct_sample *const s = &t->sample[i];

		s->next = t->sampled[s->node].first;
		t->sampled[s->node].first = (uint32_t)i + 1;
	}
}

void cct_map_near(struct cct *t, size_t from, const node_id *map)
{
	for (size_t i = from; i < t->sample_count; i++)
		t->sample[i].near = map[t->sample[i].near];
}

void cct_join_samples(struct cct *t, node_id to, const struct cct *from,
		      node_id id, bool is_same)
{
	const uint64_t self = from->nodes[id].self;
	struct cct_sampled *const sum = &t->sampled[to];
	const struct cct_sample *s = NULL;

	sum->unsampled += unsampled_of(from, id);
	if (!from->sampled) {
		sum->raw += self;
		return;
	}
	sum->raw += from->is_net ? from->sampled[id].raw : self;
	sum->variance += from->sampled[id].variance;
	join_division(t, to, from, id, is_same);
	sum->own += from->sampled[id].own;
	sum->other += from->sampled[id].other;
	sum->probe += from->sampled[id].probe;
	while ((s = cct_sample_next(from, id, s))) {
		struct cct_sample copy = *s;

		copy.node = to;
		cct_add_sample(t, &copy);
	}
}

/* Nodes of the same tree: totals are sums of self. */
void cct_net_totals(const struct cct *t, uint64_t *raw, double *variance)
{
	for (size_t id = 0; id <= t->count; id++) {
		raw[id] = t->sampled[id].raw;
		variance[id] = t->sampled[id].variance;
	}
	for (size_t id = t->count; id > 0; id--) {
		const node_id parent = t->nodes[id].parent;

		if (!parent)
			continue;
		raw[parent] += raw[id];
		variance[parent] += variance[id];
	}
}
