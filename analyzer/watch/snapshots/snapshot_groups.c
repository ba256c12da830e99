/* snapshot_groups.c - a hash map from stacks to how many there are, for one
 * moment at a time.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/snapshots/snapshots.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <string.h>

/* Stacks that are equal. order: how many groups came before it. */
struct group {
	struct snapshot_stack stack; /* frames are its own */
	uint64_t count;
	size_t order;
};

struct snapshot_groups {
	snapshot_groups_fn fn;
	void *ctx;
	struct group *groups;
	size_t count, room, moment;
	struct map *known;       /* (hash, probe) to group + 1 */
};

struct snapshot_groups *snapshot_groups_new(snapshot_groups_fn fn, void *ctx)
{
	struct snapshot_groups *const f = mem_alloc(sizeof(*f));

	f->fn = fn;
	f->ctx = ctx;
	f->known = map_new();
	return f;
}

/* From the fields that is_equal compares. Equal hashes of different stacks are
 * told apart by is_equal. */
static uint64_t hash(const struct snapshot_stack *s)
{
	uint64_t h = (uint64_t)s->state << 1 | (uint64_t)s->is_thread;

	for (size_t i = 0; i < s->count; i++) {
		const struct snapshot_frame *const f = &s->frames[i];

		h ^= (uint64_t)(f->func + f->omitted) << 20 ^
		     (uint64_t)f->level << 16 ^ f->flags;
		h *= UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}

/* Whose stack it is, and since when, does not matter. */
static bool is_equal(const struct snapshot_stack *a,
		    const struct snapshot_stack *b)
{
	if (a->state != b->state || a->is_thread != b->is_thread ||
	    a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->frames[i].func != b->frames[i].func ||
		    a->frames[i].omitted != b->frames[i].omitted ||
		    a->frames[i].flags != b->frames[i].flags ||
		    a->frames[i].level != b->frames[i].level)
			return false;
	return true;
}

/* By falling count, then as they came. */
ORDER_BY(compare, struct group, DOWN(count) ?: UP(order))

/* Give the groups of the moment to the caller, and forget them. */
static void flush(struct snapshot_groups *f)
{
	order_sort(f->groups, f->count, compare);
	for (size_t i = 0; i < f->count; i++) {
		f->fn(f->ctx, &f->groups[i].stack, f->groups[i].count);
		mem_free((void *)(uintptr_t)f->groups[i].stack.frames);
	}
	f->count = 0;
	map_clear(f->known);
}

/* The first stack of its kind at this moment. */
static void add_group(struct snapshot_groups *f, const struct snapshot_stack *s)
{
	struct snapshot_frame *const frames =
		mem_alloc((s->count + 1) * sizeof(*frames));

	if (s->count > 0)
		memcpy(frames, s->frames, s->count * sizeof(*frames));
	vec_need(&f->groups, &f->room, f->count + 1);
	f->groups[f->count] = (struct group){ *s, 1, f->count };
	f->groups[f->count++].stack.frames = frames;
}

void snapshot_groups_add(struct snapshot_groups *f,
			 const struct snapshot_stack *s)
{
	const uint64_t h = hash(s);

	if (s->moment != f->moment)
		flush(f);
	f->moment = s->moment;
	for (uint64_t probe = 0;; probe++) {
		uint32_t *const id = map_put(f->known, h, probe);

		if (*id == 0) {
			add_group(f, s);
			*id = (uint32_t)f->count;
			return;
		}
		if (is_equal(&f->groups[*id - 1].stack, s)) {
			f->groups[*id - 1].count++;
			return;
		}
	}
}

void snapshot_groups_finish(struct snapshot_groups *f)
{
	flush(f);
	mem_free(f->groups);
	map_free(f->known);
	mem_free(f);
}
