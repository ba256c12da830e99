/* registry.c - births and deaths by the pool's slots. The kernel marks the
 * robust mutex of a thread that ends, in whatever way it ends.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/process/registry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A slot is taken some time after its serial was given out: all thread slots
 * are listed so often after that. */
enum { RELIST = 3 };

int registry_init(struct registry *r, struct pool_owner *owner,
		  const struct rate *rate)
{
	memset(r, 0, sizeof(*r));
	r->owner = owner;
	r->used = calloc(owner->thread_slots, sizeof(*r->used));
	r->is_dead = calloc(owner->thread_slots, sizeof(*r->is_dead));
	r->watched = calloc(owner->thread_slots, sizeof(*r->watched));
	r->heard = calloc(owner->thread_slots, sizeof(*r->heard));
	r->has_ended = calloc(owner->process_slots, sizeof(*r->has_ended));
	r->cpu = cpu_watch_new(owner->thread_slots, rate);
	return r->used && r->is_dead && r->watched && r->heard &&
	       r->has_ended && process_watch_init(&r->watch, owner) == 0 ?
	       0 : -1;
}

bool registry_valid(const struct registry *r)
{
	uint32_t dead = 0;

	if (r->used_n > r->owner->thread_slots)
		return false;
	for (uint32_t i = 0; i < r->used_n; i++) {
		if (r->used[i] >= r->owner->thread_slots ||
		    (i > 0 && r->used[i] <= r->used[i - 1]))
			return false;
		dead += r->is_dead[r->used[i]];
	}
	return dead == r->dead_n;
}

/* Called between the steps below, in the checked build. */
static void check_valid(const struct registry *r)
{
#ifdef WEFT_CHECKED
	assert(registry_valid(r));
#else
	(void)r;
#endif
}

/* ---- threads ---- */

/* Have the kernel note when a new thread runs, and where. */
static void watch_thread(struct registry *r, uint32_t slot)
{
	const struct pool_thread *t = &r->owner->threads[slot];
	const uint32_t serial = t->serial;

	if (atomic_load(&t->state) != SLOT_USED || r->watched[slot] == serial)
		return;
	r->watched[slot] = serial;
	for (uint32_t i = 0; i < r->owner->process_slots; i++) {
		const struct pool_process *p = &r->owner->processes[i];

		if (p->serial == t->process &&
		    atomic_load(&p->state) == SLOT_USED) {
			cpu_watch_begin(r->cpu, slot, i, p->pid, t->tid);
			break;
		}
	}
	/* It may have died meanwhile, and its slot be free. */
	if (atomic_load(&t->state) != SLOT_USED || t->serial != serial)
		cpu_watch_end(r->cpu, slot);
}

bool registry_watch_new(struct registry *r)
{
	if (!r->has_new)
		return false;
	r->has_new = false;
	for (uint32_t i = 0; i < r->used_n; i++)
		watch_thread(r, r->used[i]);
	return true;
}

/* The dead stay listed, even if their slot was overwritten with anything. */
static void list_threads(struct registry *r)
{
	r->used_n = 0;
	for (uint32_t i = 0; i < r->owner->thread_slots; i++) {
		if (!r->is_dead[i] &&
		    atomic_load_explicit(&r->owner->threads[i].state,
					 memory_order_acquire) == SLOT_FREE)
			continue;
		r->used[r->used_n++] = i;
	}
	r->has_new = true;
}

void registry_read_rings(struct registry *r)
{
	for (uint32_t i = 0; i < r->used_n; i++) {
		cpu_watch_read(r->cpu, r->used[i]);
		if (!r->is_dead[r->used[i]])
			cpu_watch_make_room(r->cpu, r->used[i]);
	}
}

/* Of programs that were attached, or anywhere under an emulator: the kernel
 * does not tell of their ends. */
static void look_for_ends(struct registry *r)
{
	for (uint32_t i = 0; i < r->used_n; i++)
		pool_mutex_look(&r->owner->threads[r->used[i]].alive);
}

uint32_t registry_find_dead(struct registry *r, bool all)
{
	const uint32_t born = atomic_load(&r->owner->pool->next_thread);

	if (all || born != r->seen_thread)
		r->relist = RELIST;
	r->seen_thread = born;
	if (r->relist > 0) {
		r->relist--;
		list_threads(r);
	}
	if (all && r->owner->looks)
		look_for_ends(r);
	for (uint32_t i = 0; i < r->used_n; i++) {
		const uint32_t k = r->used[i];

		if (r->is_dead[k] ||
		    !pool_mutex_died(&r->owner->threads[k].alive))
			continue;
		r->is_dead[k] = true;
		r->dead_n++;
	}
	check_valid(r);
	return r->dead_n;
}

static bool is_unheard(const struct registry *r, uint32_t slot)
{
	const struct pool_thread *const t = &r->owner->threads[slot];

	return r->heard[slot] != t->serial &&
	       (atomic_load(&t->lost[LOST_FULL]) > 0 ||
		atomic_load(&t->scrap) > 0);
}

/* Its counts are taken over: the slot's next thread begins with 0. */
static void free_thread(struct registry *r, uint32_t slot)
{
	struct pool_thread *const t = &r->owner->threads[slot];

	r->unheard += is_unheard(r, slot);
	for (int i = 0; i < LOST_REASONS; i++)
		r->lost[i] += atomic_exchange(&t->lost[i], 0);
	r->lost[LOST_FULL] += atomic_exchange(&t->scrap, 0);
	pool_mutex_renew(&t->alive);
	atomic_store_explicit(&t->state, SLOT_FREE, memory_order_release);
}

void registry_free_dead(struct registry *r)
{
	uint32_t kept = 0;

	if (r->dead_n == 0)
		return;
	for (uint32_t i = 0; i < r->used_n; i++) {
		const uint32_t k = r->used[i];

		if (!r->is_dead[k]) {
			r->used[kept++] = k;
			continue;
		}
		r->is_dead[k] = false;
		cpu_watch_end(r->cpu, k);
		free_thread(r, k);
	}
	r->used_n = kept;
	r->dead_n = 0;
	check_valid(r);
}

void registry_sum_lost(const struct registry *r, uint64_t lost[LOST_REASONS])
{
	memcpy(lost, r->lost, sizeof(r->lost));
	for (uint32_t i = 0; i < r->owner->thread_slots; i++) {
		const struct pool_thread *t = &r->owner->threads[i];

		if (atomic_load(&t->state) == SLOT_FREE)
			continue;
		for (int k = 0; k < LOST_REASONS; k++)
			lost[k] += atomic_load(&t->lost[k]);
		lost[LOST_FULL] += atomic_load(&t->scrap);
	}
}

uint64_t registry_count_unheard(const struct registry *r)
{
	uint64_t n = r->unheard;

	for (uint32_t i = 0; i < r->owner->thread_slots; i++)
		n += atomic_load(&r->owner->threads[i].state) != SLOT_FREE &&
		     is_unheard(r, i);
	return n;
}

void registry_hear(struct registry *r, uint32_t slot)
{
	if (slot < r->owner->thread_slots)
		r->heard[slot] = r->owner->threads[slot].serial;
}

/* ---- processes ---- */

static bool has_living_thread(const struct registry *r, uint32_t process)
{
	for (uint32_t i = 0; i < r->used_n; i++) {
		const struct pool_thread *t = &r->owner->threads[r->used[i]];

		if (t->process == process && pool_mutex_held(&t->alive))
			return true;
	}
	return false;
}

/* The thread that registered the process in slot i has died. Whether the
 * process has ended, too. */
static bool has_ended(struct registry *r, uint32_t i, uint64_t now_ms)
{
	return !has_living_thread(r, r->owner->processes[i].serial) &&
	       process_watch_ended(&r->watch, i, now_ms);
}

/* A process takes the first free slot: all slots in use are below this. */
static uint32_t slots_end(const struct registry *r)
{
	const uint32_t next = atomic_load(&r->owner->pool->next_process);

	return next < r->owner->process_slots ? next : r->owner->process_slots;
}

static bool is_used(const struct registry *r, uint32_t i)
{
	return atomic_load_explicit(&r->owner->processes[i].state,
				    memory_order_acquire) != SLOT_FREE;
}

/* Keep what the slot tells, before it is freed. */
static void add_up(struct registry *r, const struct pool_process *p)
{
	r->trouble |= atomic_load(&p->dropped);
	seen_programs_note(&r->seen, p);
}

static void free_process(struct registry *r, uint32_t i)
{
	struct pool_process *const p = &r->owner->processes[i];

	add_up(r, p);
	process_watch_forget(&r->watch, i);
	pool_mutex_renew(&p->alive);
	atomic_store_explicit(&p->state, SLOT_FREE, memory_order_release);
}

/* All are judged before any is freed, because a new image shows that the old
 * one of its process has ended. */
uint32_t registry_update_processes(struct registry *r, uint64_t now_ms)
{
	const uint32_t end = slots_end(r);

	r->live_processes = 0;
	for (uint32_t i = 0; i < end; i++) {
		pthread_mutex_t *const m = &r->owner->processes[i].alive;

		if (r->owner->looks && is_used(r, i))
			pool_mutex_look(m);
		const bool is_dead = is_used(r, i) && pool_mutex_died(m);

		r->has_ended[i] = is_dead && has_ended(r, i, now_ms);
		/* A mutex that is not locked counts as nothing: the process may
		 * have died before it could lock it. */
		if (is_dead ? !r->has_ended[i] :
		    is_used(r, i) && pool_mutex_held(m))
			r->live_processes++;
	}
	for (uint32_t i = 0; i < end; i++)
		if (r->has_ended[i])
			free_process(r, i);
	check_valid(r);
	return r->live_processes;
}

bool registry_sees_process(const struct registry *r)
{
	for (uint32_t i = 0; i < slots_end(r); i++)
		if (is_used(r, i) && process_watch_lives(&r->watch, i))
			return true;
	return false;
}

void registry_sum_processes(struct registry *r)
{
	for (uint32_t i = 0; i < slots_end(r); i++)
		if (is_used(r, i))
			add_up(r, &r->owner->processes[i]);
}
