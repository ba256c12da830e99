/* fiber.c - fibers as objects, their stacks on the thread's and off it, and
 * what a switch between them means. Must not know who tells of switches:
 * fiber_api.c does.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/pool/process.h"

#include <errno.h>
#include <string.h>

THREAD_LOCAL struct fiber *fiber_now;

/* Chosen calls (weft_inside_only) that the thread's own stack is in. */
static THREAD_LOCAL uint32_t own_region;

/* The window of a fiber whose frames are not known. */
#define NEVER UINT32_MAX

/* The most reliable source of switches that has told of one. */
static _Atomic int told_by;

bool fiber_counts(enum fiber_by who)
{
	int now = atomic_load_explicit(&told_by, memory_order_relaxed);

	while (now < (int)who &&
	       !atomic_compare_exchange_weak(&told_by, &now, (int)who))
		;
	return now <= (int)who;
}

/* ---------------------------------------------------------------- objects */

/* Blocks of objects are never given back. A bit of taken stands for an
 * object that is in use. roomy: the block in which one was free last. */
struct block {
	struct block *next;
	_Atomic uint64_t taken;
	struct fiber fiber[64];
};

static struct block *_Atomic blocks, *_Atomic roomy;

/* A free object of this block, or NULL. */
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

/* A block of free objects, for all threads to see; NULL: no memory. */
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

/* Blocks are looked through only when the last one known to have room is
 * full. */
struct fiber *fiber_new(void)
{
	struct block *b = atomic_load(&roomy);
	struct fiber *f = !b ? NULL : take_from(b);

	for (b = atomic_load(&blocks); !f && b; b = b->next) {
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
	for (struct block *b = atomic_load(&blocks); b; b = b->next) {
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
	f->ran = f->unknown = false;
	f->vm = 0;
	f->window = NEVER;
	f->part_count = 0;
	f->too_deep = 0;
	f->region = 0;
}

/* ------------------------------------------------------- by their stacks */

static struct pointer_map by_stack;

/* The match of by_stack. */
static bool is_at(const void *fiber, const void *low)
{
	return ((const struct fiber *)fiber)->low == *(const uint64_t *)low;
}

struct fiber *fiber_find_at(uint64_t low)
{
	return pointer_map_find(&by_stack, low, is_at, &low);
}

/* Its calls will stand on the thread's own stack. */
static struct fiber *count_unknown(void)
{
	if (mapped_pool) {
		atomic_fetch_or(&process_slot->dropped, TROUBLE_NO_MEMORY);
		atomic_fetch_add(&mapped_pool->unrecorded, 1);
	}
	return NULL;
}

struct fiber *fiber_at(uint64_t low)
{
	struct fiber *f = fiber_find_at(low), *there;

	if (f)
		return f;
	f = fiber_new();
	if (!f)
		return count_unknown();
	f->low = low;
	/* Another thread may have added one meanwhile: that one counts. */
	there = pointer_map_add(&by_stack, low, is_at, &low, f);
	if (there != f)
		fiber_free(f);
	return there ? there : count_unknown();
}

/* -------------------------------------------------------------- detaching */

/* Room for what the fiber has open; what was kept there before is lost. */
static bool keep_room(struct fiber *f, uint32_t parts, uint32_t frames)
{
	struct fiber_part *const p = memory_grow(f->part, &f->part_room, parts,
						 sizeof(*p));
	struct frame *const q = memory_grow(f->frame, &f->frame_room, frames,
					    sizeof(*q));

	if (p)
		f->part = p;
	if (q)
		f->frame = q;
	return p && (q || frames == 0);
}

/* What a fiber keeps holds native frames, too. */
static uint32_t window_of(const struct thread_state *s)
{
	return s->window + (s->natives << 16);
}

/* Copies the running fiber's segments and frames. Without memory for them its
 * window stays NEVER: when it comes back, calls may be open on it that are not
 * known. */
static void keep(const struct thread_state *s, struct fiber *f)
{
	const struct segment *const first = &s->segment[s->fiber];
	const struct frame *const from = s->frames + first->base;
	const uint32_t frames = (uint32_t)(s->top - from);
	const uint32_t parts = s->segments - s->fiber;

	f->window = NEVER;
	f->part_count = 0;
	if (!keep_room(f, parts, frames))
		return;
	if (frames > 0)
		memcpy(f->frame, from, frames * sizeof(*from));
	for (uint32_t i = 0; i < parts; i++) {
		const struct segment *const g = &first[i];
		const uint32_t end = i + 1 < parts ? g[1].base :
				     (uint32_t)(s->top - s->frames);

		f->part[i] = (struct fiber_part){ .as = *g,
						  .count = end - g->base };
	}
	f->part_count = parts;
	f->window = window_of(s);
}

/* Takes the fiber off the stack; f keeps what is open. Lua coroutines on top of
 * it come off first, as suspended together with it (SUSPEND_WITH). Each part
 * notes the chunk of its SUSPEND: within that, a RESUME needs no stack. */
static void detach(struct thread_state *s, struct fiber *f, uint64_t now)
{
	const uint32_t first = s->fiber;

	keep(s, f);
	f->since = now;
	f->thread = s->thread_serial;
	f->level = s->level;
	f->too_deep = s->too_deep;
	s->too_deep = s->fiber_below;
	while (s->segments > first) {
		const uint32_t i = s->segments - 1 - first;

		shadow_detach_whole(s, i > 0 ? SUSPEND_YIELD | SUSPEND_WITH :
				    SUSPEND_YIELD, now);
		if (i < f->part_count)
			f->part[i].epoch = s->epoch;
	}
	s->lua_plain = NULL; /* another lua_State runs from here on */
}

/* The fiber has ended, or nobody knows what has become of it. Nothing is kept:
 * coroutines on top of it and frames that it had open end here. */
static void detach_ended(struct thread_state *s, uint32_t flags, uint64_t now)
{
	const struct shadow_mark m = { .window = s->window, .segments = 1 };
	uint32_t count;

	shadow_cut(s, m, UNWIND_SKIPPED, now);
	s->too_deep = s->fiber_below;
	shadow_detach(s, flags, &count, now);
	s->lua_plain = NULL;
}

/* -------------------------------------------------------------- attaching */

/* One segment of a fiber, with its frames. False: segments are nested too
 * deep. */
static bool attach_part(struct thread_state *s, const struct fiber *f,
			const struct fiber_part *p, const struct frame *from,
			uint32_t flags, uint64_t now)
{
	const uint64_t slept = now > f->since ? now - f->since : 0;
	bool given;

	chunk_need(s, RECORD_SLACK - 2); /* so that the epoch stays */
	/* The reader knows the stack if the SUSPEND is in this very chunk. */
	given = f->thread != s->thread_serial || f->level != s->level ||
		p->epoch != s->epoch;
	return shadow_attach(s, &p->as, from, p->count, slept, given, flags,
			     now);
}

/* A new fiber, or one whose frames were not seen or not kept. A new one has no
 * stack to give; an old one gives an empty one, which replaces what the reader
 * may know. */
static bool attach_bare(struct thread_state *s, const struct fiber *f,
			uint32_t flags, uint64_t sp, uint64_t now)
{
	const bool given = f->ran || (flags & RESUME_INFERRED) != 0;
	const struct segment as = { .serial = f->serial, .sp = sp };

	return shadow_attach(s, &as, NULL, 0, 0, given, flags, now);
}

/* Puts f with all it had open onto the thread's stack, which holds no fiber.
 * flags: RESUME_INFERRED or 0. */
static void attach(struct thread_state *s, struct fiber *f, uint32_t flags,
		   uint64_t sp, uint64_t now)
{
	const bool kept = f->part_count > 0 && f->window == window_of(s) &&
			  f->serial != 0;
	const struct frame *from = f->frame;
	const uint32_t index = s->segments;

	if (f->serial == 0)
		f->serial = shadow_create(s, 0, 0, now);
	if (kept ? !attach_part(s, f, f->part, from, flags, now) :
	    !attach_bare(s, f, flags, sp, now))
		return;
	if (!kept)
		f->unknown = f->ran || (flags & RESUME_INFERRED) != 0;
	s->fiber_unknown = f->unknown;
	s->fiber_below = s->too_deep;
	s->too_deep = kept ? f->too_deep : 0;
	shadow_cover(s, index, f);
	for (uint32_t i = 1; kept && i < f->part_count; i++) {
		from += f->part[i - 1].count;
		if (!attach_part(s, f, &f->part[i], from, RESUME_WITH, now))
			break;
	}
	f->ran = true;
	f->window = NEVER;
	f->part_count = 0;
	s->lua_plain = NULL;
}

/* -------------------------------------------------------------- switching */

void fiber_create(struct fiber *f, uint64_t sp)
{
	const int saved = errno;
	struct thread_state *const s = thread_acquire(sp);

	if (s) {
		f->serial = shadow_create(s, 0, 0, chunk_clock(s));
		thread_release(s);
	}
	errno = saved;
}

/* Recording was off, or this thread shut out, when it switched: the fiber that
 * runs is another than the state knows. */
static void settle(struct thread_state *s)
{
	const uint64_t now = chunk_clock(s);

	if (s->fiber_on == fiber_now)
		return;
	if (s->fiber != 0)
		detach_ended(s, SUSPEND_ERROR | SUSPEND_INFERRED, now);
	s->fiber_on = NULL;
	if (fiber_now)
		attach(s, fiber_now, RESUME_INFERRED,
		       (uint64_t)__builtin_frame_address(0), now);
}

/* The thread is about to leave the stack it is on. If it cannot be recorded
 * now, what the fiber has open counts as unknown from here on. */
static void leave_fiber(struct fiber *from, bool ends, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);
	uint64_t now;

	if (from && ends)
		fiber_renew(from);
	if (!s) {
		if (from)
			from->window = NEVER;
		return;
	}
	now = chunk_clock(s);
	if (s->level > 0) /* a handler interrupted a hook */
		chunk_count_lost(s, LOST_SWITCH, 1);
	else if (s->fiber != 0 && ends)
		detach_ended(s, SUSPEND_RETURN, now);
	else if (s->fiber != 0)
		detach(s, from, now);
	s->fiber_left = sp;
	fiber_now = NULL; /* what handlers see from here on is consistent */
	thread_release(s);
}

/* Likewise, for the stack it goes to. Also without a state the fiber is noted
 * as running: settle puts it on when recording goes on. */
static void arrive(struct fiber *to, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);

	if (s && s->level == 0 && s->fiber == 0)
		attach(s, to, 0, sp, chunk_clock(s));
	to->ran = true;
	fiber_now = to;
	if (s)
		thread_release(s);
}

void fiber_switch(struct fiber *to, bool ends, uint64_t sp)
{
	struct fiber *const from = fiber_now;
	const int saved = errno;
	uint32_t depth;

	if (from == to && !ends)
		return;
	if (!thread_upcalls.fiber_settle)
		thread_upcalls.fiber_settle = settle;
	leave_fiber(from, ends, sp);
	/* The chosen calls belong to the stack, not to the thread. */
	if (!from)
		own_region = region_depth;
	else if (!ends)
		from->region = region_depth;
	fiber_now = NULL;
	depth = !to ? own_region : to->region;
	if (depth != region_depth)
		region_set(depth, sp);
	if (to)
		arrive(to, sp);
	errno = saved;
}
