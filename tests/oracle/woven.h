/* woven.h - the random program whose calls weft must tell exactly. It keeps its
 * own account: every function says itself that it begins and ends. Shares no
 * code with the tracer, the recorder or the replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "before54.h"

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SNAPS = 128, LUA_FUNCS = 10, POOL_MAX = 8 };

/* Every function that may be recorded, by the name weft should show. Library
 * functions bear Lua's name for them. */
#define NATIVE_LIST(X)                                                         \
	X(main) X(thread_main) X(vm_open) X(vm_turn) X(vm_resume)              \
	X(n_0) X(n_1) X(n_2) X(n_3) X(n_4) X(n_5) X(n_6) X(n_7)                \
	X(i_0) X(i_1) X(i_2) X(i_again) X(n_inlines)                           \
	X(n_deep) X(n_try) X(n_sigtry) X(n_throw) X(n_loop)                    \
	X(slot_0) X(slot_1) X(slot_2) X(slot_3)                                \
	X(n_lua) X(n_resume) X(n_raise) X(n_yield)                             \
	X(n_spin) X(s_out) X(s_in) X(on_tick) X(t_help)                        \
	X(n_fiber) X(f_hop) X(f_body)
/* C++: templates bear one name, whatever they are made for. */
#define CPP_LIST(X)                                                            \
	X(x_act) X(x_add) X(x_power) X(x_twice) X(x_apply) X(x_fill) X(x_sum)  \
	X(x_try) X(x_middle) X(x_risky) X(x_after) X(x_guard)
/* Compiled twice: ci_ is instrumented, cu_ is not. */
#define C_LIST(X)                                                              \
	X(ci_call) X(ci_pcall) X(ci_native) X(ci_raise) X(ci_yield)            \
	X(ci_yield_deep) X(ci_snap) X(ci_tail) X(ci_cont) X(ci_pcont)          \
	X(cu_call) X(cu_pcall) X(cu_native) X(cu_raise) X(cu_yield)            \
	X(cu_yield_deep) X(cu_snap) X(cu_tail) X(cu_cont) X(cu_pcont)
/* The account's own functions that Lua code calls. */
#define BOOK_LIST(X)                                                           \
	X(b_enter) X(b_leave) X(b_before) X(b_after) X(b_made) X(b_alive)      \
	X(b_resuming) X(b_yielding) X(b_yielded) X(b_take) X(b_put)            \
	X(b_closed) X(b_pick) X(b_choose) X(b_count)
#define LIB_LIST(X)                                                            \
	X(l_create) X(l_wrap) X(l_wrapped) X(l_resume) X(l_yield) X(l_close)   \
	X(l_pcall) X(l_xpcall) X(l_error) X(l_sort) X(l_gsub)
#define LUA_LIST(X)                                                            \
	X(chunk) X(deep) X(thrower) X(handler) X(cmp) X(repl) X(iter)          \
	X(mm_index) X(mm_add) X(mm_call)
#define FUNC_LIST(X)                                                           \
	NATIVE_LIST(X) CPP_LIST(X) C_LIST(X) BOOK_LIST(X) LIB_LIST(X)          \
	LUA_LIST(X)

enum func {
	F_none,
#define X(name) F_##name,
	FUNC_LIST(X)
#undef X
	F_lua0,
	F_snap0 = F_lua0 + LUA_FUNCS,
	F_END = F_snap0 + SNAPS
};

/* What must be seen often; the program counts each. */
#define CONSTRUCT_LIST(X)                                                      \
	X(native_call) X(inline_call) X(recursive_inline) X(native_recursion)  \
	X(longjmp) X(siglongjmp) X(dispatch_longjmp) X(longjmp_deep)           \
	X(lua_call) X(lua_recursion) X(lua_tail_call) X(tail_call_to_c)        \
	X(metamethod) X(iterator) X(callback)                                  \
	X(c_instrumented) X(c_plain) X(native_to_lua)                          \
	X(pcall) X(xpcall) X(error_string) X(error_table) X(error_runtime)     \
	X(error_from_c) X(error_caught) X(error_caught_in_c)                   \
	X(create) X(wrap) X(newthread) X(resume) X(native_resume) X(yield)     \
	X(yield_from_c) X(yield_over_native) X(yield_across_pcall)             \
	X(yield_across_c) X(moved) X(abandoned) X(closed) X(error_in_coroutine)\
	X(snap) X(turn)                                                        \
	X(tick) X(tick_on_its_stack) X(tick_with_place)                        \
	X(template_call) X(template_recursion) X(container) X(destructor)      \
	X(throw_class) X(throw_int) X(caught_class) X(caught_int) X(rethrow)   \
	X(frame_left_by_exception)                                             \
	X(fiber_resume) X(fiber_moved) X(fiber_hop)                            \
	X(fiber_hop_in_coroutine) X(fiber_ended)

enum construct {
#define X(name) C_##name,
	CONSTRUCT_LIST(X)
#undef X
	C_END
};

enum action {
	A_none, A_call, A_meta, A_pcall, A_xpcall, A_throw, A_thrower, A_co,
	A_wrap, A_take, A_yield, A_cfunc, A_sort, A_gsub, A_snap, A_deep,
	A_iter, A_close, A_END
};

#define OUTSIDE __attribute__((no_instrument_function))

struct coro;   /* a coroutine's account */
struct seg;    /* a piece of a thread's stack */
struct account;
struct fiber;

struct jump {
	sigjmp_buf at;
	bool with_mask;
};

/* What a catcher must remember to know who died. */
struct mark {
	struct seg *seg;
	int depth;
};

struct vm {
	pthread_mutex_t lock;
	lua_State *main;
	int pooled;
};

/* One thread's walk through the program, or one fiber's. */
struct walk {
	uint64_t random, side;  /* side: what concerns fibers */
	long budget, turns;
	struct vm *vm;          /* held now, or NULL */
	lua_State *L;           /* the state that runs now, or NULL */
	struct jump *jump;      /* where native code may jump to, or NULL */
	struct account *account; /* a fiber's: of the thread it runs on */
	struct seg *own;        /* where frames of main states stand */
	struct walk *thread;    /* itself, or of the thread a fiber runs on */
	struct fiber *fiber;    /* or NULL */
	unsigned long seen[C_END];
	unsigned long skipped;  /* calls that ended otherwise than by return */
	unsigned long ticks, helps;     /* the signal handler's calls */
	unsigned long *volatile place;  /* of its calls here; NULL: not sure */
	bool is_ticking;
};

extern __thread struct walk *self;
extern const char *const func_names[F_END];

/* book.c: the account. Not instrumented. */
struct account *book_new(int thread);
void book_begin(struct walk *w); /* first in its thread */
void book_enter(struct walk *w, enum func f);
void book_leave(struct walk *w, enum func f);
void book_tail(struct walk *w);
void book_return(struct walk *w, struct mark m);
void book_leaf(struct walk *w, enum func f);
struct mark book_mark(const struct walk *w);
bool book_cut(struct walk *w, struct mark m); /* true: somebody died */
int book_depth(const struct walk *w);
int book_open(const struct walk *w);
int book_segments(const struct walk *w);
enum func book_top(const struct walk *w);
unsigned long *book_place(const struct walk *w);
void book_snap(struct walk *w, int k);
struct coro *book_coro(lua_State *co, bool is_new, enum func body);
void book_resume(struct walk *w, lua_State *co);
void book_yield(struct walk *w, lua_State *co, int keep);
struct mark book_state_mark(const struct walk *w, lua_State *L, int depth);
struct mark book_state_top(const struct walk *w, lua_State *L);
bool book_is_suspended(lua_State *co);
void book_finish(struct walk *w, lua_State *co);
struct coro *book_fiber(enum func body);
bool book_fiber_on(struct walk *w, struct coro *c); /* true: it moved */
void book_fiber_off(struct walk *w, struct coro *c, bool is_over);
int book_place_of(const struct walk *w, const struct coro *c);
void book_write(struct account *const *a, const struct walk *w, int n,
		FILE *out);
void book_die(const char *what) __attribute__((noreturn));

/* pick.c: chance, and what Lua code asks of it. Not instrumented. */
unsigned pick(struct walk *w, unsigned n); /* 0 ... n - 1 */
bool chance(struct walk *w, unsigned percent);
bool may_go_on(struct walk *w, int depth);
void lua_book_push(lua_State *L);
lua_State *pool_take(struct walk *w, lua_State *L); /* pushes it */
void pool_put(struct walk *w, lua_State *L);        /* pops it */

/* tick.c: a timer's signal handler. */
void tick_start(struct walk *w, bool on_its_stack);
void tick_stop(struct walk *w);
void tick_wait(struct walk *w);
void tick_hold(const struct walk *w, bool on);

/* fibers_woven.c */
void fiber_start(struct walk *w, uint64_t seed, const char *script);
void fiber_act(struct walk *w);
void fiber_stop(struct walk *w);

/* cpp.cc */
long x_act(struct walk *w, int depth);

/* native.c */
long native_act(struct walk *w, int depth)
	__attribute__((no_instrument_function));
long n_raise(struct walk *w, lua_State *L, int depth);
int n_yield(struct walk *w, lua_State *L, int depth, int keep);
void snap(struct walk *w);
void vm_open(struct walk *w, struct vm *vm, const char *script);
void vm_turn(struct walk *w);
void vm_resume(struct walk *w);

/* cfuncs.c, twice */
extern const luaL_Reg ci_funcs[], cu_funcs[];
