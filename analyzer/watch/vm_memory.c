/* vm_memory.c - readings, and sums of each state's.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/vm_memory.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

void vm_memory_init(struct vm_memory *m)
{
	*m = (struct vm_memory){ .count = 0 };
}

void vm_memory_fini(struct vm_memory *m)
{
	mem_free_all(m->readings, m->cycles);
}

/* Older traces do not say when a state was read: when the chunk began, or
 * later. */
static void on_chunk(void *ctx, const struct replay_event *e,
		     const struct chunk *chunk)
{
	struct vm_memory *const m = ctx;
	struct chunk_item item = { 0 };
	struct chunk_vm vm;

	while (decode_next_item(chunk, &item)) {
		if (item.type != ITEM_VM)
			continue;
		decode_vm(&item, &vm);
		if (vm.bytes > 0)
			*vec_add(&m->readings, &m->room, &m->count) =
				(struct vm_reading){ e->process, vm.serial,
						     MAX(vm.read, e->tick),
						     vm.bytes };
	}
}

static void on_collected(void *ctx, const struct replay_event *e)
{
	struct vm_memory *const m = ctx;

	*vec_add(&m->cycles, &m->cycle_room, &m->cycle_count) =
		(struct vm_cycle){ e->process, e->vm, e->tick };
}

const struct replay_sink vm_memory_sink = {
	.chunk_begin = on_chunk, .collected = on_collected
};

ORDER_BY(by_time, struct vm_reading, UP(process) ?: UP(vm) ?: UP(at) ?:
	 UP(bytes))

ORDER_BY(by_bytes, struct vm_row, DOWN(bytes) ?: DOWN(cycles) ?: UP(vm))

/* Of a sawtooth, as a collector makes one, the lowest point is looked at.
 * third: 0 to 2. */
static void add(struct vm_row *to, const struct vm_reading *r, ticks first,
		int third)
{
	uint64_t *const least = third == 1 ? NULL : &to->least[third / 2];
	const ticks at = r->at > first ? r->at - first : 0;
	const uint64_t more = to->readings > 0 && r->bytes > to->bytes ?
			      r->bytes - to->bytes : 0;

	if (least && (*least == 0 || r->bytes < *least))
		*least = r->bytes;
	to->readings++;
	if (more > to->jump) {
		to->jump = more;
		to->jump_at = at;
	}
	if (r->bytes > to->most) {
		to->most = r->bytes;
		to->most_at = at;
	}
	to->bytes = r->bytes;
	to->at = at;
}

struct vm_row *vm_memory_rows(struct vm_memory *m, const struct session *s,
			      ticks from, ticks to, size_t *count)
{
	struct vm_row *const rows = mem_alloc((s->vm_count + 1) *
					      sizeof(*rows));
	struct map *const vm_of = map_new();
	const ticks first = session_first_tick(s), begin = MAX(from, first);
	const ticks last = session_last_tick(s),
		    third = (MAX(MIN(to, last), begin) - begin) / 3;
	size_t n = 0;

	for (uint32_t i = 0; i < s->vm_count; i++) {
		*map_put(vm_of, s->vms[i].process, s->vms[i].serial) = i + 1;
		rows[i].vm = i;
	}
	order_sort(m->readings, m->count, by_time);
	for (size_t i = 0; i < m->count; i++) {
		struct vm_reading *const r = &m->readings[i];
		const uint32_t vm = map_find(vm_of, r->process, r->vm);

		r->at = MIN(r->at, last); /* or the trace is damaged */
		if (vm && r->at >= from && r->at < to)
			add(&rows[vm - 1], r, first, (r->at >= begin + third) +
			    (r->at >= begin + 2 * third));
	}
	for (size_t i = 0; i < m->cycle_count; i++) {
		const struct vm_cycle *const c = &m->cycles[i];
		const uint32_t vm = map_find(vm_of, c->process, c->vm);

		if (vm && c->at >= from && c->at < to)
			rows[vm - 1].cycles++;
	}
	for (size_t i = 0; i < s->vm_count; i++)
		if (rows[i].readings + rows[i].cycles > 0)
			rows[n++] = rows[i];
	order_sort(rows, n, by_bytes);
	map_free(vm_of);
	*count = n;
	return rows;
}
