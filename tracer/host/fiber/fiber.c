/* fiber.c - fibers as objects, and what a switch between them means.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/fiber/fiber_stack.h"
#include "tracer/host/thread/region.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/pool/process.h"

#include <errno.h>

THREAD_LOCAL struct fiber *fiber_now;

/* Chosen calls (inside.h) that the thread's own stack is in. */
static THREAD_LOCAL uint32_t own_inside;

static _Atomic int told_by;

int fiber_counts(enum fiber_by who)
{
	int now = atomic_load_explicit(&told_by, memory_order_relaxed);

	while (now < (int)who &&
	       !atomic_compare_exchange_weak(&told_by, &now, (int)who))
		;
	return now <= (int)who;
}

/* ---------------------------------------------------------------- objects */

/* Blocks are made, never given back; a bit of taken is an object in use. */
struct block {
	struct block *next;
	_Atomic uint64_t taken;
	struct fiber fiber[64];
};

static struct block *_Atomic blocks, *_Atomic roomy;

static struct fiber *take_from(struct block *b)
{
	uint64_t taken = atomic_load(&b->taken);

	while (taken != UINT64_MAX) {
		const int i = __builtin_ctzll(~taken);

		if (atomic_compare_exchange_weak(&b->taken, &taken, taken |
						 UINT64_C(1) << i))
			return &b->fiber[i];
	}
	return NULL;
}

static struct block *add_block(void)
{
	struct block *const b = memory_get(sizeof(*b));

	if (!b)
		return NULL;
	b->next = atomic_load(&blocks);
	while (!atomic_compare_exchange_weak(&blocks, &b->next, b))
		;
	return b;
}

struct fiber *fiber_new(void)
{
	struct block *b = atomic_load(&roomy);
	struct fiber *f = !b ? NULL : take_from(b);

	for (b = atomic_load(&blocks); !f && b != NULL; b = b->next) {
		f = take_from(b);
		if (f)
			atomic_store(&roomy, b);
	}
	if (!f) {
		b = add_block();
		f = !b ? NULL : take_from(b);
		if (f)
			atomic_store(&roomy, b);
	}
	if (!f)
		return NULL;
	fiber_renew(f);
	f->low = f->high = 0;
	f->magic = FIBER_MAGIC;
	return f;
}

void fiber_free(struct fiber *f)
{
	for (struct block *b = atomic_load(&blocks); b != NULL; b = b->next) {
		if (f < b->fiber || f >= b->fiber + 64)
			continue;
		f->magic = 0;
		atomic_fetch_and(&b->taken, ~(UINT64_C(1) << (f - b->fiber)));
		return;
	}
}

void fiber_renew(struct fiber *f)
{
	f->serial = 0;
	f->ran = f->unknown = 0;
	f->vm = 0;
	f->window = UINT32_MAX;
	f->part_count = 0;
	f->too_deep = 0;
	f->inside = 0;
}

/* ----------------------------------------------------- known by their stack */

static struct pointer_map by_stack;

static bool is_at(const void *fiber, const void *low)
{
	return ((const struct fiber *)fiber)->low == *(const uint64_t *)low;
}

struct fiber *fiber_find_at(uint64_t low)
{
	return pointer_map_find(&by_stack, low, is_at, &low);
}

struct fiber *fiber_at(uint64_t low)
{
	struct fiber *f = fiber_find_at(low), *there;

	if (f)
		return f;
	f = fiber_new();
	if (!f)
		return NULL;
	f->low = low;
	there = pointer_map_add(&by_stack, low, is_at, &low, f);
	if (there != f)
		fiber_free(f);
	return there;
}

/* --------------------------------------------------------------- switching */

void fiber_create(struct fiber *f, uint64_t sp)
{
	const int saved = errno;
	struct thread_state *const s = thread_acquire(sp);

	if (s) {
		fiber_stack_create(s, f, thread_clock(s));
		thread_release(s);
	}
	errno = saved;
}

static void count_missed(const struct thread_state *s)
{
	atomic_fetch_add_explicit(&s->slot->lost[LOST_SWITCH], 1,
				  memory_order_relaxed);
}

static void leave(struct fiber *from, int ends, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);
	uint64_t now;

	if (from && ends)
		fiber_renew(from);
	if (!s) {
		if (from)
			from->window = UINT32_MAX;
		return;
	}
	now = thread_clock(s);
	if (s->level > 0)
		count_missed(s); /* a handler interrupted a hook */
	else if (s->fiber != 0 && ends)
		fiber_stack_end(s, SUSPEND_RETURN, now);
	else if (s->fiber != 0)
		fiber_stack_detach(s, from, now);
	s->fiber_left = sp;
	fiber_now = NULL; /* what handlers see from here on is consistent */
	thread_release(s);
}

static void arrive(struct fiber *to, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);

	if (s && s->level == 0 && s->fiber == 0)
		fiber_stack_attach(s, to, 0, sp, thread_clock(s));
	to->ran = 1;
	fiber_now = to;
	if (s)
		thread_release(s);
}

void fiber_switch(struct fiber *to, int ends, uint64_t sp)
{
	struct fiber *const from = fiber_now;
	const int saved = errno;
	uint32_t depth;

	if (from == to && !ends)
		return;
	leave(from, ends, sp);
	if (!from)
		own_inside = region_depth;
	else if (!ends)
		from->inside = region_depth;
	fiber_now = NULL;
	depth = !to ? own_inside : to->inside;
	if (depth != region_depth)
		region_set(depth, sp);
	if (to)
		arrive(to, sp);
	errno = saved;
}

/* Recording was off, or this thread shut out, when it switched. */
SLOW void fiber_catch_up(struct thread_state *s)
{
	const uint64_t now = thread_clock(s);

	if (s->fiber != 0)
		fiber_stack_end(s, SUSPEND_ERROR | SUSPEND_INFERRED, now);
	s->fiber_on = NULL;
	if (fiber_now)
		fiber_stack_attach(s, fiber_now, RESUME_INFERRED,
				   (uint64_t)__builtin_frame_address(0), now);
}
