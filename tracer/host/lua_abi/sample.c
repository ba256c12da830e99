/* sample.c - a VM whose stack a tick asked for notes it: which functions run,
 * and in which lines. SPDX-License-Identifier: MIT */
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua_abi/abi.h"
#include "tracer/host/thread/chunk_switch.h"
#include "tracer/host/thread/thread.h"

static uint64_t line_of(const struct weft_lua_api *api, lua_State *L,
			lua_Debug *d)
{
	return function_may_ask(api, L) && API(api, lua_getinfo)(L, "l", d) &&
	       d->currentline > 0 ? (uint64_t)d->currentline : 0;
}

/* Does the frame with this id belong to calls that began before the one that
 * runs, which stand elsewhere? */
static bool is_below(uint64_t id, uint64_t base)
{
	return base != 0 && (IS_JIT || WEFT_LUA_ABI == 51 ? id <= base :
							    id == base);
}

/* Of open calls of co, outermost first, the lines that run there, in the place
 * of their ids. */
static void find_lines(const struct coroutine *co, struct frame *f,
		       uint32_t count)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	lua_Debug d;

	for (int level = 0; count > 0 &&
	     API(api, lua_getstack)(co->L, level, &d); level++)
		if (layout_id(&d) != 0 && layout_id(&d) == f[count - 1].ret)
			f[--count].ret = line_of(api, co->L, &d);
	while (count > 0)
		f[--count].ret = 0;
}

/* The chunk writes ages: the line is that. */
static uint64_t *put_frames(struct thread_state *s, struct frame *f,
			    uint32_t count, uint64_t *to)
{
	for (uint32_t i = 0; i < count; i++)
		f[i].tick = s->last - f[i].ret;
	return dictionary_put_frames(s, f, count, 0, count, to);
}

static bool is_whole(const uint64_t *from, const uint64_t *to)
{
	while (from < to && rec_func(*from) != REC_FUNC_OMITTED)
		from++;
	return from == to;
}

enum { HEAD = 5 }; /* words of NOTED before its frames */

/* Before put: the record goes to the chunk that is open then. */
static void need(struct thread_state *s, struct lua_vm *vm)
{
	lua_vm_seen(s, vm);
	lua_vm_name(s, vm);
	chunk_need(s, HEAD + NOTED_FRAMES + 2);
	lua_vm_name(s, vm);
}

/* f: outermost first. */
static void put(struct thread_state *s, const struct lua_vm *vm,
		struct frame *f, uint32_t count, enum noted state, uint64_t ns)
{
	uint64_t words[HEAD + NOTED_FRAMES], *end;

	end = put_frames(s, f, count, words + HEAD);
	if (!is_whole(words + HEAD, end) && !chunk_is_scrap(s)) {
		chunk_switch(s, 0);
		lua_vm_name(s, vm);
		end = put_frames(s, f, count, words + HEAD);
	}
	words[0] = rec_put(REC_NOTED, state, chunk_gap(s, chunk_clock(s)));
	words[1] = rec_put_value(REC_OPERAND, ns);
	words[2] = rec_put_value(REC_OPERAND, state == NOTED_CALLS ? 0 :
				 lua_ask_take_missed());
	words[3] = rec_put_value(REC_OPERAND, vm->serial);
	words[4] = rec_put_value(REC_OPERAND, (uint64_t)(end - words - HEAD));
	for (const uint64_t *w = words; w < end; w++)
		s->at[w - words] = *w;
	chunk_publish(s, (uint32_t)(end - words));
	s->lua_said = s->at;
}

/* Open calls, outermost first. */
struct calls {
	struct lua_local *me;
	struct frame *f;
	uint32_t count;
};

/* Those of co, but up to the frame base. false: nothing is recorded. */
static bool walk(const struct coroutine *co, uint64_t base, int how,
		 uint64_t sp, struct calls *to)
{
	struct thread_state *const s = thread_acquire(sp);
	struct lua_local *const me = !s ? NULL : lua_vm_local(s);
	struct frame *const f = !me ? NULL : lua_vm_walk_room(me);
	uint32_t count, from;

	if (!s)
		return false;
	if (f && me->window != s->window) {
		me->window = s->window;
		lua_func_unseen();
	}
	thread_release(s);
	if (!f)
		return false;
	count = frames_walk(me, co, how, f, NOTED_FRAMES);
	for (from = count; from > 0 && !is_below(f[from - 1].ret, base);)
		from--;
	*to = (struct calls){ me, f + from, count - from };
	return true;
}

/* A coroutine whose making was not seen; NULL: there is no room for it. */
static const struct coroutine *meet(const struct lua_vm *vm, lua_State *L)
{
	struct coroutine *const co = lua_co_find(L), *main;

	if (co)
		return co;
	main = lua_co_find(vm->main);
	return !main ? NULL : lua_co_met(L, main);
}

/* L is co's, or another of its VM's. */
static void note(const struct coroutine *co, uint64_t base, enum noted state,
		 uint64_t ns, uint64_t sp)
{
	struct thread_state *s;
	struct calls c;

	if (!walk(co, base, LUA_WALK_TICK, sp, &c))
		return;
	find_lines(co, c.f, c.count);
	s = thread_acquire(sp);
	if (!s)
		return;
	need(s, co->vm);
	put(s, co->vm, c.f, c.count, state, ns);
	thread_release(s);
}

/* The call with this frame. Another function may lie where its own lay. */
static struct lua_said_call call_of(uint64_t L, uint64_t id)
{
	struct lua_said_call c = { .id = id };
	bool is_c = true;

	if (layout_shows_callee(L, id))
		c.at = layout_callee(L, id, &is_c);
	if (is_c)
		return c;
	c.lines = layout_word(c.at + PROTO_LINES);
	c.source = layout_word(c.at + PROTO_SOURCE);
	c.text = atomic_load_explicit(lua_func_current(c.source),
				      memory_order_relaxed);
	return c;
}

/* The calls of co that are open, from frame id on, become what was said last.
 * Returns whether they are others than before. */
static bool are_others(struct lua_said *said, const struct coroutine *co,
		       uint64_t id, uint64_t base, uint64_t fn)
{
	const uint64_t L = (uint64_t)co->L;
	bool others = said->L != L || said->fn != fn;
	uint32_t n = 0;

	for (; id != 0 && !is_below(id, base) && n < NOTED_FRAMES;
	     id = layout_above(L, id), n++) {
		const struct lua_said_call now = call_of(L, id);
		struct lua_said_call *const was = &said->call[n];

		others = others || was->id != id || was->at != now.at ||
			 was->source != now.source ||
			 was->lines != now.lines || was->text != now.text;
		*was = now;
	}
	others = others || said->open != n;
	said->L = L;
	said->fn = fn;
	said->open = n;
	return others;
}

/* The one of co's VM that runs: in LuaJIT it may be one that co has resumed,
 * without a call of lua_resume. NULL: it is not in a C function, as where a
 * signal's handler makes the call, and frames are not what they were. */
static const struct coroutine *running(const struct coroutine *co)
{
	const struct lua_lib *const lib = co->vm->lib;
	const uint64_t all = layout_global((uint64_t)co->L);

	if (!IS_JIT)
		return co;
	return lib->running_at == 0 || lib->state_at == 0 ||
	       layout_half(all + lib->state_at) != LAYOUT_RUNS_C ? NULL :
	       meet(co->vm, (lua_State *)layout_word(all + lib->running_at));
}

/* Its innermost frame, if it makes that call and frames may be looked at; else
 * 0. Within an instruction they may not be what they were, but that of a C
 * function is innermost then. */
static uint64_t caller(const struct coroutine *co, uint64_t base, uint64_t fn)
{
	const uint64_t L = (uint64_t)co->L;
	uint64_t id;
	bool is_c;

	if (!layout_stack_is_there(L))
		return 0;
	id = frames_innermost(&co->vm->lib->api, co->L, true).id;
	if (id == 0 || is_below(id, base) || !layout_shows_callee(L, id))
		return 0;
	layout_callee(L, id, &is_c);
	return is_c || (fn == 0 && !IS_JIT) ? id : 0;
}

/* Says it with one look at each frame, if they are the same as before. Returns
 * whether that is done, or cannot be. */
static bool said_again(const struct coroutine *co, uint64_t id, uint64_t base,
		       uint64_t fn, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);
	struct lua_local *const me = !s ? NULL : lua_vm_local(s);
	bool again = false;

	if (!s)
		return true;
	if (me && are_others(&me->said, co, id, base, fn))
		me->said.epoch = 0;
	else if (me && me->said.epoch == s->epoch)
		need(s, co->vm);
	if (me && me->said.epoch == s->epoch) {
		again = true;
		if (me->said.count > 0)
			put(s, co->vm, NULL, 0, NOTED_CALLS, 0);
	}
	thread_release(s);
	return again || !me;
}

/* The innermost frame is not one of the calls if it is fn's. */
void sample_calls(const struct coroutine *co, uint64_t base, uint64_t fn,
		  uint64_t sp)
{
	const struct coroutine *const by = running(co);
	struct thread_state *s;
	struct calls c;
	uint64_t id;

	base = by == co ? base : 0;
	id = !by ? 0 : caller(by, base, fn);
	if (id == 0 || said_again(by, id, base, fn, sp) ||
	    !walk(by, base, LUA_WALK_CALL, sp, &c))
		return;
	if (c.count > 0 && c.f[c.count - 1].key == fn) {
		c.count--;
		lua_sample_claim(by->vm);
	}
	for (uint32_t i = 0; i < c.count; i++)
		c.f[i].ret = 0; /* no line is known */
	s = thread_acquire(sp);
	if (!s)
		return;
	need(s, co->vm);
	if (c.count > 0)
		put(s, co->vm, c.f, c.count, NOTED_CALLS, 0);
	c.me->said.epoch = s->epoch;
	c.me->said.count = c.count;
	thread_release(s);
}

/* The line that runs in the open call on L with this id, 0: not known. Before
 * LuaJIT runs a function, its frame may move up. */
static uint64_t line_at(const struct weft_lua_api *api, lua_State *L,
			uint64_t id)
{
	lua_Debug d, found;
	uint64_t last = 0;

	for (int level = 0; last != id && API(api, lua_getstack)(L, level, &d);
	     level++) {
		if (IS_JIT && layout_id(&d) < id)
			break;
		last = layout_id(&d);
		found = d;
	}
	return last == id || (IS_JIT && last != 0) ? line_of(api, L, &found) :
						     0;
}

/* Each call is recorded: one frame tells in which line a tick has come. The
 * call that it came in may have called others since; if it is over, the line is
 * not known. */
static void note_line(const struct coroutine *co, enum noted state,
		      uint64_t ns, uint64_t sp)
{
	const struct lua_ticked *const in = lua_ask_ticked();
	const uint64_t line = line_at(&co->vm->lib->api, co->L, in->frame.ret);
	struct thread_state *const s = thread_acquire(sp);
	struct frame one = in->frame;

	if (!s)
		return;
	one.ret = in->index < (size_t)(s->top - s->frames) &&
		  s->frames[in->index].key == one.key &&
		  s->frames[in->index].tick == one.tick ? line : 0;
	need(s, co->vm);
	put(s, co->vm, &one, 1, state | NOTED_OPEN, ns);
	thread_release(s);
}

void sample_line(struct coroutine *co, lua_State *L, bool is_count,
		 uint64_t sp)
{
	const uint64_t due = lua_ask_take(L, false);

	if (co && is_count)
		lua_ask_line_over(co);
	if (co && due > 0)
		note_line(co, lua_ask_collected(co) ? NOTED_COLLECTOR :
			  NOTED_UNKNOWN, due, sp);
	lua_ask_noted();
}

void sample_hook(struct coroutine *co, lua_State *L)
{
	const uint64_t due = lua_ask_take(L, false);

	if (co)
		lua_ask_hook_back(co);
	if (co && due > 0)
		note(co, lua_running.L == (long)L ? lua_running.base : 0,
		     lua_ask_collected(co) ? NOTED_COLLECTOR : NOTED_UNKNOWN,
		     due, HERE);
	lua_ask_noted();
}

/* ------------------------------------------------------------ a VM's end
 * Where lua_close is not seen: what the registry keeps has a finalizer. */

static THREAD_LOCAL const struct lua_vm *planting;

static int ended(lua_State *L)
{
	const struct coroutine *const co = lua_co_find(L);

	if (co)
		lua_sample_closing(co->vm);
	return 0;
}

/* Runs protected: its allocations may fail. */
static int plant(lua_State *L)
{
	const struct weft_lua_api *const api = &planting->lib->api;

	API(api, lua_pushstring)(L, "weft: end");
#if LUA_VERSION_NUM >= 502
	API(api, lua_createtable)(L, 0, 0);
#else
	API(api, lua_newuserdata)(L, 1);
#endif
	API(api, lua_createtable)(L, 0, 1);
	API(api, lua_pushstring)(L, "__gc");
	API(api, lua_pushcclosure)(L, ended, 0);
	API(api, lua_rawset)(L, -3);
	API(api, lua_setmetatable)(L, -2);
	API(api, lua_rawset)(L, compat_registry(api, L));
	return 0;
}

/* A program's table of an earlier weft ends before these functions. */
bool sample_watch_end(struct lua_vm *vm, lua_State *L)
{
	const struct weft_lua_api *const api = &vm->lib->api;
	int failed;

	if (!api->lua_createtable || !api->lua_setmetatable ||
	    !api->lua_pushstring || !api->lua_rawset ||
	    (LUA_VERSION_NUM < 502 && (!api->lua_newuserdata ||
				       !api->lua_cpcall)))
		return false;
	planting = vm;
	failed = compat_protected(api, L, plant);
	planting = NULL;
	if (failed)
		API(api, lua_settop)(L, -2);
	return failed == 0;
}

/* ---------------------------------------------------------------- LuaJIT */

#if WEFT_LUA_ABI == 21
/* Its letters for what it did at the tick. */
static enum noted state_of(int letter)
{
	switch (letter) {
	case 'N':
		return NOTED_COMPILED;
	case 'I':
		return NOTED_INTERPRETED;
	case 'C':
		return NOTED_C;
	case 'G':
		return NOTED_COLLECTOR;
	case 'J':
		return NOTED_COMPILER;
	default:
		return NOTED_UNKNOWN;
	}
}

void sample_profiled(void *vm, lua_State *L, int samples, int letter)
{
	const struct coroutine *co;
	uint64_t due;

	(void)samples;
	if (lua_ask_ends(vm, L))
		return;
	due = lua_ask_take(L, true);
	co = due > 0 ? meet(vm, L) : NULL;
	if (co && co->vm->sampled)
		note(co, lua_running.L == (long)L ? lua_running.base : 0,
		     state_of(letter), due, HERE);
	else if (co && state_of(letter) != NOTED_C)
		note_line(co, state_of(letter), due, HERE);
	lua_ask_noted();
}
#endif
