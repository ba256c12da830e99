/* ticks.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/lua/ticks.h"
#include "tracer/host/thread/zone.h"

#include <errno.h>
#include <sys/single_threaded.h>
#include <ucontext.h>

/* A tick that comes later than this stands for that; what ran before is not
 * known. */
#define TICK_MOST UINT64_C(50000000)

typedef void handler_fn(int);

/* Does co run, or has it resumed what does? In LuaJIT frames cannot be looked
 * at now. */
static bool is_active(const struct coroutine *co)
{
	const struct lua_abi *const abi = co->vm->lib->abi;

	return abi->is_jit ? !co->vm->by_layout || abi->goes_on(co) :
	       abi->innermost(&co->vm->lib->api, co->L, false).id != 0;
}

/* Its main state, if that is active. With another thread there, that could be
 * the one that runs it. */
static struct coroutine *find_home(void)
{
	struct lua_vm *const home = lua_ticks.home;
	struct coroutine *const co = !home || !__libc_single_threaded ? NULL :
				     lua_running_sampled(home->main);

	return co && co->vm == home && is_active(co) ? co : NULL;
}

static enum lua_answer ask(uint64_t sp)
{
	const struct lua_running *const r = &lua_running;
	struct coroutine *co;

	if (r->L == 0 ? !lua_ticks.home : !lua_running_is_innermost(r, sp))
		return NOT_LUA;
	co = r->L == 0 ? find_home() : lua_running_sampled((lua_State *)r->L);
	if (co)
		return lua_ask_state(co);
	co = !mapped_view.lua_budget ? NULL : lua_co_find((lua_State *)r->L);
	return (co && !co->vm->sampled) ||
	       (r->L == 0 && __libc_single_threaded) ? NOT_LUA : MISSED;
}

/* Does co, whose call is the innermost one that was seen on this thread, run in
 * the code at this stack pointer? Where its end is not seen, it may be gone. */
static bool is_there(const struct coroutine *co, uint64_t sp)
{
	const bool is_jit = co->vm->lib->abi->is_jit;
	const struct coroutine *const r =
		lua_co_served((lua_State *)lua_running.L);

	if (!co->vm->interposed)
		return __libc_single_threaded && (is_jit || co->serial == 0);
	return r && sp < lua_running.sp &&
	       (is_jit ? r->vm == co->vm : r == co);
}

/* Where each call is recorded: the frame of the Lua function that runs, or, in
 * LuaJIT, has called C functions whose returns are not told. NULL: what runs is
 * a C function, or the recording's own code. */
static const struct frame *find_open(const struct thread_state *s)
{
	const struct frame *f = s->top - 1, *const end = f - shadow_depth(s);

	while (f > end && frame_is_lua(f) &&
	       (frame_is_untold(f) || zone_is(f->key)))
		f--;
	return f > end && frame_is_lua(f) && (f->key & KEY_LUA) != 0 ? f : NULL;
}

static enum lua_answer ask_for_line(uint64_t sp)
{
	const struct thread_state *const s = thread_self;
	const struct frame *f;
	struct coroutine *co;

	if (!s || s->busy != 0 || s->generation !=
	    atomic_load_explicit(&mapped_pool->generation,
				 memory_order_relaxed))
		return NOT_LUA;
	f = find_open(s);
	co = !f ? NULL : lua_co_served((lua_State *)f->site);
	if (!co || co->vm->closing || co->vm->sampled || !is_there(co, sp))
		return NOT_LUA;
	lua_ticks.in.frame = *f;
	lua_ticks.in.index = (uint32_t)(f - s->frames);
	return lua_ask_state(co);
}

static void tick(uint64_t sp)
{
	struct lua_ticks *const t = &lua_ticks;
	const uint64_t now = kernel_cpu();
	uint64_t took = now - t->cpu;
	enum lua_answer answer;

	t->cpu = now;
	if (lua_ask_is_over()) {
		/* LuaJIT calls us once more then, and is stopped. */
		if (lua_ask_to_stop())
			return;
		kernel_tick_end(t->timer);
		t->process = 0;
		return;
	}
	answer = !lua_vm_on() ? NOT_LUA : t->held ? MISSED :
		 lua_has_lines() ? ask_for_line(sp) : ask(sp);
	if (answer == NOT_LUA)
		return;
	if (answer == ASKED) {
		t->due += took < TICK_MOST ? took : TICK_MOST;
		took -= took < TICK_MOST ? took : TICK_MOST;
	}
	t->missed += took;
}

static const char cookie;
static _Atomic bool has_ticks;

/* By default nothing happens at these. A thread has the first that the program
 * leaves alone; which it has taken for itself since: bits. */
enum { SIGNALS = 2 };
static const int signals[SIGNALS] = { SIGURG, SIGWINCH };
_Atomic uint32_t lua_tick_taken;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *const c = context;
	const int saved = errno;

	(void)signal;
	if (info->si_code == SI_TIMER && info->si_ptr == (void *)&cookie &&
	    lua_ticks.process == process_serial)
		tick((uint64_t)ARCH_CONTEXT_SP(c));
	errno = saved;
}

static void thread_ends(void)
{
	if (lua_ticks.process == process_serial && lua_ticks.timer >= 0)
		kernel_tick_end(lua_ticks.timer);
	lua_ticks.process = 0;
	lua_running = (struct lua_running){ .L = 0 };
}

void lua_tick_begin(void)
{
	struct lua_ticks *const t = &lua_ticks;
	static _Atomic uint32_t forgotten;
	const int saved = errno;

	if (atomic_exchange(&forgotten, process_serial) != process_serial)
		kernel_ticks_forget();
	lua_ask_hold(true);
	t->asked = NULL;
	t->due = t->missed = 0;
	t->cpu = kernel_cpu();
	t->timer = -1;
	t->without = atomic_load(&lua_tick_taken);
	for (int i = 0; i < SIGNALS && t->timer < 0; i++)
		if (!(t->without & 1u << i) &&
		    kernel_handle(signals[i], on_signal))
			t->timer = kernel_tick_begin(t->signal = signals[i],
						     LUA_TICK_NS, &cookie);
	t->process = process_serial;
	atomic_store(&has_ticks, true);
	lua_ask_hold(false);
	if (t->timer < 0)
		lua_ask_tell_unnoted();
	thread_upcalls.lua_ends = thread_ends;
	errno = saved;
}

/* The program uses the signal itself: it is its own. */
static SLOW void yield_signal(int i)
{
	const int saved = errno;

	atomic_fetch_or(&lua_tick_taken, 1u << i);
	if (atomic_load(&has_ticks) && kernel_unhandle(signals[i], on_signal)) {
		kernel_ticks_end(); /* others begin anew when they come by */
		if (lua_ticks.process == process_serial)
			lua_tick_begin();
	}
	errno = saved;
}

static void look_at_signal(int signal)
{
	for (int i = 0; i < SIGNALS; i++)
		if (signal == signals[i])
			yield_signal(i);
}

static void *real_sigaction, *real_signal;

static int our_sigaction(int signal, const struct sigaction *new,
			 struct sigaction *old)
{
	typedef int sigaction_fn(int, const struct sigaction *,
				 struct sigaction *);

	look_at_signal(signal);
	return ((sigaction_fn *)real_sigaction)(signal, new, old);
}

static handler_fn *our_signal(int signal, handler_fn *handler)
{
	look_at_signal(signal);
	return ((handler_fn *(*)(int, handler_fn *))real_signal)(signal,
								 handler);
}

/* What nobody wants is not led. A recorder that comes late says what it wants
 * after this. */
__attribute__((constructor(102))) static void begin(int argc, char **argv,
						    char **envp)
{
	static const struct stand_in ours[] = {
		{ "sigaction", (void *)our_sigaction, &real_sigaction },
		{ "signal", (void *)our_signal, &real_signal },
	};

	(void)argc;
	(void)argv;
	if (link_is_late() || (process_ready_early(envp) &&
			       (lua_may_be_sampled() || lua_has_lines())))
		stand_in_add(ours, sizeof(ours) / sizeof(ours[0]));
}
