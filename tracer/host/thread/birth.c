/* birth.c - the memory that threads' states lie in, and what a new state is
 * told: who its thread is, where its stack lies, what the pool asks for.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/birth.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/module.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/shadow_stack.h"

#include <pthread.h>
#include <string.h>

/* ----------------------------------------------------------------- memory
 * States of threads that have ended are used again: the address of the first
 * (less the zeros of its page) over a number that each change raises, so that a
 * list which only looks unchanged is not taken for it. Never unmapped. */

enum { PAGE_SHIFT = 12, TAG_BITS = 28 };
static _Atomic uint64_t free_states;

static struct thread_state *first_of(uint64_t list)
{
	return (struct thread_state *)(list >> TAG_BITS << PAGE_SHIFT);
}

static uint64_t list_of(const struct thread_state *s, uint64_t before)
{
	return (uint64_t)s >> PAGE_SHIFT << TAG_BITS |
	       ((before + 1) & ((UINT64_C(1) << TAG_BITS) - 1));
}

static struct thread_state *reuse(void)
{
	uint64_t list = atomic_load(&free_states);
	struct thread_state *s, *rest;

	do {
		s = first_of(list);
		if (!s)
			return NULL;
		/* Another's by now, perhaps: then the list has changed. */
		rest = __atomic_load_n(&s->free_next, __ATOMIC_RELAXED);
	} while (!atomic_compare_exchange_weak(&free_states, &list,
					       list_of(rest, list)));
	return s;
}

void birth_give_back(struct thread_state *s)
{
	uint64_t list = atomic_load(&free_states);

	do {
		__atomic_store_n(&s->free_next, first_of(list),
				 __ATOMIC_RELAXED);
	} while (!atomic_compare_exchange_weak(&free_states, &list,
					       list_of(s, list)));
}

static struct thread_state *map_state(void)
{
	struct thread_state *const s = kernel_map(sizeof(*s));

	if (!s)
		return NULL;
	s->frames = kernel_map((FIRST_FRAMES + 1) * sizeof(struct frame));
	if (!s->frames) {
		kernel_unmap(s, sizeof(*s));
		return NULL;
	}
	/* Where that fails, children of fork do without (in_child). */
	kernel_wipe_on_fork(&s->generation, 4096);
	s->frame_limit = s->frames + FIRST_FRAMES;
	s->table_used[0] = 3; /* these two are not empty if they are zero */
	s->counted[0].under = s->counted[1].under = COUNTED_EMPTY;
	s->epoch = 1;
	s->module_epoch = atomic_load(&module_epoch);
	return s;
}

struct thread_state *birth_new(void)
{
	struct thread_state *s = reuse();

	if (!s)
		s = map_state();
	if (!s)
		atomic_fetch_or(&process_slot->dropped, TROUBLE_NO_MEMORY);
	return s;
}

/* ------------------------------------------------------------------ birth */

static bool claim_slot(struct thread_state *s)
{
	const uint32_t index = mapped_claim_thread();
	struct pool_thread *slot;

	if (index == NO_SLOT)
		return false;
	slot = &mapped_view.threads[index];
	for (int i = 0; i < LOST_REASONS; i++)
		atomic_store(&slot->lost[i], 0);
	atomic_store(&slot->scrap, 0);
	s->thread_serial = atomic_fetch_add(&mapped_pool->next_thread, 1);
	slot->serial = s->thread_serial;
	slot->process = s->process_serial;
	slot->tid = s->tid;
	s->slot = slot;
	s->slot_index = index;
	atomic_store_explicit(&slot->state, SLOT_USED, memory_order_release);
	return true;
}

bool birth_identify(struct thread_state *s, bool counts)
{
	s->tid = kernel_tid();
	s->process_serial = process_serial;
	memset(s->name, 0, sizeof(s->name));
	kernel_thread_name(s->name);
	s->number = s->written = 0;
	s->cpu = kernel_cpu();
	s->range = mapped_range;
	if (s->below) {
		s->slot = s->below->slot;
		s->slot_index = s->below->slot_index;
		s->thread_serial = s->below->thread_serial;
		return true;
	}
	if (claim_slot(s))
		return true;
	if (counts)
		atomic_fetch_add(&mapped_pool->unslotted_threads, 1);
	return false;
}

static void find_stack(struct thread_state *s)
{
	extern void *__libc_stack_end;

	/* The thread's control block lies at the upper end of its stack; the
	 * main thread's stack ends where the kernel put the arguments. */
	s->stack_high = s->tid == process_slot->pid ?
			(uint64_t)__libc_stack_end + 65536 :
			(uint64_t)pthread_self();
	kernel_signal_stack(&s->alt_low, &s->alt_high);
}

/* A table that was never used is left alone: clearing it would take the memory
 * for it. */
void birth_check_table(struct thread_state *s)
{
	const uint32_t epoch = atomic_load(&module_epoch);

	if (s->module_epoch == epoch)
		return;
	chunk_forget_names(s);
	chunk_forget_nodes(s);
	memory_clear(s->words, sizeof(s->words) / 8);
	s->module_epoch = epoch;
}

void birth_choose(struct thread_state *s)
{
	s->counts = mapped_pool->mode == POOL_COUNTS && !s->awaits;
	s->brief = s->level > 0 || s->counts ? 0 : mapped_pool->brief;
	s->max_depth = mapped_pool->max_depth != 0 ? mapped_pool->max_depth :
		       DEPTH_ANY;
	s->chooses = s->brief != 0 || s->max_depth != DEPTH_ANY ||
		     s->lua_top != 0;
}

bool birth_begin(struct thread_state *s, struct thread_state *below,
		 bool counts)
{
	s->busy = 0;
	s->below = below;
	s->next = NULL;
	s->level = !below ? 0 : below->level + 1;
	s->last = clock_now();
	s->resync = s->in_vain = false;
	s->lua_top = 0;
	birth_choose(s);
	s->lowest_depth = s->max_depth;
	s->frames[0] = (struct frame){ .flags = FRAME_LUA_SETTLED };
	if (!birth_identify(s, counts)) {
		birth_give_back(s);
		return false;
	}
	mapped_range_hold(s->range);
	find_stack(s);
	shadow_forget(s);
	s->base_unknown = false;
	birth_check_table(s);
	s->buffer = NO_BUFFER;
	chunk_disown(s);
	return true;
}
