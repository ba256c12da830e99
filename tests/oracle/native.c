/* native.c - the instrumented native functions of the random program: plain,
 * inlined, recursive, jumping, and those that enter Lua.
 * Each says itself to the account that it begins and ends.
 * SPDX-License-Identifier: MIT */
#include "woven.h"

#include <stdlib.h>

#define BEGIN(name) book_enter(w, F_##name)
#define END(name) book_leave(w, F_##name)
#define PLAIN __attribute__((noinline))
#define INLINED static inline __attribute__((always_inline))

long n_0(struct walk *w, int d), n_1(struct walk *w, int d);
long n_2(struct walk *w, int d), n_3(struct walk *w, int d);
long n_4(struct walk *w, int d), n_5(struct walk *w, int d);
long n_6(struct walk *w, int d), n_7(struct walk *w, int d);
long n_inlines(struct walk *w, int d), n_deep(struct walk *w, int n, int what);
long n_try(struct walk *w, int d), n_sigtry(struct walk *w, int d);
long n_throw(struct walk *w, int n), n_loop(struct walk *w, int d);
void slot_0(struct walk *w, struct jump *to);
void slot_1(struct walk *w, struct jump *to);
void slot_2(struct walk *w, struct jump *to);
void slot_3(struct walk *w, struct jump *to);
long n_lua(struct walk *w, int d), n_resume(struct walk *w, int d);

/* Twice some work, so that the last hook of a function is a tail call in
 * some and not in others. */
#define WORKER(name)                                                           \
	PLAIN long name(struct walk *w, int d)                                 \
	{                                                                      \
		BEGIN(name);                                                   \
		w->seen[C_native_call]++;                                      \
		long r = native_act(w, d + 1);                                 \
		if (r & 1)                                                     \
			r += native_act(w, d + 1);                             \
		END(name);                                                     \
		return r;                                                      \
	}
#define LEAF(name)                                                             \
	PLAIN long name(struct walk *w, int d)                                 \
	{                                                                      \
		BEGIN(name);                                                   \
		w->seen[C_native_call]++;                                      \
		END(name);                                                     \
		return d;                                                      \
	}
WORKER(n_0)
WORKER(n_1)
WORKER(n_2)
WORKER(n_3)
WORKER(n_4)
WORKER(n_5)
LEAF(n_6)
LEAF(n_7)

INLINED long i_0(struct walk *w, int d)
{
	BEGIN(i_0);
	w->seen[C_inline_call]++;
	END(i_0);
	return d;
}

INLINED long i_1(struct walk *w, int d)
{
	BEGIN(i_1);
	w->seen[C_inline_call]++;
	const long r = i_0(w, d) + n_6(w, d) + i_0(w, d);

	END(i_1);
	return r;
}

INLINED long i_2(struct walk *w, int d)
{
	BEGIN(i_2);
	w->seen[C_inline_call]++;
	const long r = native_act(w, d + 1) + i_1(w, d);

	END(i_2);
	return r;
}

static inline long i_again(struct walk *w, int n)
{
	BEGIN(i_again);
	w->seen[C_recursive_inline]++;
	const long r = n > 0 ? 1 + i_again(w, n - 1) : i_0(w, n);

	END(i_again);
	return r;
}

PLAIN long n_inlines(struct walk *w, int d)
{
	BEGIN(n_inlines);
	long r = i_2(w, d) + i_1(w, d) + i_again(w, (int)pick(w, 7));

	if (r & 1)
		r += i_0(w, d) + i_0(w, d + 1);
	END(n_inlines);
	return r;
}

enum { THEN_RETURN, THEN_THROW, THEN_SNAP, THEN_LEAF };

PLAIN long n_deep(struct walk *w, int n, int what)
{
	BEGIN(n_deep);
	w->seen[C_native_recursion]++;
	long r = n;

	if (n > 0)
		r += n_deep(w, n - 1, what);
	else if (what == THEN_THROW)
		r += n_throw(w, 0);
	else if (what == THEN_SNAP)
		snap(w);
	else if (what == THEN_LEAF)
		r += n_7(w, 0);
	END(n_deep);
	return r;
}

PLAIN long n_throw(struct walk *w, int n)
{
	BEGIN(n_throw);
	long r = n;

	if (n > 0)
		r += n_throw(w, n - 1);
	else if (w->jump && w->jump->with_mask)
		siglongjmp(w->jump->at, 1);
	else if (w->jump)
		longjmp(w->jump->at, 1);
	END(n_throw);
	return r;
}

/* What is done where a jump can be caught. */
OUTSIDE static long dare(struct walk *w, int d)
{
	long r = native_act(w, d);

	if (chance(w, 60)) {
		if (chance(w, 15)) {
			w->seen[C_longjmp_deep]++;
			r += n_deep(w, 5 + (int)pick(w, 30), THEN_THROW);
		}
		r += n_throw(w, (int)pick(w, 4));
	}
	return r;
}

PLAIN long n_try(struct walk *w, int d)
{
	BEGIN(n_try);
	struct jump here = { .with_mask = false };
	struct jump *const outer = w->jump;
	const struct mark m = book_mark(w);
	lua_State *const L = w->L;
	long r = 0;

	if (setjmp(here.at) == 0) {
		w->jump = &here;
		r = dare(w, d + 1);
	} else {
		book_cut(w, m);
		w->seen[C_longjmp]++;
	}
	w->jump = outer;
	w->L = L;
	if (chance(w, 50))
		n_7(w, d);
	END(n_try);
	return r;
}

PLAIN long n_sigtry(struct walk *w, int d)
{
	BEGIN(n_sigtry);
	struct jump here = { .with_mask = true };
	struct jump *const outer = w->jump;
	const struct mark m = book_mark(w);
	lua_State *const L = w->L;

	if (sigsetjmp(here.at, 1) == 0) {
		w->jump = &here;
		dare(w, d + 1);
	} else {
		book_cut(w, m);
		w->seen[C_siglongjmp]++;
	}
	w->jump = outer;
	w->L = L;
	END(n_sigtry);
	return d;
}

/* A dispatcher: functions with frames of one size, each left by a jump to the
 * same point. */
#define SLOT(name)                                                             \
	PLAIN void name(struct walk *w, struct jump *to)                       \
	{                                                                      \
		BEGIN(name);                                                   \
		w->seen[C_dispatch_longjmp]++;                                 \
		longjmp(to->at, 1);                                            \
	}
SLOT(slot_0)
SLOT(slot_1)
SLOT(slot_2)
SLOT(slot_3)

PLAIN long n_loop(struct walk *w, int d)
{
	static void (*const slots[4])(struct walk *, struct jump *) = {
		slot_0, slot_1, slot_2, slot_3
	};
	BEGIN(n_loop);
	struct jump here = { .with_mask = false };
	const struct mark m = book_mark(w);
	volatile unsigned left = 1 + pick(w, 6);

	setjmp(here.at);
	book_cut(w, m);
	if (left-- > 0)
		slots[pick(w, 4)](w, &here);
	END(n_loop);
	return d;
}

/* From native code into Lua, on whatever state runs. */
PLAIN long n_lua(struct walk *w, int d)
{
	BEGIN(n_lua);
	lua_State *const L = w->L;
	struct jump *const outer = w->jump;
	const struct mark m = book_mark(w);
	const int top = lua_gettop(L);

	luaL_checkstack(L, 20, NULL);
	lua_getfield(L, LUA_REGISTRYINDEX, "f");
	lua_rawgeti(L, -1, 1 + (int)pick(w, LUA_FUNCS));
	lua_pushinteger(L, d + 1);
	w->jump = NULL;
	w->seen[C_native_to_lua]++;
	if (lua_pcall(L, 1, 0, 0) != LUA_OK)
		w->seen[C_error_caught_in_c]++;
	book_cut(w, m);
	w->L = L;
	w->jump = outer;
	lua_settop(L, top);
	if (chance(w, 30))
		n_6(w, d);
	END(n_lua);
	return d;
}

OUTSIDE static void resume(struct walk *w, lua_State *L, lua_State *co, int d)
{
	struct jump *const outer = w->jump;
	const struct mark m = book_mark(w);
	int results = 0, args = 0;

	if (lua_status(co) == LUA_OK) {
		lua_pushinteger(co, d + 1);
		args = 1;
	}
	w->jump = NULL;
	w->seen[C_native_resume]++;
	book_resume(w, co);
	const int status = lua_resume(co, L, args, &results);

	if (status == LUA_YIELD) {
		lua_pop(co, results);
	} else {
		if (status != LUA_OK)
			w->seen[C_error_in_coroutine]++;
		book_cut(w, m);
	}
	w->L = L;
	w->jump = outer;
}

/* Resumes a coroutine from native code: one of the VM's, or a new one. */
PLAIN long n_resume(struct walk *w, int d)
{
	BEGIN(n_resume);
	lua_State *const L = w->L;
	const int top = lua_gettop(L);
	lua_State *co;

	luaL_checkstack(L, 20, NULL);
	if (chance(w, 40) || !(co = pool_take(w, L))) {
		const int body = (int)pick(w, LUA_FUNCS);

		co = lua_newthread(L);
		w->seen[C_newthread]++;
		book_coro(co, true, (enum func)(F_lua0 + body));
		lua_getfield(co, LUA_REGISTRYINDEX, "f");
		lua_rawgeti(co, -1, 1 + body);
		lua_remove(co, -2);
	}
	if (book_segments(w) < 6) {
		resume(w, L, co, d);
		if (chance(w, 30))
			n_7(w, d);
	}
	/* One that never ran stays out of the pool: it would need arguments. */
	if (lua_status(co) == LUA_YIELD)
		pool_put(w, L);
	lua_settop(L, top);
	END(n_resume);
	return d;
}

/* An error from below native frames. Does not return. */
PLAIN long n_raise(struct walk *w, lua_State *L, int depth)
{
	BEGIN(n_raise);
	long r = depth;

	if (depth > 0) {
		r += n_raise(w, L, depth - 1);
	} else if (chance(w, 50)) {
		luaL_error(L, "an error from %s", "C");
	} else {
		lua_newtable(L);
		lua_error(L);
	}
	END(n_raise);
	return r;
}

/* A yield from below native frames: they die. */
PLAIN int n_yield(struct walk *w, lua_State *L, int depth, int keep)
{
	BEGIN(n_yield);
	int r;

	if (depth > 0) {
		r = n_yield(w, L, depth - 1, keep);
	} else {
		book_yield(w, L, keep);
		r = lua_yield(L, 0);
	}
	END(n_yield);
	return r;
}

OUTSIDE static long recurse(struct walk *w)
{
	const bool is_far = chance(w, 4);
	const int n = is_far ? 1200 : (int)pick(w, 40);

	return n_deep(w, n, w->jump && chance(w, 50) ? THEN_THROW :
		      is_far && chance(w, 50) ? THEN_SNAP :
		      chance(w, 50) ? THEN_LEAF : THEN_RETURN);
}

OUTSIDE static bool lua_has_room(const struct walk *w)
{
	return w->L && w->vm && book_open(w) < 90;
}

long native_act(struct walk *w, int d)
{
	static long (*const workers[8])(struct walk *, int) = {
		n_0, n_1, n_2, n_3, n_4, n_5, n_6, n_7
	};

	if (!may_go_on(w, d))
		return 0;
	w->budget--;
	fiber_act(w);
	const unsigned p = pick(w, 100);

	if (p < 4)
		return x_act(w, d);
	if (p < 6)
		tick_wait(w);
	if (p < 40)
		return workers[pick(w, 8)](w, d);
	if (p < 50)
		return n_inlines(w, d);
	if (p < 58)
		return n_try(w, d);
	if (p < 63)
		return n_sigtry(w, d);
	if (p < 66)
		return w->jump ? n_throw(w, (int)pick(w, 3)) : n_loop(w, d);
	if (p < 68)
		return recurse(w);
	if (p < 84 && lua_has_room(w))
		return n_lua(w, d);
	if (p < 96 && lua_has_room(w))
		return n_resume(w, d);
	if (p < 97)
		snap(w);
	return 1;
}
