/* stack.c - the shadow stack and the records that go with its changes.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/stack.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

stack_off_fn stack_off;
int (*stack_yielding)(const struct state *s);
stack_off_fn stack_doubt;

/* ---------------------------------------------------------------- frames */

SLOW int stack_grow(struct state *s)
{
	const int saved = errno;
	const size_t used = (size_t)(s->top - s->frames);
	const size_t old = (size_t)(s->frame_limit - s->frames) + 1;
	const size_t room = 2 * old < MAX_FRAMES + 2 ? 2 * old : MAX_FRAMES + 2;
	struct frame *to = MAP_FAILED;

	if (s->no_room == s->generation)
		return 0; /* asking at each call would take its time */
	s->moving = 1;
	barrier();
	if (old < room)
		to = mremap(s->frames, old * sizeof(*to), room * sizeof(*to),
			    MREMAP_MAYMOVE);
	if (to != MAP_FAILED) {
		s->frames = to;
		s->top = to + used;
		s->frame_limit = to + room - 1;
	} else {
		s->no_room = s->generation;
	}
	barrier();
	s->moving = 0;
	errno = saved;
	return to != MAP_FAILED;
}

static int too_deep(struct state *s)
{
	s->too_deep++;
	atomic_fetch_add_explicit(&s->slot->lost[LOST_DEPTH], 1,
				  memory_order_relaxed);
	return 0;
}

int stack_enter(struct state *s, const struct frame *f, uint64_t now)
{
	uint32_t index;

	if (!stack_room(s))
		return too_deep(s);
	buffer_need(s, 2);
	index = buffer_index(s, f->key);
	buffer_put(s, rec_put(REC_ENTER, index, buffer_gap(s, now)));
	*s->top++ = *f;
	return 1;
}

void stack_leave(struct state *s, uint64_t now)
{
	struct frame *const f = s->top - 1;
	const uint64_t before = s->records[(int64_t)s->n - 1];
	uint32_t index;

	if (likely(rec_fits_leaf(before, now - s->last))) {
		const uint64_t duration = now - s->last;

		s->last = now;
		s->records[s->n - 1] = rec_enter_to_leaf(before, duration);
		s->top = f;
		return;
	}
	buffer_need(s, 2);
	index = buffer_index(s, f->key);
	buffer_put(s, rec_put(REC_LEAVE, index, buffer_gap(s, now)));
	s->top = s->frames + (f - s->frames);
}

/* A record and its operands appear at once: the count is raised when all of
 * them are written. */
static void put_with(struct state *s, uint64_t word, const uint64_t *operands,
		     uint32_t count)
{
	const uint32_t n = s->n;

	s->records[n] = word;
	for (uint32_t i = 0; i < count; i++)
		s->records[n + 1 + i] = rec_put_value(REC_OPERAND, operands[i] &
						      REC_VALUE_MAX);
	barrier();
	s->n = n + 1 + count;
	atomic_store_explicit(s->published, s->n, memory_order_release);
}

void stack_unwind(struct state *s, struct frame *to, enum unwind why,
		  uint64_t now)
{
	const uint64_t count = (uint64_t)(s->top - to);

	if (count == 0)
		return;
	buffer_need(s, 3);
	s->too_deep = 0; /* they stood on what ends here */
	put_with(s, rec_put(REC_UNWIND, why, buffer_gap(s, now)), &count, 1);
	s->top -= count;
}

int stack_tail(struct state *s, const struct frame *f, uint64_t now)
{
	if (!BROKEN(tail))
		stack_unwind(s, s->top - 1, UNWIND_TAIL, now);
	return stack_enter(s, f, now);
}

/* ---------------------------------------------------------------- segments */

/* RESUME with the stack behind it: count frames that already lie on top. */
static void put_resume(struct state *s, const struct segment *g, uint32_t count,
		       uint64_t slept, uint32_t flags, uint64_t gap)
{
	const uint32_t total = (uint32_t)(s->top - s->frames) - 1;
	const uint32_t first = total - count;
	uint64_t *const at = s->records + s->n, *end = at + 4;

	at[0] = rec_put(REC_RESUME, flags, gap);
	at[1] = rec_put_value(REC_OPERAND, g->serial & REC_VALUE_MAX);
	at[2] = rec_put_value(REC_OPERAND, slept & REC_VALUE_MAX);
	if ((flags & RESUME_STACK) && !buffer_is_scrap(s))
		end = buffer_put_frames(s, s->frames + 1 + first, count, 0,
					count, end);
	at[3] = rec_put_value(REC_OPERAND, (uint64_t)(end - at - 4));
	barrier();
	s->n += (uint32_t)(end - at);
	atomic_store_explicit(s->published, s->n, memory_order_release);
}

/* The whole stack of a record must fit its chunk. */
static void need_resume(struct state *s, uint32_t count)
{
	const uint32_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER + 1;
	const uint32_t words = 6 + (count < most ? count : most);

	if (s->n + words <= s->limit + RECORD_SLACK)
		return;
	s->want_big = words > 200;
	buffer_switch(s, 0);
	if (s->n + words > s->limit + RECORD_SLACK && !buffer_is_scrap(s)) {
		/* Only a small buffer was free. */
		buffer_close(s, 0);
		s->resync = 1;
	}
}

int stack_resume(struct state *s, uint64_t serial, void *owner,
		 const struct frame *kept, uint32_t count, uint64_t slept,
		 int given, uint64_t sp, uint32_t flags, uint64_t now)
{
	struct segment *const g = &s->segment[s->segments];

	if (s->segments >= MAX_SEGMENTS)
		return too_deep(s);
	while ((size_t)(s->frame_limit - s->top) <= count) {
		if (!stack_grow(s))
			return too_deep(s);
	}
	need_resume(s, given ? count : 0);
	*g = (struct segment){ .serial = serial, .owner = owner, .sp = sp,
			       .inferred = (flags & RESUME_INFERRED) != 0,
			       .base = (uint32_t)(s->top - s->frames) };
	for (uint32_t i = 0; i < count; i++) {
		*s->top = kept[i];
		s->top->tick += slept;
		s->top++;
	}
	s->segments++;
	put_resume(s, g, count, slept, given ? flags | RESUME_STACK : flags,
		   buffer_gap(s, now));
	return 1;
}

/* In the site of the frame under a fiber's: no exit matches it. */
#define COVERED (UINT64_C(1) << 63)

void stack_cover(struct state *s, uint32_t index, void *fiber)
{
	s->fiber = index;
	s->fiber_on = fiber;
	s->frames[s->segment[index].base - 1].site ^= COVERED;
}

/* The topmost segment has come off. */
static void pop_segment(struct state *s)
{
	const uint32_t base = stack_segment(s)->base;

	s->top = s->frames + base;
	s->segments--;
	if (unlikely(s->segments == s->fiber)) {
		s->frames[base - 1].site ^= COVERED;
		s->fiber = 0;
		s->fiber_on = NULL;
	}
}

/* What runs now sees no frames below these. */
static struct frame *ground(const struct state *s)
{
	return s->frames + s->segment[s->fiber].base;
}

void stack_set_aside(struct state *s, uint32_t flags, uint64_t now)
{
	const uint64_t serial = stack_segment(s)->serial;

	buffer_need(s, 3);
	put_with(s, rec_put(REC_SUSPEND, flags, buffer_gap(s, now)), &serial,
		 1);
	pop_segment(s);
}

const struct frame *stack_suspend(struct state *s, uint32_t flags,
				  uint32_t *count, uint64_t now)
{
	const struct segment *const g = stack_segment(s);
	struct frame *f = s->top;
	const int kept = (flags & SUSPEND_REASON) == SUSPEND_YIELD;
	const uint64_t serial = g->serial;

	while (f > s->frames + g->base && (!kept || !frame_is_lua(f - 1)))
		f--;
	stack_unwind(s, f, kept ? UNWIND_YIELD : UNWIND_ERROR, now);
	buffer_need(s, 3);
	put_with(s, rec_put(REC_SUSPEND, flags, buffer_gap(s, now)), &serial,
		 1);
	*count = stack_depth(s);
	pop_segment(s);
	return s->top;
}

static void take_off(struct state *s, stack_off_fn off, uint64_t now)
{
	const uint32_t before = s->segments;
	uint32_t count;

	if (off != NULL)
		off(s, now);
	if (s->segments >= before)
		stack_suspend(s, SUSPEND_ERROR | SUSPEND_INFERRED, &count,
			      now);
}

void stack_cut(struct state *s, struct stack_mark m, enum unwind why,
	       stack_off_fn off, uint64_t now)
{
	const uint32_t segments = m.segments + s->fiber;

	if (m.window != s->window || segments > s->segments)
		return;
	while (s->segments > segments)
		take_off(s, off, now);
	if (stack_depth(s) > m.depth)
		stack_unwind(s, s->frames + stack_segment(s)->base + m.depth,
			     why, now);
}

void stack_forget(struct state *s)
{
	s->segments = 1;
	s->fiber = 0;
	s->fiber_on = NULL;
	s->fiber_left = 0;
	s->segment[0] = (struct segment){ .base = 1 };
	s->top = s->frames + 1;
	s->too_deep = 0;
	s->base_unknown = 1;
}

/* ------------------------------------------------------------------ jumps */

static int in_alt(const struct state *s, uint64_t sp)
{
	return sp >= s->alt_low && sp < s->alt_high;
}

/* The frame address of a hook lies two words below its caller's stack pointer
 * at the call. */
static int below(const struct state *s, const struct frame *f, uint64_t target)
{
	const int alt = in_alt(s, target);

	if (in_alt(s, f->sp) != alt)
		return !alt;
	return f->sp + 16 < target;
}

/* The outermost of the dead native frames, or s->top if none is dead. */
static struct frame *first_dead(struct state *s, uint64_t target)
{
	struct frame *dead = s->top;

	for (struct frame *f = s->top; f > ground(s); f--) {
		if (frame_is_lua(f - 1))
			continue;
		if (!below(s, f - 1, target))
			break;
		dead = f - 1;
	}
	return dead;
}

/* A Lua error is such a jump; how many calls it ended Lua can say once it has
 * landed. */
static void doubt(struct state *s)
{
	if (stack_doubt != NULL && s->top > ground(s) &&
	    frame_is_lua(s->top - 1) && !frame_is_late(s->top - 1) &&
	    !stack_yielding(s))
		s->top[-1].sp = FRAME_DOUBTED;
}

void stack_jump(struct state *s, uint64_t target, uint64_t now)
{
	struct frame *dead = first_dead(s, target);

	if (BROKEN(longjmp))
		return;
	while (s->segments > 1 && dead < s->top &&
	       dead < s->frames + stack_segment(s)->base) {
		const size_t at = (size_t)(dead - s->frames);

		take_off(s, stack_off, now);
		dead = s->frames + at;
	}
	/* A coroutine that yields keeps its Lua frames; what is native among
	 * them is dropped when they are put away. */
	if (dead < s->top && (stack_yielding == NULL || !stack_yielding(s)))
		stack_unwind(s, dead, UNWIND_JUMP, now);
	doubt(s);
}

/* ------------------------------------------------------- native, rare cases */

/* Is there a native frame under f on the stack that runs? */
static int is_seen(const struct state *s, const struct frame *f)
{
	return f > ground(s) && !frame_is_lua(f - 1);
}

/* Rule 1: how many of the innermost frames are dead when a hook is entered
 * with this stack pointer, call site and return address. */
static struct frame *live_end(struct state *s, const struct frame *n)
{
	const int alt = in_alt(s, n->sp);
	struct frame *f = s->top;

	while (is_seen(s, f) && in_alt(s, f[-1].sp) && !alt)
		f--;
	if (is_seen(s, f) && in_alt(s, f[-1].sp) != alt)
		return f; /* a handler on its own stack, on top of the thread's */
	while (is_seen(s, f) && f[-1].sp < n->sp && !BROKEN(sp))
		f--;
	if (BROKEN(inlined))
		return f;
	while (is_seen(s, f) && f[-1].sp == n->sp && f[-1].site != n->site)
		f--;
	for (struct frame *g = f; is_seen(s, g) && g[-1].sp == n->sp; g--) {
		if (g[-1].ret == n->ret)
			return g - 1;
	}
	return f;
}

static int absorbs(struct state *s, const struct frame *n)
{
	struct frame *const top = s->top - 1;

	if (!frame_waits(top, FRAME_ABSORBS))
		return 0;
	if (top->key != n->key || BROKEN(absorb)) {
		top->sp = BROKEN(again) ? frame_settled(top->sp) :
			  frame_wait_on(top->sp);
		return 0;
	}
	top->sp = frame_settled(top->sp);
	top->extra = n->site;
	return 1;
}

/* On a stack that is not the thread's and that nobody announced. */
static int strayed(const struct state *s, uint64_t sp)
{
	return s->stack_high != 0 && sp > s->stack_high && !in_alt(s, sp);
}

/* The jump may be on its way yet. */
static void ask_again(struct state *s, uint64_t now)
{
	const struct frame *const top = s->top;
	const uint64_t asked = s->top[-1].sp;

	s->top[-1].sp = FRAME_LUA;
	stack_doubt(s, now);
	if (s->top == top && !BROKEN(again))
		s->top[-1].sp = frame_wait_on(asked);
}

/* A signal handler's call, on the stack that is about to be left, after this was
 * told: it says nothing of the frames of the other one. */
static int is_left(struct state *s, uint64_t sp)
{
	enum { HANDLERS = 16384 };

	if (sp >= s->fiber_left || sp + HANDLERS < s->fiber_left)
		s->fiber_left = 0;
	return s->fiber_left != 0;
}

SLOW int stack_native_enter(struct state *s, const struct frame *n,
			    uint64_t now)
{
	const int saved = errno;
	struct frame *live;

	if ((s->top == ground(s) && s->fiber != 0) || is_left(s, n->sp))
		goto out;
	if (frame_waits(s->top - 1, FRAME_DOUBTED))
		ask_again(s, now);
	if (absorbs(s, n))
		return 0;
	if (s->fiber == 0 && strayed(s, n->sp)) {
		atomic_fetch_add_explicit(&s->slot->lost[LOST_SWITCH], 1,
					  memory_order_relaxed);
		stack_forget(s);
		s->stack_high = 0;
		buffer_switch(s, 0);
	}
	while (s->segments > 1 && stack_segment(s)->inferred &&
	       n->sp >= stack_segment(s)->sp)
		take_off(s, stack_off, now);
	live = live_end(s, n);
	if (live < s->top)
		stack_unwind(s, live, UNWIND_SKIPPED, now);
out:
	errno = saved;
	return 1;
}

static int is_exit_of(const struct frame *f, uint64_t fn, uint64_t site)
{
	return f->key == fn &&
	       (frame_is_lua(f) ? f->extra : f->site) == site;
}

static void leave_old(struct state *s, uint64_t fn, uint64_t now)
{
	uint32_t index;

	if (s->fiber != 0 && s->fiber_unknown)
		return; /* begun unseen */
	if (!s->base_unknown || s->top > s->frames + 1) {
		atomic_fetch_add_explicit(&s->slot->lost[LOST_SWITCH], 1,
					  memory_order_relaxed);
		return;
	}
	buffer_need(s, 2);
	index = buffer_index(s, fn);
	buffer_put(s, rec_put(REC_LEAVE_OLD, index, buffer_gap(s, now)));
}

SLOW void stack_native_exit(struct state *s, uint64_t fn, uint64_t site,
			    uint64_t now)
{
	const int saved = errno;
	struct frame *f = s->top - 1;

	if (s->too_deep > 0) {
		s->too_deep--;
		errno = saved;
		return;
	}
	while (f >= ground(s) && !is_exit_of(f, fn, site) && !BROKEN(exit))
		f--;
	if (f < ground(s) || !is_exit_of(f, fn, site)) {
		leave_old(s, fn, now);
		errno = saved;
		return;
	}
	while (s->segments > 1 && f < s->frames + stack_segment(s)->base)
		take_off(s, stack_off, now);
	stack_unwind(s, f + 1, UNWIND_SKIPPED, now);
	if (frame_is_lua(f) && !frame_is_late(f))
		f->extra = FRAME_ABSORBED_NOT; /* its Lua return follows */
	else
		stack_leave(s, now);
	errno = saved;
}
