/* pick.c - chance, and the functions by which Lua code keeps its account. These
 * are called from Lua, so they are calls too and stand in the account.
 * Compiled without instrumentation.
 * SPDX-License-Identifier: MIT */
#include "woven.h"

__thread struct walk *self;

enum { DEPTH_MAX = 14, OPEN_MAX = 90, SEGMENTS_MAX = 6 };

unsigned pick(struct walk *w, unsigned n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (unsigned)((w->random * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % n;
}

bool chance(struct walk *w, unsigned percent)
{
	return pick(w, 100) < percent;
}

bool may_go_on(struct walk *w, int depth)
{
	return w->budget > 0 && depth < DEPTH_MAX && book_open(w) < OPEN_MAX;
}

/* A call from Lua: whatever native code set aside no longer holds. */
static struct walk *walk_at(lua_State *L)
{
	self->L = L;
	self->jump = NULL;
	return self;
}

/* First in every Lua function: (its number). */
static int b_enter(lua_State *L)
{
	struct walk *w = walk_at(L);

	/* A message handler: the coroutine whose error it gets is dead. */
	book_cut(w, book_state_top(w, L));
	book_enter(w, (enum func)lua_tointeger(L, 1));
	book_leaf(w, F_b_enter);
	return 0;
}

/* Last in every Lua function: (whether a tail call to a Lua function
 * follows). */
static int b_leave(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_leave);
	if (lua_toboolean(L, 1))
		book_tail(w);
	else
		book_leave(w, book_top(w));
	return 0;
}

/* Before a library function is called: (its number). Gives a mark. */
static int b_before(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_before);
	lua_pushinteger(L, book_depth(w));
	book_enter(w, (enum func)lua_tointeger(L, 1));
	return 1;
}

/* After it returned: (the mark). Whoever stood above it is gone. */
static int b_after(lua_State *L)
{
	struct walk *w = walk_at(L);
	const int depth = (int)lua_tointeger(L, 1);

	book_return(w, book_state_mark(w, L, depth));
	book_leaf(w, F_b_after);
	return 0;
}

/* The coroutine of an argument: a thread, or what coroutine.wrap gave. */
static lua_State *coroutine_at(lua_State *L, int i)
{
	lua_State *co = lua_tothread(L, i);

	if (!co && lua_getupvalue(L, i, 1)) {
		co = lua_tothread(L, -1);
		lua_pop(L, 1);
	}
	if (!co)
		book_die("no coroutine");
	return co;
}

/* (coroutine, number of its body) */
static int b_made(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_coro(coroutine_at(L, 1), true, (enum func)lua_tointeger(L, 2));
	book_leaf(w, F_b_made);
	return 0;
}

static int b_alive(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_alive);
	lua_pushboolean(L, book_is_suspended(coroutine_at(L, 1)) &&
			book_segments(w) < SEGMENTS_MAX);
	return 1;
}

/* Before a resume: (coroutine, number of the resuming function). */
static int b_resuming(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_resuming);
	lua_pushinteger(L, book_depth(w));
	book_enter(w, (enum func)lua_tointeger(L, 2));
	book_resume(w, coroutine_at(L, 1));
	w->seen[C_resume]++;
	return 1;
}

/* Before coroutine.yield. */
static int b_yielding(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_yielding);
	book_enter(w, F_l_yield);
	book_yield(w, L, -1);
	w->seen[C_yield]++;
	return 0;
}

/* After any yield: the function that yielded has returned. */
static int b_yielded(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leave(w, book_top(w));
	book_leaf(w, F_b_yielded);
	return 0;
}

lua_State *pool_take(struct walk *w, lua_State *L)
{
	if (w->vm->pooled == 0 || book_segments(w) >= SEGMENTS_MAX)
		return NULL;
	lua_getfield(L, LUA_REGISTRYINDEX, "pool");
	const int at = 1 + (int)pick(w, (unsigned)w->vm->pooled);

	lua_rawgeti(L, -1, at);
	lua_rawgeti(L, -2, w->vm->pooled);
	lua_rawseti(L, -3, at);
	lua_pushnil(L);
	lua_rawseti(L, -3, w->vm->pooled--);
	lua_remove(L, -2);
	return lua_tothread(L, -1);
}

void pool_put(struct walk *w, lua_State *L)
{
	if (!book_is_suspended(lua_tothread(L, -1))) {
		lua_pop(L, 1);
		return;
	}
	lua_getfield(L, LUA_REGISTRYINDEX, "pool");
	lua_insert(L, -2);
	int at = w->vm->pooled + 1;

	if (at > POOL_MAX) {
		at = 1 + (int)pick(w, POOL_MAX);
		w->seen[C_abandoned]++;
	} else {
		w->vm->pooled = at;
	}
	lua_rawseti(L, -2, at);
	lua_pop(L, 1);
}

static int b_take(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_take);
	return pool_take(w, L) != NULL;
}

static int b_put(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_put);
	lua_settop(L, 1);
	if (chance(w, 55)) {
		pool_put(w, L);
	} else if (book_is_suspended(lua_tothread(L, 1))) {
		w->seen[C_abandoned]++;
	}
	return 0;
}

static int b_closed(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_finish(w, coroutine_at(L, 1));
	book_leaf(w, F_b_closed);
	w->seen[C_closed]++;
	return 0;
}

/* (n): 1 ... n; 0 where nothing more should be begun. */
static int b_pick(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_pick);
	lua_pushinteger(L, 1 + (int)pick(w, (unsigned)lua_tointeger(L, 1)));
	return 1;
}

static int b_count(lua_State *L)
{
	struct walk *w = walk_at(L);

	book_leaf(w, F_b_count);
	w->seen[lua_tointeger(L, 1)]++;
	return 0;
}

/* (depth, [action]): what to do next; that action, if it may be done. */
static int b_choose(lua_State *L)
{
	static const unsigned char weight[A_END] = {
		[A_none] = 1, [A_call] = 16, [A_meta] = 3, [A_pcall] = 6,
		[A_xpcall] = 4, [A_throw] = 5, [A_thrower] = 8, [A_co] = 9,
		[A_wrap] = 4, [A_take] = 14, [A_yield] = 30, [A_cfunc] = 22,
		[A_sort] = 3, [A_gsub] = 3, [A_snap] = 1, [A_deep] = 3,
		[A_iter] = 3, [A_close] = 6,
	};
	struct walk *w = walk_at(L);
	int a = A_none;

	book_leaf(w, F_b_choose);
	if (may_go_on(w, (int)lua_tointeger(L, 1))) {
		int sum = 0;

		for (int i = 0; i < A_END; i++)
			sum += weight[i];
		int left = (int)pick(w, (unsigned)sum);

		while (left >= weight[a])
			left -= weight[a++];
		if (lua_toboolean(L, 2) && chance(w, 80))
			a = (int)lua_tointeger(L, 2);
		if (a == A_yield && !lua_isyieldable(L))
			a = A_call;
		if (a == A_close && LUA_VERSION_NUM < 504)
			a = A_take;
		if (a == A_xpcall && IS_51) /* which passes no arguments */
			a = A_pcall;
		if (a == A_deep && !chance(w, 50))
			a = A_cfunc;
		w->budget--;
	}
	lua_pushinteger(L, a);
	return 1;
}

static void push_enum(lua_State *L)
{
	static const char *const actions[A_END] = {
		"none", "call", "meta", "pcall", "xpcall", "throw", "thrower",
		"co", "wrap", "take", "yield", "cfunc", "sort", "gsub", "snap",
		"deep", "iter", "close",
	};

	lua_newtable(L);
	for (int i = 0; i < A_END; i++) {
		lua_pushinteger(L, i);
		lua_setfield(L, -2, actions[i]);
	}
	lua_setfield(L, -2, "A");
	lua_newtable(L);
	for (int i = 1; i < F_lua0; i++) {
		lua_pushinteger(L, i);
		lua_setfield(L, -2, func_names[i]);
	}
	lua_pushinteger(L, F_lua0);
	lua_setfield(L, -2, "f");
	lua_setfield(L, -2, "F");
	lua_newtable(L);
#define X(name)                                                                \
	lua_pushinteger(L, C_##name);                                          \
	lua_setfield(L, -2, #name);
	CONSTRUCT_LIST(X)
#undef X
	lua_setfield(L, -2, "S");
}

/* The table that the script gets. */
void lua_book_push(lua_State *L)
{
	static const luaL_Reg funcs[] = {
#define X(name) { #name, name },
		BOOK_LIST(X)
#undef X
		{ NULL, NULL }
	};

	lua_newtable(L);
	luaL_setfuncs(L, funcs, 0);
	luaL_setfuncs(L, ci_funcs, 0);
	luaL_setfuncs(L, cu_funcs, 0);
	push_enum(L);
}
