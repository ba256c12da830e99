/* slots.c - births and deaths as the pool's slots tell of them. The kernel
 * marks the robust mutex of a thread that ends, however it ends.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/slots.h"
#include "tracer/recorder/follow.h"
#include "tracer/recorder/say.h"

#include <stdlib.h>
#include <string.h>

enum {
	GRACE_MS = 500,            /* for a new image to find the pool */
	RELIST = 3,                /* looks at all slots once a serial was
	                            * given out: a slot is taken later */
};

int slots_init(struct slots *s, struct arena *arena)
{
	memset(s, 0, sizeof(*s));
	s->arena = arena;
	s->used = calloc(arena->thread_slots, sizeof(*s->used));
	s->is_dead = calloc(arena->thread_slots, sizeof(*s->is_dead));
	s->gone_since = calloc(arena->process_slots, sizeof(*s->gone_since));
	s->process = calloc(arena->process_slots, sizeof(*s->process));
	s->watched = calloc(arena->thread_slots, sizeof(*s->watched));
	s->offcpu = offcpu_new(arena->thread_slots);
	return s->used && s->is_dead && s->gone_since && s->process &&
	       s->watched ? 0 : -1;
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

/* Has the same process registered again, after an exec? */
static bool has_new_image(const struct slots *s, const struct pool_process *old)
{
	for (uint32_t i = 0; i < s->arena->process_slots; i++) {
		const struct pool_process *p = &s->arena->processes[i];

		if (p != old && p->pid == old->pid &&
		    atomic_load(&p->state) == SLOT_USED &&
		    arena_owner_lives(&p->alive))
			return true;
	}
	return false;
}

static void add_up(struct slots *s, const struct pool_process *p)
{
	s->vms += atomic_load(&p->vms);
	s->coroutines += atomic_load(&p->coroutines);
	s->trouble |= atomic_load(&p->dropped);
}

/* The process goes on under a program that did not find the pool. */
static void tell_unrecorded(struct slots *s, uint32_t pid)
{
	char name[128];

	if (s->told_unrecorded || !follow_program((pid_t)pid, name,
						  sizeof(name)))
		return;
	s->told_unrecorded = true;
	say("process %u now runs \"%s\", which is not recorded (static, "
	    "set-user-id, or started with an emptied environment and closed "
	    "descriptors)", pid, name);
}

/* The thread that registered it has gone; is the process gone, too? */
static bool has_ended(struct slots *s, uint32_t i, uint64_t now_ms)
{
	const struct pool_process *p = &s->arena->processes[i];

	if (has_thread(s, p->serial))
		return false;
	if (has_new_image(s, p))
		return true;
	if (!follow_exists((pid_t)p->pid))
		return true;
	if (follow_maps((pid_t)p->pid, s->arena)) {
		s->gone_since[i] = 0;
		return false;
	}
	if (s->gone_since[i] == 0)
		s->gone_since[i] = now_ms;
	if (now_ms - s->gone_since[i] < GRACE_MS)
		return false;
	tell_unrecorded(s, p->pid);
	return true;
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
	s->gone_since[i] = 0;
	arena_remake_mutex(&p->alive);
	atomic_store_explicit(&p->state, SLOT_FREE, memory_order_release);
}

uint32_t slots_update_processes(struct slots *s, uint64_t now_ms)
{
	uint32_t live = 0, kept = 0;

	list_processes(s);
	for (uint32_t k = 0; k < s->process_n; k++) {
		const uint32_t i = s->process[k];
		const struct pool_process *const p = &s->arena->processes[i];

		s->process[kept++] = i;
		if (!arena_owner_died(&p->alive)) {
			/* Not locked yet: it may have died before it was. */
			live += arena_owner_lives(&p->alive);
			continue;
		}
		if (!has_ended(s, i, now_ms)) {
			live++;
			continue;
		}
		free_process(s, i);
		kept--;
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
