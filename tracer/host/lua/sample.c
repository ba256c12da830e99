/* sample.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua/switch.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"
#include "tracer/host/thread/zone.h"

#include <errno.h>
#include <sys/single_threaded.h>
#include <ucontext.h>

/* As often as the kernel's clock ticks, mostly: a timer of CPU time cannot come
 * more often. A tick that comes later than TICK_MOST stands for that; what ran
 * before is not known. */
#define TICK_NS UINT64_C(1000000)
#define TICK_MOST UINT64_C(50000000)
/* So much that could not be noted is told by itself. */
#define TELL_MISSED (5 * TICK_NS)
enum { NOTED_OPERANDS = 4 };

THREAD_LOCAL struct lua_running lua_running;

/* Of a thread. Its signal handler changes all but held; others do so only while
 * that is set. */
static THREAD_LOCAL struct ticks {
	uint32_t process;    /* serial of the one whose timer it is, 0: none */
	uint32_t without;    /* signals that the program had taken then */
	int signal;
	int timer;           /* negative: there is none for this process */
	bool held;
	lua_State *asked;    /* which is to note its stack; NULL: none */
	uint64_t cpu;        /* ns at the last tick */
	uint64_t due;        /* ns, to be noted by it */
	uint64_t collector;  /* lib->collector of it then */
	uint64_t missed;     /* that Lua may have run, and could not note */
	struct lua_ticked in;
} ticks;

static void hold(bool holds)
{
	barrier();
	ticks.held = holds;
	barrier();
}

/* It did not come to it. */
static void drop_asked(void)
{
	ticks.asked = NULL;
	ticks.missed += ticks.due;
	ticks.due = 0;
}

/* Once: what is written at each tick would be another thread's cost. */
static void tell_unnoted(void)
{
	if (!(atomic_load(&process_slot->dropped) & TROUBLE_LUA_UNNOTED))
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_UNNOTED);
}

/* A VM whose calls by the program are not seen, but whose end is, and that this
 * thread has; NULL: there is none. */
static THREAD_LOCAL struct lua_vm *home;

/* Have ticks come to their end? As a hook that nothing would put back stays
 * while recording is off, they go on for a VM whose calls are not seen. */
static bool is_over(void)
{
	return (!lua_may_be_sampled() && !lua_has_lines()) || !mapped_pool ||
	       mapped_recorder_is_dead() || (!lua_vm_on() && !home);
}

/* ---------------------------------------------------------------- PUC Lua */

typedef void sethook_fn(lua_State *, weft_lua_function, int, int);
typedef weft_lua_function gethook_fn(lua_State *);
typedef int number_fn(lua_State *);
/* Whoever sets a hook for these begins to count anew, or may make 5.2 and 5.3
 * tell of a line twice: ours then takes the place of the program's for good,
 * and passes its events on. */
enum { MASK_LINE = 4, MASK_COUNT = 8, MASK_STAYS = MASK_LINE | MASK_COUNT };

static void set_hook(const struct coroutine *co, weft_lua_function hook,
		     int mask, int count)
{
	((sethook_fn *)co->vm->lib->api.lua_sethook)(co->L, hook, mask, count);
}

/* Is it our hook for calls? */
static bool tells_calls(const struct lua_abi *abi, weft_lua_function hook)
{
	return hook == abi->hook || hook == abi->shared_hook ||
	       hook == abi->asking_hook;
}

/* Is our hook in place? If not, what is there is the program's, but for one of
 * a time in which calls were recorded. */
static bool look_at_hook(struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const weft_lua_function hook = ((gethook_fn *)api->lua_gethook)(co->L);

	if (hook == co->vm->lib->abi->sampled_hook)
		return true;
	if (tells_calls(co->vm->lib->abi, hook)) {
		set_hook(co, co->app_hook, co->app_mask, co->app_count);
		return false;
	}
	co->app_hook = hook;
	co->app_mask = !hook ? 0 :
		       ((number_fn *)api->lua_gethookmask)(co->L);
	co->app_count = !hook ? 0 :
			((number_fn *)api->lua_gethookcount)(co->L);
	return false;
}

void lua_sample_look(struct coroutine *co)
{
	hold(true);
	if (!co->vm->lib->abi->is_jit)
		look_at_hook(co);
	hold(false);
}

void lua_sample_set_hook(struct coroutine *co)
{
	hold(true);
	if (ticks.asked == co->L)
		drop_asked();
	set_hook(co, (co->app_mask & MASK_STAYS) != 0 &&
		 !co->vm->lib->abi->is_jit ? co->vm->lib->abi->sampled_hook :
		 co->app_hook, co->app_mask, co->app_count);
	hold(false);
}

void lua_sample_hook_back(struct coroutine *co)
{
	if ((co->app_mask & MASK_STAYS) == 0 || is_over())
		set_hook(co, co->app_hook, co->app_mask, co->app_count);
}

/* In the handler. false: the program has set a hook, unseen, that stays. */
static bool ask_by_hook(struct coroutine *co)
{
	const bool is_ours = look_at_hook(co);

	if ((co->app_mask & MASK_STAYS) != 0) {
		if (!is_ours)
			tell_unnoted();
		return is_ours;
	}
	set_hook(co, co->vm->lib->abi->sampled_hook,
		 co->app_mask | MASK_COUNT, 1);
	return true;
}

/* Where each call is recorded, our hook is there already, and may have to tell
 * of one more instruction. */
static bool ask_our_hook(const struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const weft_lua_function hook = ((gethook_fn *)api->lua_gethook)(co->L);
	const int mask = ((number_fn *)api->lua_gethookmask)(co->L);

	if (!tells_calls(co->vm->lib->abi, hook))
		return false;
	if ((mask & MASK_STAYS) == 0)
		set_hook(co, hook, mask | MASK_COUNT, 1);
	return true;
}

void lua_sample_line_over(struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const int mask = ((number_fn *)api->lua_gethookmask)(co->L);

	if ((mask & MASK_COUNT) != 0 &&
	    (lua_co_holder(co)->app_mask & MASK_COUNT) == 0)
		set_hook(co, ((gethook_fn *)api->lua_gethook)(co->L),
			 mask & ~MASK_COUNT, 0);
}

/* ------------------------------------------------------------------ LuaJIT
 * Its profiler has one VM at a time and a timer of the whole process, whose
 * signal may come to any thread. That timer is stopped, and its handler called
 * at ticks of the thread that runs the VM. */

typedef void start_fn(lua_State *, const char *, weft_lua_function, void *);
typedef void stop_fn(lua_State *);
typedef void prof_fn(int);

static struct lua_vm *_Atomic profiled;
static struct ticks *_Atomic profiled_on; /* of the thread that ran it last */
static prof_fn *_Atomic profiler; /* LuaJIT's handler */

static void start_profiler(struct lua_vm *vm)
{
	start_fn *const start = (start_fn *)vm->lib->profile_start;
	const struct kernel_prof before = kernel_prof();
	struct lua_vm *none = NULL;
	struct kernel_prof its;

	if (!start || !vm->lib->profile_stop || !before.is_known ||
	    before.action.sa_handler != SIG_DFL ||
	    !atomic_compare_exchange_strong(&profiled, &none, vm)) {
		tell_unnoted();
		return;
	}
	/* By lines: compiled code looks at each whether it is to be noted. */
	start(vm->main, "li1000000", vm->lib->abi->profiled, vm);
	its = kernel_prof();
	atomic_store(&profiler, its.is_known ? its.action.sa_handler : NULL);
	its.timer = before.timer;
	kernel_prof_restore(&its);
	atomic_store(&profiled_on, &ticks);
}

/* Another VM may have it. */
static void claim_profiler(struct lua_vm *vm)
{
	if (atomic_load(&profiled))
		tell_unnoted();
	else
		start_profiler(vm);
}

/* On its thread, where L may flush compiled code. LuaJIT puts back what was
 * done at SIGPROF before it; if the program does something else by now, that
 * stays. */
static void stop_profiler(struct lua_vm *vm, lua_State *L)
{
	struct kernel_prof now;

	if (atomic_load(&profiled) != vm)
		return;
	now = kernel_prof();
	((stop_fn *)vm->lib->profile_stop)(L);
	if (now.is_known && now.action.sa_handler != atomic_load(&profiler))
		kernel_prof_restore(&now);
	atomic_store(&profiled, NULL);
}

/* Does the profiler serve us still? The program may have put another handler
 * there, or use the profiler itself: then its timer runs. */
static bool profiler_is_ours(const struct lua_vm *vm)
{
	const struct kernel_prof now = kernel_prof();
	prof_fn *const its = atomic_load(&profiler);

	return vm && atomic_load(&profiled) == vm && its && now.is_known &&
	       now.action.sa_handler == its &&
	       now.timer.it_value.tv_sec == 0 &&
	       now.timer.it_value.tv_usec == 0;
}

/* In the handler. */
static bool ask_profiler(const struct lua_vm *vm)
{
	if (!profiler_is_ours(vm))
		return false;
	atomic_load(&profiler)(SIGPROF);
	return true;
}

/* ------------------------------------------------------------------- ticks */

enum answer { NOT_LUA, ASKED, MISSED };

static uint32_t count_frames(const struct thread_state *s)
{
	return (uint32_t)(s->top - s->frames);
}

/* Does r run on the topmost segment of this thread? */
static bool is_here(const struct thread_state *s, const struct lua_running *r)
{
	return r->L != 0 && r->stack == lua_vm_stack(s) &&
	       r->window == s->window && r->segments == s->segments - s->fiber;
}

/* Above the frames that r stands on may be some of calls that it made while
 * each was recorded, but whose ends nobody tells any more. Where what stands on
 * these lies, which they have called. */
static uint32_t above_old(const struct thread_state *s,
			  const struct lua_running *r)
{
	const struct coroutine *const co = !mapped_view.lua_budget ? NULL :
					   lua_co_find((lua_State *)r->L);
	uint32_t i = r->top;

	while (co && co->vm->sampled && i < count_frames(s) &&
	       lua_co_is_vms(co->vm, &s->frames[i]))
		i++;
	return i;
}

/* May it be looked where r was called? The stack may be gone. */
static bool is_mapped(const struct lua_running *r, uint64_t sp)
{
	const uint64_t high = r->sp + 8;
	const uint64_t low = ARCH_CALL_LOW(r->own, r->sp + 16);

	return ((high ^ sp) < 4096 || kernel_can_read((const void *)high)) &&
	       ((low ^ high) < 4096 || kernel_can_read((const void *)low));
}

/* Does the code at this stack pointer run in the call that lua_running is, and
 * not in a native function that is recorded as that? A jump or an exception may
 * have ended that call: then its caller has called others since. */
static bool is_innermost(const struct lua_running *r, uint64_t sp)
{
	const struct thread_state *const s = thread_self;

	return s && s->generation != 0 && sp < r->sp &&
	       r->stack == lua_vm_stack(s) &&
	       r->segments == s->segments - s->fiber &&
	       (r->depth == shadow_depth(s) ||
		(is_here(s, r) && above_old(s, r) == count_frames(s))) &&
	       is_mapped(r, sp) &&
	       arch_was_called_at(r->own, r->sp + 16, r->site);
}

/* Such frames end once nothing stands on them. Returns where calls that r makes
 * stand; 0: not here, or each is recorded. */
static uint32_t settle(struct thread_state *s, const struct lua_running *r)
{
	const struct coroutine *const co = !is_here(s, r) ? NULL :
					   lua_co_find((lua_State *)r->L);
	const uint32_t top = !co ? 0 : above_old(s, r);

	if (!co || !lua_vm_is_sampled(co->vm))
		return 0;
	if (top == r->top || top < count_frames(s))
		return top;
	shadow_unwind(s, s->frames + r->top, UNWIND_RESET, chunk_clock(s));
	s->lua_plain = NULL;
	return r->top;
}

/* In another window, or another recording, L must be met. */
bool lua_sample_goes_on(long L, uint64_t sp)
{
	const struct lua_running *const r = &lua_running;

	return r->L == L && lua_vm_on() && is_innermost(r, sp) &&
	       thread_self->lua_top == count_frames(thread_self) &&
	       thread_self->generation ==
	       atomic_load_explicit(&mapped_pool->generation,
				    memory_order_relaxed) &&
	       r->window == thread_self->window &&
	       r->forgot == atomic_load_explicit(&lua_co_forgot,
						 memory_order_relaxed);
}

/* The object of L, if that is known to run here and to be sampled. */
static struct coroutine *find_sampled(lua_State *L)
{
	struct coroutine *const co = lua_co_served(L);

	return co && co->vm->sampled && !co->vm->closing ? co : NULL;
}

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
	struct coroutine *const co = !home || !__libc_single_threaded ? NULL :
				     find_sampled(home->main);

	return co && co->vm == home && is_active(co) ? co : NULL;
}

static uint64_t collector_of(const struct coroutine *co)
{
	return co->vm->by_layout && co->vm->lib->collector ?
	       co->vm->lib->collector((uint64_t)co->L) : 0;
}

static enum answer ask_state(struct coroutine *co)
{
	bool asked;

	if (ticks.asked && ticks.asked != co->L)
		drop_asked();
	asked = co->vm->lib->abi->is_jit ? ask_profiler(co->vm) :
		co->vm->sampled ? ask_by_hook(co) : ask_our_hook(co);
	if (!asked)
		return MISSED;
	ticks.asked = co->L;
	ticks.collector = collector_of(co);
	return ASKED;
}

static enum answer ask(uint64_t sp)
{
	const struct lua_running *const r = &lua_running;
	struct coroutine *co;

	if (r->L == 0 ? !home : !is_innermost(r, sp))
		return NOT_LUA;
	co = r->L == 0 ? find_home() : find_sampled((lua_State *)r->L);
	if (co)
		return ask_state(co);
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

static enum answer ask_for_line(uint64_t sp)
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
	ticks.in.frame = *f;
	ticks.in.index = (uint32_t)(f - s->frames);
	return ask_state(co);
}

static void tick(uint64_t sp)
{
	struct ticks *const t = &ticks;
	const uint64_t now = kernel_cpu();
	uint64_t took = now - t->cpu;
	enum answer answer;

	t->cpu = now;
	if (is_over()) {
		/* LuaJIT calls us once more then, and is stopped. */
		if (atomic_load(&profiled_on) == t &&
		    ask_profiler(atomic_load(&profiled)))
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
static _Atomic uint32_t taken;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *const c = context;
	const int saved = errno;

	(void)signal;
	if (info->si_code == SI_TIMER && info->si_ptr == (void *)&cookie &&
	    ticks.process == process_serial)
		tick((uint64_t)ARCH_CONTEXT_SP(c));
	errno = saved;
}

/* This thread has no timer in this process, or recording has ended that. */
static SLOW void begin_ticks(void)
{
	struct ticks *const t = &ticks;
	static _Atomic uint32_t forgotten;
	const int saved = errno;

	if (atomic_exchange(&forgotten, process_serial) != process_serial)
		kernel_ticks_forget();
	hold(true);
	t->asked = NULL;
	t->due = t->missed = 0;
	t->cpu = kernel_cpu();
	t->timer = -1;
	t->without = atomic_load(&taken);
	for (int i = 0; i < SIGNALS && t->timer < 0; i++)
		if (!(t->without & 1u << i) &&
		    kernel_handle(signals[i], on_signal))
			t->timer = kernel_tick_begin(t->signal = signals[i],
						     TICK_NS, &cookie);
	t->process = process_serial;
	atomic_store(&has_ticks, true);
	hold(false);
	if (t->timer < 0)
		tell_unnoted();
	thread_upcalls.lua_ends = lua_sample_thread_ends;
	errno = saved;
}

INLINE void keep_ticks(void)
{
	if (unlikely(ticks.process != process_serial ||
		     ticks.without != atomic_load_explicit(
					&taken, memory_order_relaxed) ||
		     (kernel_confined && ticks.timer >= 0)))
		begin_ticks();
}

/* The program uses the signal itself: it is its own. */
static SLOW void yield_signal(int i)
{
	const int saved = errno;

	atomic_fetch_or(&taken, 1u << i);
	if (atomic_load(&has_ticks) && kernel_unhandle(signals[i], on_signal)) {
		kernel_ticks_end(); /* others begin anew when they come by */
		if (ticks.process == process_serial)
			begin_ticks();
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

static prof_fn *our_signal(int signal, prof_fn *handler)
{
	look_at_signal(signal);
	return ((prof_fn *(*)(int, prof_fn *))real_signal)(signal, handler);
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

void lua_sample_thread_ends(void)
{
	if (ticks.process == process_serial && ticks.timer >= 0)
		kernel_tick_end(ticks.timer);
	ticks.process = 0;
	lua_running = (struct lua_running){ .L = 0 };
}

/* --------------------------------------------------------- calls of the VM */

/* Which calls are open is being said: asking about a function may take memory,
 * by functions that have hooks. A handler may have jumped away from that. */
static THREAD_LOCAL bool says;

enum { LUA_OUTER = 32 };

/* What ran when r began: a jump may end r, and nobody comes back then who knew
 * it. */
static void keep_outer(struct thread_state *s, struct lua_running *r,
		       const struct lua_running *was)
{
	struct lua_local *const me = lua_vm_local(s);

	r->level = was->L == 0 ? 0 : was->level + 1;
	if (!me || r->level == 0 || r->level > LUA_OUTER)
		return;
	if (!me->outer)
		me->outer = memory_get(LUA_OUTER * sizeof(*me->outer));
	if (me->outer)
		me->outer[r->level - 1] = *was;
}

void lua_sample_jumped(struct thread_state *s, uint64_t target)
{
	struct lua_running *const r = &lua_running;
	const struct lua_local *const me = s->lua;
	const uint32_t level = r->level;
	const struct coroutine *co;

	while (me && me->outer && r->L != 0 && r->sp < target &&
	       r->level > 0 && r->level <= LUA_OUTER &&
	       r->stack == lua_vm_stack(s) &&
	       shadow_in_alt(s, r->sp) == shadow_in_alt(s, target)) {
		const struct lua_running *const to = &me->outer[r->level - 1];

		if (to->stack != r->stack || to->sp <= r->sp)
			break;
		*r = *to;
	}
	co = r->level == level ? NULL : lua_co_find((lua_State *)r->L);
	if (co && co->vm->sampled && r->window == s->window)
		thread_lua_runs(s, r->top);
}

/* Where the running call's frames stand. */
static bool mark(struct lua_running *r, const struct lua_vm *vm,
		 const struct lua_running *was)
{
	struct thread_state *const s = thread_acquire(r->sp);

	r->stack = NULL;
	if (!s)
		return false;
	if (mapped_view.lua_budget)
		settle(s, was);
	r->stack = lua_vm_stack(s);
	r->segments = s->segments - s->fiber;
	r->depth = shadow_depth(s);
	r->top = count_frames(s);
	r->window = s->window;
	r->forgot = atomic_load(&lua_co_forgot);
	keep_outer(s, r, was);
	thread_lua_runs(s, lua_vm_is_sampled(vm) ? r->top : 0);
	says = false;
	thread_release(s);
	return true;
}

/* Is it on this thread's own stack, and does it go on, in a part of the
 * recording in which nothing has told of it? */
static bool goes_on_unseen(const struct thread_state *s,
			   const struct lua_running *r, uint64_t sp)
{
	return !mapped_view.lua_budget && r->L != 0 &&
	       (r->window != s->window || !r->stack) && s->level == 0 &&
	       !s->fiber_on && r->sp > sp && r->sp <= s->stack_high &&
	       !shadow_in_alt(s, sp);
}

/* All its frames are on what is open now: calls in between are not known. */
static void place_anew(struct thread_state *s, struct lua_running *r)
{
	r->stack = lua_vm_stack(s);
	r->segments = s->segments - s->fiber;
	r->depth = shadow_depth(s);
	r->top = count_frames(s);
	r->window = s->window;
	r->forgot = atomic_load(&lua_co_forgot);
	r->level = 0;
	r->base = 0;
	thread_lua_runs(s, r->top);
	says = false;
}

/* A part of the recording begins. */
static void goes_on(struct thread_state *s)
{
	if (lua_is_sampled() && goes_on_unseen(s, &lua_running, HERE))
		place_anew(s, &lua_running);
}

/* What was running before goes on. */
static void unmark(struct lua_running *was)
{
	struct thread_state *const s = thread_acquire(HERE);

	if (!s)
		return;
	if (lua_is_sampled() && goes_on_unseen(s, was, HERE))
		place_anew(s, was);
	else
		thread_lua_runs(s, mapped_view.lua_budget ? settle(s, was) :
				was->L != 0 && was->window == s->window &&
				was->stack == lua_vm_stack(s) ? was->top : 0);
	thread_release(s);
}

static bool is_same_place(const struct lua_running *a,
			  const struct lua_running *b)
{
	return a->stack == b->stack && a->segments == b->segments &&
	       a->depth == b->depth;
}

void lua_sample_claim(struct lua_vm *vm)
{
	if (unlikely(vm->lib->abi->is_jit && vm->sampled &&
		     atomic_load_explicit(&profiled, memory_order_relaxed) !=
		     vm))
		claim_profiler(vm);
}

void lua_sample_enter(struct coroutine *co, const struct lua_running *was,
		      bool is_resume)
{
	struct lua_running *const r = &lua_running;

	r->base = 0;
	r->stack = NULL;
	if (!co || !lua_vm_on() || !mark(r, co->vm, was))
		return;
	if (lua_vm_is_sampled(co->vm))
		keep_ticks();
	lua_sample_claim(co->vm);
	if (is_resume)
		return;
	if (was->L == r->L && is_same_place(was, r))
		r->base = was->base;
	else if (was->L != 0)
		r->base = co->vm->lib->abi->innermost(
			&co->vm->lib->api, co->L, co->vm->by_layout).id;
}

/* A tick has asked L, which did not come to it. In LuaJIT whoever runs next is
 * asked with it. */
static SLOW void leave_asked(const struct lua_running *was)
{
	struct coroutine *const co = lua_co_served(ticks.asked);
	const struct coroutine *const next = find_sampled((lua_State *)was->L);

	hold(true);
	if (ticks.asked && co && !co->vm->lib->abi->is_jit && look_at_hook(co))
		lua_sample_hook_back(co);
	if (ticks.asked && co && next && next->vm == co->vm &&
	    co->vm->lib->abi->is_jit)
		ticks.asked = next->L;
	else
		drop_asked();
	hold(false);
}

/* A VM that never notes anything would never tell of it. */
static SLOW void tell_missed(void)
{
	const struct coroutine *const co = find_sampled(
		(lua_State *)lua_running.L);
	struct thread_state *const s = !co ? NULL : thread_acquire(HERE);

	if (!s) { /* recording is off, or the VM is gone */
		ticks.missed = 0;
		return;
	}
	lua_vm_seen(s, co->vm);
	lua_vm_name(s, co->vm);
	chunk_need(s, 2 + NOTED_OPERANDS);
	lua_vm_name(s, co->vm); /* in the chunk that the record goes to */
	hold(true);
	chunk_put_with(s, rec_put(REC_NOTED, NOTED_UNKNOWN,
				  chunk_gap(s, chunk_clock(s))),
		       (const uint64_t[]){ 0, ticks.missed, co->vm->serial, 0 },
		       NOTED_OPERANDS);
	ticks.missed = 0;
	hold(false);
	thread_release(s);
}

void lua_sample_leave(struct lua_running *was)
{
	unmark(was);
	if (unlikely(ticks.missed > TELL_MISSED))
		tell_missed();
	if (unlikely(ticks.asked) && ticks.asked != (lua_State *)was->L)
		leave_asked(was);
}

/* -------------------------------------------------- calls that the VM makes */

static void settle_running(void)
{
	struct thread_state *const s = !mapped_view.lua_budget ? NULL :
				       thread_acquire(HERE);

	if (!s)
		return;
	thread_lua_runs(s, settle(s, &lua_running));
	thread_release(s);
}

static SLOW void calls(uint64_t fn, uint64_t sp)
{
	const struct lua_running *const r = &lua_running;
	const struct coroutine *co;
	const int saved = errno;

	settle_running();
	if (!says && lua_vm_on() && is_innermost(r, sp)) {
		co = find_sampled((lua_State *)r->L);
		if (co)
			keep_ticks();
		says = true;
		barrier();
		if (co && co->vm->by_layout)
			co->vm->lib->abi->calls(co, r->base, fn, sp);
		barrier();
		says = false;
	}
	errno = saved;
}

void lua_sample_resumes(uint64_t function, uint64_t sp)
{
	if (thread_self && thread_lua_calls(thread_self))
		calls(function, sp);
}

/* --------------------------------------------------------------------- VMs */

/* Calls by the program are seen, or else it must be told when the VM ends. */
static void see_end(struct lua_vm *vm, lua_State *L)
{
	if (vm->lib->map)
		return;
	vm->end_watched = vm->end_watched || vm->lib->abi->watch_end(vm, L);
	if (!vm->end_watched) {
		tell_unnoted();
		return;
	}
	keep_ticks();
	home = vm;
}

/* Does this thread let the signal of its ticks through? */
static bool may_tick(void)
{
	const struct kernel_signals before = kernel_hold_signals();

	kernel_let_signals(before);
	return ticks.timer >= 0 && before.is_held &&
	       (before.blocked >> (ticks.signal - 1) & 1) == 0;
}

bool lua_sample_may(struct lua_vm *vm)
{
	const struct coroutine *const co = lua_co_served((lua_State *)
							 lua_running.L);
	const struct lua_lib *const lib = vm->lib;

	keep_ticks();
	if (vm->closing || !may_tick() || !thread_self ||
	    (vm->interposed ? !co || co->vm != vm ||
			      lua_running.stack != lua_vm_stack(thread_self) ||
			      lua_running.window != thread_self->window :
			      lua_running.L != 0 || !__libc_single_threaded))
		return false;
	return !lib->abi->is_jit ||
	       (lib->profile_start && lib->profile_stop &&
		!atomic_load(&profiled) &&
		kernel_prof().action.sa_handler == SIG_DFL);
}

void lua_sample_turns(struct thread_state *s, const struct lua_vm *vm)
{
	const struct lua_running *const r = &lua_running;
	const bool is_known = vm->interposed;
	const uint32_t segments = is_known ? r->segments : 1;
	const uint64_t now = chunk_clock(s);
	struct frame *f, *end;

	while (s->segments - s->fiber > segments)
		lua_switch_detach(s, SUSPEND_YIELD | SUSPEND_INFERRED, now);
	end = s->frames + (is_known ? r->top : shadow_segment(s)->base);
	for (f = s->top; f > end && lua_co_is_vms(vm, f - 1);)
		f--;
	shadow_unwind(s, f, UNWIND_RESET, now);
	s->lua_plain = NULL;
	thread_lua_runs(s, is_known ? r->top : 0);
}

void lua_sample_begin(struct coroutine *co)
{
	struct lua_vm *const vm = co->vm;

	if (vm->sampled)
		return;
	thread_upcalls.lua_calls = calls;
	thread_upcalls.lua_goes_on = goes_on;
	barrier();
	vm->sampled = true;
	see_end(vm, co->L);
	/* While nobody recorded, the one before was closed. */
	if (mapped_view.attached && !profiler_is_ours(atomic_load(&profiled)))
		atomic_store(&profiled, NULL);
	if (vm->lib->abi->is_jit)
		claim_profiler(vm);
}

void lua_sample_lines(struct coroutine *co)
{
	struct lua_vm *const vm = co->vm;

	keep_ticks();
	if (!vm->lib->abi->is_jit || atomic_load(&profiled) == vm)
		return;
	/* The one before was closed, which nobody may have seen. */
	if (!profiler_is_ours(atomic_load(&profiled)))
		atomic_store(&profiled, NULL);
	claim_profiler(vm);
}

static void forget(const struct lua_vm *vm)
{
	const struct coroutine *const co = lua_co_find(ticks.asked);

	hold(true);
	if (ticks.asked && (!co || co->vm == vm))
		drop_asked();
	hold(false);
}

void lua_sample_end(struct coroutine *co)
{
	struct lua_vm *const vm = co->vm;

	hold(true);
	if (!vm->lib->abi->is_jit && look_at_hook(co))
		set_hook(co, co->app_hook, co->app_mask, co->app_count);
	hold(false);
	if (profiler_is_ours(vm))
		stop_profiler(vm, co->L);
	vm->sampled = false;
	forget(vm);
}

void lua_sample_lines_end(struct coroutine *co)
{
	if (profiler_is_ours(co->vm))
		stop_profiler(co->vm, co->L);
	forget(co->vm);
}

void lua_sample_closing(struct lua_vm *vm)
{
	const struct coroutine *const co = lua_co_find((lua_State *)
						       lua_running.L);

	vm->closing = true;
	barrier();
	forget(vm);
	stop_profiler(vm, vm->main);
	if (home == vm)
		home = NULL;
	if (co && co->vm == vm)
		lua_running.L = 0;
}

bool lua_sample_ends(struct lua_vm *vm, lua_State *L)
{
	const bool ends = is_over();

	atomic_store(&profiled_on, &ticks);
	if (ends)
		stop_profiler(vm, L);
	return ends;
}

/* ------------------------------------------------------------------ noting */

uint64_t lua_sample_take(lua_State *L, bool any)
{
	struct ticks *const t = &ticks;
	uint64_t due;

	if (mapped_view.lua_budget && t->asked)
		settle_running();
	hold(true);
	if (!t->asked || (!any && t->asked != L))
		return 0;
	due = lua_vm_on() ? t->due : 0;
	t->due = 0;
	t->asked = NULL;
	return due;
}

bool lua_sample_collected(const struct coroutine *co)
{
	return ticks.collector != collector_of(co);
}

const struct lua_ticked *lua_sample_ticked(void)
{
	return &ticks.in;
}

uint64_t lua_sample_take_missed(void)
{
	const uint64_t missed = ticks.missed;

	ticks.missed = 0;
	return missed;
}

void lua_sample_hold(void)
{
	hold(true);
}

void lua_sample_noted(void)
{
	hold(false);
}
