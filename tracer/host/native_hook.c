/* native_hook.c - what -finstrument-functions calls. The common case is laid out
 * here, straight on; everything else is stack.c's and buffer.c's.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/process.h"
#include "tracer/host/stack.h"

HOOK void __cyg_profile_func_enter(void *fn, void *site);
HOOK void __cyg_profile_func_exit(void *fn, void *site);

HOOK void __cyg_profile_func_enter(void *fn, void *site)
{
	const uint64_t sp = (uint64_t)__builtin_frame_address(0);
	struct state *const s = state_begin_native(sp);
	struct frame *f;
	uint64_t now, gap;
	uint32_t index;

	if (unlikely(s == NULL))
		return;
	now = state_clock(s);
	if (unlikely(s->top[-1].sp <= sp)) {
		const struct frame n = {
			.key = (uint64_t)fn, .sp = sp, .site = (uint64_t)site,
			.ret = (uint64_t)__builtin_return_address(0),
		};

		if (!stack_native_enter(s, &n, now))
			goto out;
	}
	if (unlikely(s->n >= s->limit))
		buffer_switch(s, 0);
	if (unlikely(s->top >= s->frame_limit) && !stack_grow(s)) {
		s->too_deep++;
		atomic_fetch_add_explicit(&s->slot->lost[LOST_DEPTH], 1,
					  memory_order_relaxed);
		goto out;
	}
	index = buffer_index(s, (uint64_t)fn);
	gap = buffer_gap(s, now);
	f = s->top;
	f->key = (uint64_t)fn;
	f->sp = sp;
	f->site = (uint64_t)site;
	f->ret = (uint64_t)__builtin_return_address(0);
	f->tick = now;
	buffer_put(s, rec_put(REC_ENTER, index, gap));
	s->top = f + 1;
out:
	state_end(s);
}

HOOK void __cyg_profile_func_exit(void *fn, void *site)
{
	struct state *const s = state_begin_native((uint64_t)
						   __builtin_frame_address(0));
	uint64_t now, before, duration;
	struct frame *f;

	if (unlikely(s == NULL))
		return;
	now = state_clock(s);
	f = s->top - 1;
	if (unlikely(f->key != (uint64_t)fn || f->site != (uint64_t)site ||
		     s->too_deep != 0)) {
		stack_native_exit(s, (uint64_t)fn, (uint64_t)site, now);
		state_end(s);
		return;
	}
	before = s->records[(int64_t)s->n - 1];
	duration = now - s->last;
	if (likely(rec_fits_leaf(before, duration))) {
		s->records[(int64_t)s->n - 1] = rec_enter_to_leaf(before,
								  duration);
		s->last = now;
		s->top = f;
	} else {
		uint32_t index;

		if (unlikely(s->n >= s->limit))
			buffer_switch(s, 0);
		index = buffer_index(s, (uint64_t)fn);
		buffer_put(s, rec_put(REC_LEAVE, index, buffer_gap(s, now)));
		s->top--;
	}
	state_end(s);
}
