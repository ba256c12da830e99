/* registry.c - births and deaths as the pool's slots tell of them. The kernel
 * marks the robust mutex of a thread that ends, however it ends.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/registry.h"

#include <stdlib.h>
#include <string.h>

enum {
	RELIST = 3,                /* looks at all slots once a serial was
	                            * given out: a slot is taken later */
};

int slots_init(struct slots *s, struct arena *arena)
{
	memset(s, 0, sizeof(*s));
	s->arena = arena;
	s->used = calloc(arena->thread_slots, sizeof(*s->used));
	s->is_dead = calloc(arena->thread_slots, sizeof(*s->is_dead));
	s->process = calloc(arena->process_slots, sizeof(*s->process));
	s->has_ended = calloc(arena->process_slots, sizeof(*s->has_ended));
	s->watched = calloc(arena->thread_slots, sizeof(*s->watched));
	s->offcpu = offcpu_new(arena->thread_slots);
	return s->used && s->is_dead && s->process && s->has_ended &&
	       s->watched &&
	       gone_init(&s->gone, arena) == 0 ? 0 : -1;
}

/* A new thread: let the kernel note when it does not run. */
static void watch(struct slots *s, uint32_t slot)
{
	const struct pool_thread *t = &s->arena->threads[slot];
	const uint32_t serial = t->serial;

	if (atomic_load(&t->state) != SLOT_USED || s->watched[slot] == serial)
		return;
	s->watched[slot] = serial;
	for (uint32_t i = 0; i < s->arena->process_slots; i++) {
		const struct pool_process *p = &s->arena->processes[i];

		if (p->serial == t->process &&
		    atomic_load(&p->state) == SLOT_USED) {
			offcpu_watch(s->offcpu, slot, p->pid, t->tid);
			return;
		}
	}
}

static void list_used(struct slots *s)
{
	s->used_n = 0;
	for (uint32_t i = 0; i < s->arena->thread_slots; i++) {
		if (atomic_load_explicit(&s->arena->threads[i].state,
					 memory_order_acquire) == SLOT_FREE)
			continue;
		s->used[s->used_n++] = i;
		watch(s, i);
	}
}

void slots_read_switches(struct slots *s)
{
	for (uint32_t i = 0; i < s->used_n; i++)
		offcpu_read(s->offcpu, s->used[i]);
}

uint32_t slots_find_dead(struct slots *s, bool all)
{
	const uint32_t born = atomic_load(&s->arena->pool->next_thread);

	if (all || born != s->seen_thread)
		s->relist = RELIST;
	s->seen_thread = born;
	if (s->relist > 0) {
		s->relist--;
		list_used(s);
	}
	for (uint32_t i = 0; i < s->used_n; i++) {
		const uint32_t k = s->used[i];

		if (s->is_dead[k] ||
		    !arena_owner_died(&s->arena->threads[k].alive))
			continue;
		s->is_dead[k] = 1;
		s->dead_n++;
	}
	return s->dead_n;
}

static void free_thread(struct slots *s, struct pool_thread *t)
{
	for (int i = 0; i < LOST_REASONS; i++)
		s->lost[i] += atomic_exchange(&t->lost[i], 0);
	s->lost[LOST_FULL] += atomic_exchange(&t->scrap, 0);
	arena_remake_mutex(&t->alive);
	atomic_store_explicit(&t->state, SLOT_FREE, memory_order_release);
}

void slots_free_dead(struct slots *s)
{
	uint32_t kept = 0;

	if (s->dead_n == 0)
		return;
	for (uint32_t i = 0; i < s->used_n; i++) {
		const uint32_t k = s->used[i];

		if (!s->is_dead[k]) {
			s->used[kept++] = k;
			continue;
		}
		s->is_dead[k] = 0;
		offcpu_gone(s->offcpu, k);
		free_thread(s, &s->arena->threads[k]);
	}
	s->used_n = kept;
	s->dead_n = 0;
}

static bool has_thread(const struct slots *s, uint32_t process)
{
	for (uint32_t i = 0; i < s->used_n; i++) {
		const struct pool_thread *t = &s->arena->threads[s->used[i]];

		if (t->process == process && arena_owner_lives(&t->alive))
			return true;
	}
	return false;
}

static void add_up(struct slots *s, const struct pool_process *p)
{
	s->vms += atomic_load(&p->vms);
	s->coroutines += atomic_load(&p->coroutines);
	s->trouble |= atomic_load(&p->dropped);
	silent_note(&s->ran, p);
}

/* The thread that registered it has gone; is the process gone, too? */
static bool has_ended(struct slots *s, uint32_t i, uint64_t now_ms)
{
	return !has_thread(s, s->arena->processes[i].serial) &&
	       gone_ended(&s->gone, i, now_ms);
}

static void list_processes(struct slots *s)
{
	const uint32_t born = atomic_load(&s->arena->pool->next_process);

	if (born != s->seen_process)
		s->process_relist = RELIST;
	s->seen_process = born;
	if (s->process_relist == 0)
		return;
	s->process_relist--;
	s->process_n = 0;
	for (uint32_t i = 0; i < s->arena->process_slots; i++) {
		if (atomic_load_explicit(&s->arena->processes[i].state,
					 memory_order_acquire) != SLOT_FREE)
			s->process[s->process_n++] = i;
	}
}

static void free_process(struct slots *s, uint32_t i)
{
	struct pool_process *const p = &s->arena->processes[i];

	add_up(s, p);
	gone_forget(&s->gone, i);
	arena_remake_mutex(&p->alive);
	atomic_store_explicit(&p->state, SLOT_FREE, memory_order_release);
}

void slots_look_at_gone(struct slots *s)
{
	if (atomic_load(&s->arena->pool->next_process) != s->seen_process)
		list_processes(s);
	for (uint32_t k = 0; k < s->process_n; k++) {
		const uint32_t i = s->process[k];

		if (arena_owner_died(&s->arena->processes[i].alive))
			gone_look(&s->gone, i);
	}
}

/* Judge all before any is freed: a new image tells that its old one ended. */
uint32_t slots_update_processes(struct slots *s, uint64_t now_ms)
{
	uint32_t live = 0, kept = 0;

	list_processes(s);
	for (uint32_t k = 0; k < s->process_n; k++) {
		const uint32_t i = s->process[k];
		const struct pool_process *const p = &s->arena->processes[i];

		/* Not locked yet: it may have died before it was. */
		s->has_ended[k] = arena_owner_died(&p->alive) &&
				  has_ended(s, i, now_ms);
		live += arena_owner_lives(&p->alive) ||
			(arena_owner_died(&p->alive) && !s->has_ended[k]);
	}
	for (uint32_t k = 0; k < s->process_n; k++) {
		if (s->has_ended[k])
			free_process(s, s->process[k]);
		else
			s->process[kept++] = s->process[k];
	}
	s->process_n = kept;
	s->live_processes = live;
	return live;
}

void slots_sum_lost(const struct slots *s, uint64_t lost[LOST_REASONS])
{
	memcpy(lost, s->lost, sizeof(s->lost));
	for (uint32_t i = 0; i < s->arena->thread_slots; i++) {
		const struct pool_thread *t = &s->arena->threads[i];

		if (atomic_load(&t->state) == SLOT_FREE)
			continue;
		for (int k = 0; k < LOST_REASONS; k++)
			lost[k] += atomic_load(&t->lost[k]);
		lost[LOST_FULL] += atomic_load(&t->scrap);
	}
}

void slots_sum_processes(struct slots *s)
{
	for (uint32_t i = 0; i < s->arena->process_slots; i++) {
		const struct pool_process *p = &s->arena->processes[i];

		if (atomic_load(&p->state) != SLOT_FREE)
			add_up(s, p);
	}
}
