/* cfuncs.c - C functions called from Lua. Compiled twice: as ci_ instrumented,
 * where weft sees both Lua's call and the native entry and must make one of
 * them, and as cu_ plain.
 * SPDX-License-Identifier: MIT */
#include "woven.h"

#ifdef INSTRUMENTED
#define P(name) ci_##name
#define F(name) F_ci_##name
#else
#define P(name) cu_##name
#define F(name) F_cu_##name
#endif

OUTSIDE static struct walk *begin(lua_State *L, enum func f)
{
	struct walk *w = self;

	w->L = L;
	w->jump = NULL;
	book_enter(w, f);
#ifdef INSTRUMENTED
	w->seen[C_c_instrumented]++;
#else
	w->seen[C_c_plain]++;
#endif
	return w;
}

int P(cont)(lua_State *L, int status, lua_KContext context);
int P(pcont)(lua_State *L, int status, lua_KContext context);
int P(call)(lua_State *L), P(pcall)(lua_State *L), P(native)(lua_State *L);
int P(raise)(lua_State *L), P(yield)(lua_State *L), P(snap)(lua_State *L);
int P(yield_deep)(lua_State *L), P(tail)(lua_State *L);

/* A continuation is native code called by the library: a call of its own
 * where it is instrumented, and nothing where it is not. */
OUTSIDE static struct walk *go_on(lua_State *L, lua_KContext depth)
{
	struct walk *w = self;

	w->L = L;
	w->jump = NULL;
	book_cut(w, book_state_mark(w, L, (int)depth));
#ifdef INSTRUMENTED
	book_enter(w, F(cont));
#endif
	return w;
}

#if LUA_VERSION_NUM == 502
#define CONTINUATION(name)                                                     \
	OUTSIDE static int P(name##_52)(lua_State *L)                          \
	{                                                                      \
		int context = 0;                                               \
		const int status = lua_getctx(L, &context);                    \
                                                                               \
		return P(name)(L, status, context);                            \
	}
CONTINUATION(cont)
CONTINUATION(pcont)
#define K(name) P(name##_52)
#else
#define K(name) P(name)
#endif

int P(cont)(lua_State *L, int status, lua_KContext context)
{
	struct walk *w = go_on(L, context);

	if (status == LUA_YIELD)
		w->seen[C_yield_across_c]++;
	if (chance(w, 30))
		native_act(w, 9);
#ifdef INSTRUMENTED
	book_leave(w, F(cont));
#endif
	book_leave(w, F(call));
	return 0;
}

/* (depth, function) */
int P(call)(lua_State *L)
{
	struct walk *w = begin(L, F(call));
	const lua_KContext depth = book_depth(w);

	lua_settop(L, 2);
	lua_pushinteger(L, lua_tointeger(L, 1) + 1);
	lua_callk(L, 1, 0, depth, K(cont));
	return P(cont)(L, LUA_OK, depth);
}

int P(pcont)(lua_State *L, int status, lua_KContext context)
{
	struct walk *w = self;

	w->L = L;
	w->jump = NULL;
	book_cut(w, book_state_mark(w, L, (int)context));
#ifdef INSTRUMENTED
	book_enter(w, F(pcont));
#endif
	if (status == LUA_YIELD)
		w->seen[C_yield_across_c]++;
	else if (status != LUA_OK)
		w->seen[C_error_caught_in_c]++;
	if (chance(w, 30))
		native_act(w, 9);
#ifdef INSTRUMENTED
	book_leave(w, F(pcont));
#endif
	book_leave(w, F(pcall));
	return 0;
}

/* (depth, function) */
int P(pcall)(lua_State *L)
{
	struct walk *w = begin(L, F(pcall));
	const lua_KContext depth = book_depth(w);

	lua_settop(L, 2);
	lua_pushinteger(L, lua_tointeger(L, 1) + 1);
	const int status = lua_pcallk(L, 1, 0, 0, depth, K(pcont));

	return P(pcont)(L, status, depth);
}

/* (depth) */
int P(native)(lua_State *L)
{
	struct walk *w = begin(L, F(native));

	for (unsigned i = pick(w, 4); i > 0; i--)
		native_act(w, (int)lua_tointeger(L, 1) + 1);
	book_leave(w, F(native));
	return 0;
}

/* (depth) */
int P(raise)(lua_State *L)
{
	struct walk *w = begin(L, F(raise));

	w->seen[C_error_from_c]++;
	return (int)n_raise(w, L, (int)pick(w, 4));
}

int P(yield)(lua_State *L)
{
	struct walk *w = begin(L, F(yield));

	w->seen[C_yield_from_c]++;
	book_yield(w, L, -1);
	return lua_yield(L, 0);
}

int P(yield_deep)(lua_State *L)
{
	struct walk *w = begin(L, F(yield_deep));

#if LUA_VERSION_NUM >= 502
	w->seen[C_yield_over_native]++;
	return n_yield(w, L, (int)pick(w, 4), book_depth(w));
#else
	/* lua_yield returns: it passes over nothing. */
	book_yield(w, L, -1);
	return lua_yield(L, 0);
#endif
}

int P(snap)(lua_State *L)
{
	struct walk *w = begin(L, F(snap));

	snap(w);
	book_leave(w, F(snap));
	return 0;
}

/* Called by "return tail()": the caller's frame stays until this returns, but
 * in LuaJIT. */
int P(tail)(lua_State *L)
{
	if (IS_JIT)
		book_tail(self);
	struct walk *w = begin(L, F(tail));

	w->seen[C_tail_call_to_c]++;
	native_act(w, (int)lua_tointeger(L, 1) + 1);
	book_leave(w, F(tail));
	if (!IS_JIT)
		book_leave(w, book_top(w));
	return 0;
}

const luaL_Reg P(funcs)[] = {
#ifdef INSTRUMENTED
#define ROW(name) { "ci_" #name, P(name) }
#else
#define ROW(name) { "cu_" #name, P(name) }
#endif
	ROW(call), ROW(pcall), ROW(native), ROW(raise), ROW(yield),
	ROW(yield_deep), ROW(snap), ROW(tail), { NULL, NULL }
};
