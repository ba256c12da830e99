/* thread_birth.c - threads' states: made, told who they are, used again.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/thread_birth.h"
#include "tracer/host/pool/liveness.h"
#include "tracer/host/thread/chunk.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/shadow_stack.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* States of threads that have ended, to be used again: the address of the first
 * (less the zeros of its page) over a number that each change raises, so that a
 * list which only looks unchanged is not taken for it. Never unmapped. */
enum { PAGE_SHIFT = 12, TAG_BITS = 28 };
static _Atomic uint64_t free_states;

/* ---------------------------------------------------------------- slots */

static int take_slot(struct thread_state *s, struct pool_thread *slot,
		     uint32_t index)
{
	uint32_t expected = SLOT_FREE;

	if (atomic_load_explicit(&slot->state, memory_order_relaxed) !=
	    SLOT_FREE || !atomic_compare_exchange_strong(&slot->state,
						&expected, SLOT_BUSY))
		return 0;
	if (!liveness_hold(&slot->alive)) {
		atomic_store(&slot->state, SLOT_FREE);
		return 0;
	}
	for (int i = 0; i < LOST_REASONS; i++)
		atomic_store(&slot->lost[i], 0);
	atomic_store(&slot->scrap, 0);
	s->thread_serial = atomic_fetch_add(&process_pool->next_thread, 1);
	slot->serial = s->thread_serial;
	slot->process = s->process_serial;
	slot->tid = s->tid;
	s->slot = slot;
	s->slot_index = index;
	atomic_store_explicit(&slot->state, SLOT_USED, memory_order_release);
	return 1;
}

static int claim_slot(struct thread_state *s)
{
	const uint32_t slots = process_view.thread_slots;
	const uint32_t start =
		slots == 0 ? 0
			   : atomic_fetch_add(&process_pool->thread_hint, 1) %
				     slots;

	for (uint32_t i = 0; i < slots; i++) {
		const uint32_t k = start + i < slots ? start + i :
				   start + i - slots;

		if (take_slot(s, &process_view.threads[k], k))
			return 1;
	}
	return 0;
}

/* ---------------------------------------------------------------- memory */

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

void thread_give_back(struct thread_state *s)
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
	struct thread_state *const s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const size_t room = (FIRST_FRAMES + 1) * sizeof(struct frame);

	if (s == MAP_FAILED)
		return NULL;
	s->frames = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->frames == MAP_FAILED ||
	    madvise(s, 4096, MADV_WIPEONFORK) != 0) {
		munmap(s, sizeof(*s));
		return NULL;
	}
	s->frame_limit = s->frames + FIRST_FRAMES;
	s->epoch = 1;
	s->module_epoch = atomic_load(&process_module_epoch);
	return s;
}

/* ---------------------------------------------------------------- birth */

static void find_stack(struct thread_state *s)
{
	extern void *__libc_stack_end;
	stack_t alt;

	/* The thread's control block lies at the upper end of its stack; the
	 * main thread's stack ends where the kernel put the arguments. */
	s->stack_high = s->tid == (uint32_t)getpid() ?
			(uint64_t)__libc_stack_end + 65536 :
			(uint64_t)pthread_self();
	s->alt_low = s->alt_high = 0;
	if (syscall(SYS_sigaltstack, NULL, &alt) == 0 &&
	    !(alt.ss_flags & SS_DISABLE)) {
		s->alt_low = (uint64_t)alt.ss_sp;
		s->alt_high = s->alt_low + alt.ss_size;
	}
}

/* Other clocks are read without a system call. */
uint64_t thread_cpu(void)
{
	return process_confined ? 0 : clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Who this thread is, in a recording that has not heard of it. */
int thread_identify(struct thread_state *s)
{
	s->tid = (uint32_t)syscall(SYS_gettid);
	s->process_serial = process_serial;
	memset(s->name, 0, sizeof(s->name));
	prctl(PR_GET_NAME, s->name);
	s->number = s->written = 0;
	s->cpu = thread_cpu();
	if (s->below) {
		s->slot = s->below->slot;
		s->slot_index = s->below->slot_index;
		s->thread_serial = s->below->thread_serial;
		return 1;
	}
	return claim_slot(s);
}

void thread_count_unslotted(void)
{
	if (thread_refused == 0)
		atomic_fetch_add(&process_pool->unslotted_threads, 1);
}

/* A table holds for as long as no module goes. One that was never used is left
 * alone: clearing it would take the memory for it. */
void thread_check_table(struct thread_state *s)
{
	const uint32_t epoch = atomic_load(&process_module_epoch);

	if (s->module_epoch == epoch)
		return;
	memset(s->table, 0, sizeof(s->table));
	s->module_epoch = epoch;
}

struct thread_state *thread_birth(struct thread_state *below)
{
	struct thread_state *s = reuse();

	if (!s)
		s = map_state();
	if (!s) {
		atomic_fetch_or(&process_slot->dropped, TROUBLE_NO_MEMORY);
		return NULL;
	}
	s->busy = 0;
	s->below = below;
	s->next = NULL;
	s->level = !below ? 0 : below->level + 1;
	s->last = clock_now();
	s->resync = 0;
	s->frames[0] = (struct frame){ .flags = FRAME_LUA_SETTLED };
	if (!thread_identify(s)) {
		thread_count_unslotted();
		thread_give_back(s);
		return NULL;
	}
	find_stack(s);
	shadow_forget(s);
	s->base_unknown = 0;
	thread_check_table(s);
	s->window = atomic_load(&process_pool->window);
	s->buffer = NO_BUFFER;
	s->n = 0;
	chunk_disown(s);
	return s;
}
