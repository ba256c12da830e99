/* state.c - birth, re-use and end of the threads' states, and what a change of
 * the pool's generation means for one. SPDX-License-Identifier: MIT */
#include "tracer/host/state.h"
#include "tracer/host/alive.h"
#include "tracer/host/buffer.h"
#include "tracer/host/fiber.h"
#include "tracer/host/inside.h"
#include "tracer/host/interrupt.h"
#include "tracer/host/process.h"
#include "tracer/host/stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct pool *state_pool, *state_native;

/* Not its own address as long as the loader has not relocated this library: it
 * calls resolvers of IFUNC symbols of others, and these may call us. */
static void *volatile self = (void *)&self;
__thread struct state *state_mine __attribute__((tls_model("initial-exec")));

/* Set when the thread's state was given back: what its last destructors call is
 * counted, not recorded. */
static __thread int ended __attribute__((tls_model("initial-exec")));

/* The pool's generation at which this thread could get no state, 0: never: to
 * try at each call would cost several system calls every time. */
static __thread uint32_t refused __attribute__((tls_model("initial-exec")));

/* States of threads that have ended, to be used again: the address of the first
 * (less the zeros of its page) over a number that each change raises, so that a
 * list which only looks unchanged is not taken for it. Never unmapped. */
enum { PAGE_SHIFT = 12, TAG_BITS = 28 };
static _Atomic uint64_t free_states;

/* ---------------------------------------------------------------- slots */

static int take_slot(struct state *s, struct pool_thread *slot, uint32_t index)
{
	uint32_t expected = SLOT_FREE;

	if (atomic_load_explicit(&slot->state, memory_order_relaxed) !=
	    SLOT_FREE || !atomic_compare_exchange_strong(&slot->state,
						&expected, SLOT_BUSY))
		return 0;
	if (!alive_hold(&slot->alive)) {
		atomic_store(&slot->state, SLOT_FREE);
		return 0;
	}
	for (int i = 0; i < LOST_REASONS; i++)
		atomic_store(&slot->lost[i], 0);
	atomic_store(&slot->scrap, 0);
	s->thread_serial = atomic_fetch_add(&state_pool->next_thread, 1);
	slot->serial = s->thread_serial;
	slot->process = s->process_serial;
	slot->tid = s->tid;
	s->slot = slot;
	s->slot_index = index;
	atomic_store_explicit(&slot->state, SLOT_USED, memory_order_release);
	return 1;
}

static int claim_slot(struct state *s)
{
	const uint32_t slots = process_view.thread_slots;
	const uint32_t start = slots == 0 ? 0 :
		atomic_fetch_add(&state_pool->thread_hint, 1) % slots;

	for (uint32_t i = 0; i < slots; i++) {
		const uint32_t k = start + i < slots ? start + i :
				   start + i - slots;

		if (take_slot(s, &process_view.threads[k], k))
			return 1;
	}
	return 0;
}

/* ---------------------------------------------------------------- memory */

static struct state *first_of(uint64_t list)
{
	return (struct state *)(list >> TAG_BITS << PAGE_SHIFT);
}

static uint64_t list_of(const struct state *s, uint64_t before)
{
	return (uint64_t)s >> PAGE_SHIFT << TAG_BITS |
	       ((before + 1) & ((UINT64_C(1) << TAG_BITS) - 1));
}

static struct state *reuse(void)
{
	uint64_t list = atomic_load(&free_states);
	struct state *s, *rest;

	do {
		s = first_of(list);
		if (s == NULL)
			return NULL;
		/* Another's by now, perhaps: then the list has changed. */
		rest = __atomic_load_n(&s->free_next, __ATOMIC_RELAXED);
	} while (!atomic_compare_exchange_weak(&free_states, &list,
					       list_of(rest, list)));
	return s;
}

static void give_back(struct state *s)
{
	uint64_t list = atomic_load(&free_states);

	do {
		__atomic_store_n(&s->free_next, first_of(list),
				 __ATOMIC_RELAXED);
	} while (!atomic_compare_exchange_weak(&free_states, &list,
					       list_of(s, list)));
}

static struct state *map_state(void)
{
	struct state *const s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS |
				     MAP_NORESERVE, -1, 0);
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

static void find_stack(struct state *s)
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
uint64_t state_cpu(void)
{
	return process_confined ? 0 : clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Who this thread is, in a recording that has not heard of it. */
static int identify(struct state *s)
{
	s->tid = (uint32_t)syscall(SYS_gettid);
	s->process_serial = process_serial;
	memset(s->name, 0, sizeof(s->name));
	prctl(PR_GET_NAME, s->name);
	s->number = s->written = 0;
	s->cpu = state_cpu();
	if (s->below != NULL) {
		s->slot = s->below->slot;
		s->slot_index = s->below->slot_index;
		s->thread_serial = s->below->thread_serial;
		return 1;
	}
	return claim_slot(s);
}

static void count_unslotted(void)
{
	if (refused == 0)
		atomic_fetch_add(&state_pool->unslotted_threads, 1);
}

/* A table holds for as long as no module goes. One that was never used is left
 * alone: clearing it would take the memory for it. */
static void check_table(struct state *s)
{
	const uint32_t epoch = atomic_load(&process_module_epoch);

	if (s->module_epoch == epoch)
		return;
	memset(s->table, 0, sizeof(s->table));
	s->module_epoch = epoch;
}

static struct state *birth(struct state *below)
{
	struct state *s = reuse();

	if (s == NULL)
		s = map_state();
	if (s == NULL) {
		atomic_fetch_or(&process_slot->dropped, TROUBLE_NO_MEMORY);
		return NULL;
	}
	s->busy = 0;
	s->below = below;
	s->next = NULL;
	s->level = below == NULL ? 0 : below->level + 1;
	s->last = clock_now();
	s->resync = 0;
	s->frames[0] = (struct frame){ .sp = FRAME_LUA };
	if (!identify(s)) {
		count_unslotted();
		give_back(s);
		return NULL;
	}
	find_stack(s);
	stack_forget(s);
	s->base_unknown = 0;
	check_table(s);
	s->window = atomic_load(&state_pool->window);
	s->buffer = NO_BUFFER;
	s->n = 0;
	buffer_disown(s);
	return s;
}

/* ----------------------------------------------------------- generations */

/* The pool says that something changed: find out what concerns this state. */
static int catch_up(struct state *s, uint32_t generation)
{
	struct pool *const p = state_pool;
	const uint32_t window = atomic_load(&p->window);
	const int forked = s->generation == 0;

	check_table(s);
	if (forked) {
		buffer_disown(s);
		if (!identify(s)) {
			count_unslotted();
			return 0;
		}
		s->last = clock_now();
	}
	if (s->window != window) {
		buffer_close(s, CHUNK_LAST);
		stack_forget(s);
		s->last = clock_now();
		s->window = window;
		buffer_switch(s, 0);
	} else if (forked || buffer_is_scrap(s) ||
		   s->opened < atomic_load(&p->cut_before)) {
		buffer_switch(s, 0);
	}
	s->generation = generation;
	return 1;
}

/* Recording that begins in the middle of a thread's life (--paused, or a state
 * made after the window opened) cannot know what is open; a thread that the
 * recording saw from its first instruction on has nothing open. */
static int began_late(void)
{
	return atomic_load(&state_pool->window) > 0;
}

static struct state *begin(uint32_t generation, int late)
{
	struct state *const s = birth(NULL);

	if (s == NULL)
		return NULL;
	s->base_unknown = (uint32_t)late;
	s->generation = generation;
	buffer_switch(s, 0);
	state_mine = s;
	process_watch_thread();
	return s;
}

/* A handler that interrupted a hook forked: that hook will go on here, too, and
 * must find a state to finish with, which nobody sees. */
static struct state *begin_beside(struct state *old, uint32_t generation)
{
	struct state *const s = begin(generation, 1);

	if (s == NULL)
		return NULL;
	old->slot = s->slot;
	buffer_disown(old);
	old->published = (_Atomic uint32_t *)&old->scrap_head.records;
	return s;
}

static void settle_fiber(struct state *s)
{
	s->busy = (uint64_t)__builtin_frame_address(0);
	barrier();
	fiber_catch_up(s);
	state_end(s);
}

SLOW struct state *state_sync(struct state *s)
{
	const int saved = errno;
	uint32_t generation;

	if (!process_ready() || ended || inside_shut())
		return NULL;
	generation = atomic_load(&state_pool->generation);
	if (!(generation & POOL_ON) ||
	    (refused == generation && (s == NULL || s->generation == 0)))
		return NULL;
	if (s == NULL)
		s = begin(generation, began_late() || refused != 0);
	else if (s->busy == 0)
		s = catch_up(s, generation) ? s : NULL;
	else if (s->generation == 0)
		s = begin_beside(s, generation);
	/* else a hook at work here was interrupted: that comes first */
	if (s == NULL)
		refused = generation;
	else if (s->busy == 0 && s->level == 0 && fiber_is_missed(s))
		settle_fiber(s);
	errno = saved;
	return s;
}

SLOW struct pool *state_native_look(void)
{
	int saved;

	if (self != (void *)&self)
		return NULL;
	saved = errno;
	if (process_ready() && !atomic_load(&process_no_native)) {
		__atomic_store_n(&state_native, state_pool, __ATOMIC_SEQ_CST);
		/* weft_native may have said no meanwhile. */
		if (atomic_load(&process_no_native))
			__atomic_store_n(&state_native, NULL,
					 __ATOMIC_SEQ_CST);
	}
	errno = saved;
	return state_native;
}

SLOW void state_missed(void)
{
	if (ended && state_pool != NULL && !inside_shut() &&
	    atomic_load_explicit(&state_pool->generation,
				 memory_order_relaxed) & POOL_ON)
		atomic_fetch_add_explicit(&state_pool->late_calls, 1,
					  memory_order_relaxed);
}

/* ------------------------------------------------------------- levels */

static int in_alt(const struct state *s, uint64_t sp)
{
	return sp >= s->alt_low && sp < s->alt_high;
}

/* Left by a handler that jumped out over the hook it had interrupted: our frame
 * is not below that hook's, on the same stack. */
static int stale(const struct state *s, uint64_t sp)
{
	return s->busy <= sp && in_alt(s, sp) == in_alt(s, s->busy);
}

/* The hook that was at work here will not come back. What it did is half done by
 * one record at most: a new chunk, which carries the stack as it is, begins. */
static void abandon(struct state *s, uint64_t sp)
{
	if (s->moving) {
		/* Its stack may lie anywhere: this thread is not recorded
		 * any more. */
		state_mine = NULL;
		ended = 1;
		return;
	}
	s->busy = sp;
	barrier();
	s->resync = 1;
	buffer_switch(s, 0);
	barrier();
	s->busy = 0;
}

static void count_nested(struct state *s)
{
	atomic_fetch_add_explicit(&s->slot->lost[LOST_NESTED], 1,
				  memory_order_relaxed);
}

static struct state *level_above(struct state *s)
{
	struct state *const n = s->next;
	const uint32_t generation = atomic_load(&state_pool->generation);

	if (n == NULL) {
		struct state *const made = refused == generation ? NULL :
					   birth(s);

		if (made == NULL) {
			refused = generation;
			count_nested(s);
		} else {
			made->generation = generation;
			made->alt_low = s->alt_low;
			made->alt_high = s->alt_high;
			made->stack_high = s->stack_high;
			buffer_switch(made, 0);
			barrier();
			s->next = made;
		}
		return made;
	}
	if (n->busy == 0 && n->generation != generation &&
	    !catch_up(n, generation))
		return NULL;
	return n;
}

SLOW struct state *state_nested(struct state *s, uint64_t sp)
{
	const int saved = errno;

	if (BROKEN(busy))
		return s;
	while (s != NULL && s->busy != 0) {
		if (stale(s, sp)) {
			abandon(s, sp);
			s = state_mine == NULL ? NULL : s;
			break;
		}
		if (s->level + 1 >= LEVELS) {
			count_nested(s);
			s = NULL;
			break;
		}
		s = level_above(s);
	}
	if (s != NULL && s->level > 0) {
		s->busy = sp;
		barrier();
		interrupt_begin(s);
	}
	errno = saved;
	return s;
}

SLOW uint64_t state_clock_stepped(struct state *s)
{
	atomic_fetch_add_explicit(&s->slot->lost[LOST_CLOCK], 1,
				  memory_order_relaxed);
	return s->last;
}

/* ------------------------------------------------------------------ end */

void state_jumped(uint64_t target)
{
	const uint64_t here = (uint64_t)__builtin_frame_address(0);

	for (struct state *s = state_mine; s != NULL && state_mine != NULL;
	     s = s->next) {
		if (s->busy != 0 && s->busy < target && s->generation != 0 &&
		    in_alt(s, target) == in_alt(s, s->busy))
			abandon(s, here);
	}
}

void state_alt_stack(uint64_t low, uint64_t high)
{
	for (struct state *s = state_mine; s != NULL; s = s->next) {
		s->alt_low = low;
		s->alt_high = high;
	}
}

void state_thread_ends(void)
{
	struct state *s = state_mine;

	if (s == NULL || s->busy != 0)
		return;
	ended = 1;
	barrier();
	state_mine = NULL;
	barrier();
	while (s != NULL) {
		struct state *const next = s->next;

		if (s->generation != 0) {
			const uint64_t now = clock_now();

			if (s->level == 0 && (int64_t)(now - s->last) > 0) {
				buffer_put(s, rec_put_value(REC_TIME,
							    now - s->last));
				s->last = now;
			}
			buffer_close(s, CHUNK_LAST);
		}
		give_back(s);
		s = next;
	}
}
