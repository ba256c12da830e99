/* running.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/running.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/pool/process.h"

THREAD_LOCAL struct lua_running lua_running;

uint32_t lua_running_above(const struct thread_state *s,
			  const struct lua_running *r)
{
	const struct coroutine *const co = !mapped_view.lua_budget ? NULL :
					   lua_co_find((lua_State *)r->L);
	uint32_t i = r->top;

	while (co && co->vm->sampled && i < lua_running_frames(s) &&
	       lua_co_is_vms(co->vm, &s->frames[i]))
		i++;
	return i;
}

uint32_t lua_running_settle(struct thread_state *s, const struct lua_running *r)
{
	const struct coroutine *const co = !lua_running_is_here(s, r) ? NULL :
					   lua_co_find((lua_State *)r->L);
	const uint32_t top = !co ? 0 : lua_running_above(s, r);

	if (!co || !lua_vm_is_sampled(co->vm))
		return 0;
	if (top == r->top || top < lua_running_frames(s))
		return top;
	shadow_unwind(s, s->frames + r->top, UNWIND_RESET, chunk_clock(s));
	s->lua_plain = NULL;
	return r->top;
}

void lua_running_settle_it(void)
{
	struct thread_state *const s = !mapped_view.lua_budget ? NULL :
				       thread_acquire(HERE);

	if (!s)
		return;
	thread_lua_runs(s, lua_running_settle(s, &lua_running));
	thread_release(s);
}
