/* p_fibers MODE SEED [FIBERS THREADS [LATE]]: fibers that own Lua VMs, whose
 * Lua code has coroutines of its own, run by threads in random order; the
 * program's own account of calls, callers and resumes goes to stdout. MODE: who
 * tells of switches: api, context, tsan, asan, or link: contexts that end by
 * returning. LATE: so many switches away from fibers go by before recording
 * begins, and the account with it (one thread).
 * flags: -finstrument-functions -I/usr/include/lua5.4 -llua5.4 -lpthread
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define QUIET __attribute__((no_instrument_function, noinline))
#define TOLD __attribute__((noinline))

/* Whatever is there: weft's, or nobody's. */
#pragma weak weft_fiber_create
#pragma weak weft_fiber_switch
#pragma weak weft_fiber_destroy
#pragma weak weft_resume
#define WEAK __attribute__((weak))
WEAK void *__tsan_create_fiber(unsigned);
WEAK void __tsan_destroy_fiber(void *);
WEAK void __tsan_switch_to_fiber(void *, unsigned);
WEAK void *__tsan_get_current_fiber(void);
WEAK void __sanitizer_start_switch_fiber(void **, const void *, size_t);
WEAK void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);

enum mode { API, CONTEXT, TSAN, ASAN, LINK };
static enum mode mode;

#define FUNCS(X) X(leaf) X(twist) X(hop) X(jumper) X(jumps) X(deep) X(drive)   \
	X(c_hop) X(c_leaf) X(c_fail) X(resume) X(worker)
enum func {
#define X(name) F_##name,
	FUNCS(X)
#undef X
	F_END, LUA, FIBERS_MAX = 48
};
static const char *const names[] = {
#define X(name) #name,
	FUNCS(X)
#undef X
};

struct book {
	unsigned long calls[F_END], edges[F_END][F_END];
	unsigned char stack[20000]; /* F_END: a fiber's body; LUA: Lua's */
	int depth;
};

struct thread;
struct fib {
	ucontext_t ctx;
	char *memory;
	struct thread *on;
	struct book book;
	lua_State *L;
	unsigned random;
	int number, hops, give_up_at, is_done, resumes, moves, bodies;
	struct thread *before;
	struct weft_fiber *weft;
	void *tsan, *tsan_back, *fake;
	const void *back_low;
	size_t back_size;
};

struct thread {
	pthread_t id;
	ucontext_t ctx;
	struct fib *now;
	struct fib *left;   /* by a fiber that went straight to another */
	struct book book;
	unsigned random;
	void *fake;
};

enum { STACK = 1 << 20 };
static struct fib fibs[FIBERS_MAX];
static struct thread threads[16];
static int fiber_count = 12, thread_count = 4, late;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fib *ready[FIBERS_MAX];
static int ready_count, alive;

QUIET static unsigned dice(unsigned *r, unsigned n)
{
	*r = *r * 1103515245 + 12345;
	return (*r >> 16) % n;
}

QUIET static void in(struct book *b, enum func f)
{
	b->calls[f]++;
	if (b->depth > 0 && b->stack[b->depth - 1] < F_END)
		b->edges[b->stack[b->depth - 1]][f]++;
	b->stack[b->depth++] = (unsigned char)f;
}

/* ------------------------------------------------------------ the schedule */

QUIET static struct fib *take(unsigned *r)
{
	struct fib *f = NULL;

	pthread_mutex_lock(&lock);
	if (ready_count > 0) {
		const unsigned i = dice(r, (unsigned)ready_count);

		f = ready[i];
		ready[i] = ready[--ready_count];
	}
	pthread_mutex_unlock(&lock);
	return f;
}

QUIET static void give(struct fib *f)
{
	const int over = f->is_done || f->hops == f->give_up_at;

	if (over && mode == TSAN)
		__tsan_destroy_fiber(f->tsan);
	else if (over && mode == API && !f->is_done)
		weft_fiber_destroy(f->weft);
	pthread_mutex_lock(&lock);
	if (over)
		alive--;
	else
		ready[ready_count++] = f;
	pthread_mutex_unlock(&lock);
}

QUIET static void landed(struct fib *f)
{
	if (mode == ASAN)
		__sanitizer_finish_switch_fiber(f->fake, &f->back_low,
						&f->back_size);
	if (f->on->left) {
		give(f->on->left);
		f->on->left = NULL;
	}
}

QUIET static void counted(struct fib *f, struct thread *t)
{
	f->resumes++;
	f->moves += f->before && f->before != t;
	f->before = f->on = t;
	t->now = f;
}

QUIET static void forget(struct book *b)
{
	memset(b->calls, 0, sizeof(b->calls));
	memset(b->edges, 0, sizeof(b->edges));
}

/* Recording begins: of what was before, nothing counts. */
QUIET static void begin(struct fib *runs)
{
	for (int i = 0; i < fiber_count; i++) {
		lua_State *const L = fibs[i].L;

		forget(&fibs[i].book);
		fibs[i].bodies = fibs[i].resumes = fibs[i].moves = 0;
		if (!L)
			continue;
		lua_getglobal(L, "count");
		lua_pushnil(L);
		while (lua_next(L, -2)) {
			lua_pop(L, 1);
			lua_pushvalue(L, -1);
			lua_pushnil(L);
			lua_settable(L, -4);
		}
		lua_pop(L, 1);
	}
	for (int i = 0; i < thread_count; i++)
		forget(&threads[i].book);
	runs->resumes = 1;
	if (weft_resume)
		weft_resume();
}

/* Go from a fiber to its thread, or straight to another fiber. */
QUIET static void go(struct fib *f, struct fib *to)
{
	ucontext_t *const next = to ? &to->ctx : &f->on->ctx;

	if (late > 0 && --late == 0)
		begin(f);
	if (to) {
		counted(to, f->on);
		f->on->left = f;
		to->back_low = f->back_low;
		to->tsan_back = f->tsan_back;
	}
	if (mode == API && f->is_done)
		weft_fiber_destroy(f->weft);
	else if (mode == API)
		weft_fiber_switch(to ? to->weft : NULL);
	else if (mode == TSAN)
		__tsan_switch_to_fiber(to ? to->tsan : f->tsan_back,
				       0);
	else if (mode == ASAN && !to)
		__sanitizer_start_switch_fiber(f->is_done ? NULL : &f->fake,
			f->back_low, f->back_size);
	else if (mode == ASAN)
		__sanitizer_start_switch_fiber(&f->fake, to->memory, STACK);
	swapcontext(&f->ctx, next);
	landed(f);
}

TOLD static void hop(struct fib *f)
{
	struct fib *to = NULL;

	in(&f->book, F_hop);
	f->hops++;
	/* Where the way back comes with the switch, all go by the thread. */
	if (mode != ASAN && dice(&f->random, 4) == 0)
		to = take(&f->random);
	go(f, to);
	f->book.depth--;
}

/* ---------------------------------------------------------------- the work */

TOLD static void leaf(struct fib *f)
{
	in(&f->book, F_leaf);
	__asm__ volatile("");
	f->book.depth--;
}

TOLD static void twist(struct fib *f, int depth)
{
	in(&f->book, F_twist);
	for (unsigned i = dice(&f->random, 4); i > 0; i--) {
		leaf(f);
		if (depth > 0 && dice(&f->random, 2))
			twist(f, depth - 1);
		if (dice(&f->random, 5) == 0)
			hop(f);
	}
	f->book.depth--;
}

TOLD static void jumper(struct fib *f, int depth, jmp_buf to)
{
	in(&f->book, F_jumper);
	if (depth == 3)
		hop(f);
	if (depth == 0)
		longjmp(to, 1);
	jumper(f, depth - 1, to);
	f->book.depth--;
}

TOLD static void jumps(struct fib *f)
{
	jmp_buf to;
	int depth;

	in(&f->book, F_jumps);
	depth = f->book.depth;
	if (setjmp(to) == 0)
		jumper(f, 6, to);
	f->book.depth = depth;
	leaf(f);
	f->book.depth--;
}

TOLD static void deep(struct fib *f, int depth)
{
	in(&f->book, F_deep);
	if (depth > 0)
		deep(f, depth - 1);
	else
		hop(f);
	f->book.depth--;
}

/* --------------------------------------------------------------------- Lua */

QUIET static struct fib *fib_of(lua_State *L)
{
	return *(struct fib **)lua_getextraspace(L);
}

/* Lua's side of the book is kept in Lua. */
QUIET static void in_lua(struct book *b, enum func f)
{
	b->stack[b->depth++] = LUA;
	in(b, f);
}

TOLD static int c_hop(lua_State *L)
{
	struct fib *const f = fib_of(L);

	in_lua(&f->book, F_c_hop);
	hop(f);
	f->book.depth -= 2;
	return 0;
}

TOLD static int c_leaf(lua_State *L)
{
	struct fib *const f = fib_of(L);

	in_lua(&f->book, F_c_leaf);
	leaf(f);
	f->book.depth -= 2;
	return 0;
}

TOLD static int c_fail(lua_State *L)
{
	struct fib *const f = fib_of(L);

	in_lua(&f->book, F_c_fail);
	leaf(f);
	hop(f);
	f->book.depth -= 2;
	return luaL_error(L, "as asked");
}

static const char script[] =
"local C, resume = count, coroutine.resume\n"
"local function add(name) C[name] = (C[name] or 0) + 1 end\n"
"function lleaf(from)\n"
"  add('calls lleaf') add('edges ' .. from .. ' lleaf')\n"
"  add('edges lleaf c_leaf') c_leaf()\n"
"end\n"
"function lbody(k)\n"
"  add('calls lbody')\n"
"  for i = 1, k do\n"
"    lleaf('lbody')\n"
"    if i % 2 == 0 then add('edges lbody c_hop') c_hop() end\n"
"    coroutine.yield(i)\n"
"  end\n"
"  if k % 3 == 0 then add('edges lbody c_fail') c_fail() end\n"
"end\n"
"function lnest(k)\n"
"  add('calls lnest')\n"
"  local co = coroutine.create(lbody)\n"
"  while coroutine.status(co) ~= 'dead' do\n"
"    add('resumes lbody') resume(co, k)\n"
"    coroutine.yield()\n"
"  end\n"
"end\n"
"function lmain(k)\n"
"  add('calls lmain')\n"
"  local co = coroutine.create(lnest)\n"
"  while coroutine.status(co) ~= 'dead' do\n"
"    add('resumes lnest') resume(co, k)\n"
"    lleaf('lmain')\n"
"    if k > 2 then pcall(c_fail) end\n"
"    add('edges lmain c_hop') c_hop()\n"
"  end\n"
"end\n";

QUIET static lua_State *make_vm(struct fib *f)
{
	lua_State *const L = luaL_newstate();

	*(struct fib **)lua_getextraspace(L) = f;
	luaL_openlibs(L);
	lua_newtable(L);
	lua_setglobal(L, "count");
	lua_register(L, "c_hop", c_hop);
	lua_register(L, "c_leaf", c_leaf);
	lua_register(L, "c_fail", c_fail);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=script") ||
	    lua_pcall(L, 0, 0, 0))
		abort();
	return L;
}

TOLD static void drive(struct fib *f)
{
	in(&f->book, F_drive);
	if (!f->L)
		f->L = make_vm(f);
	for (int i = 0; i < 4; i++) {
		twist(f, 4);
		lua_getglobal(f->L, "lmain");
		lua_pushinteger(f->L, 1 + dice(&f->random, 6));
		if (lua_pcall(f->L, 1, 0, 0))
			abort();
		jumps(f);
		if (i == 2)
			deep(f, 3000);
	}
	f->book.depth--;
}

QUIET static void begun(struct fib *f)
{
	f->book.stack[f->book.depth++] = F_END;
	f->bodies++;
	landed(f);
}

QUIET static void ended(struct fib *f)
{
	f->is_done = 1;
	if (mode != LINK)
		go(f, NULL);
}

/* One function for each fiber, so that reports tell them apart. */
#define BODY(n)                                                                \
	TOLD static void body_##n(unsigned low, unsigned high)                 \
	{                                                                      \
		struct fib *const f = (struct fib *)                           \
			((unsigned long)high << 32 | low);                     \
		begun(f);                                                      \
		drive(f);                                                      \
		ended(f);                                                      \
	}
#define BODIES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
BODIES(BODY)
typedef void body_fn(unsigned, unsigned);
#define NAME(n) body_##n,
static body_fn *const bodies[] = { BODIES(NAME) };
enum { BODY_COUNT = sizeof(bodies) / sizeof(*bodies) };

/* ------------------------------------------------------------- the threads */

TOLD static void resume(struct thread *t, struct fib *f)
{
	in(&t->book, F_resume);
	counted(f, t);
	if (mode == API) {
		weft_fiber_switch(f->weft);
	} else if (mode == TSAN) {
		f->tsan_back = __tsan_get_current_fiber();
		__tsan_switch_to_fiber(f->tsan, 0);
	} else if (mode == ASAN) {
		__sanitizer_start_switch_fiber(&t->fake, f->memory, STACK);
	}
	swapcontext(&t->ctx, &f->ctx);
	if (mode == ASAN)
		__sanitizer_finish_switch_fiber(t->fake, NULL, NULL);
	t->book.depth--;
}

QUIET static int more(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = alive;
	pthread_mutex_unlock(&lock);
	return n > 0;
}

TOLD static void *worker(void *arg)
{
	struct thread *const t = arg;

	in(&t->book, F_worker);
	while (more()) {
		struct fib *const f = take(&t->random);

		if (!f)
			continue;
		resume(t, f);
		give(t->now); /* who came back, by way of others perhaps */
	}
	t->book.depth--;
	return NULL;
}

QUIET static void make_fiber(struct fib *f, int number, unsigned seed)
{
	const unsigned long at = (unsigned long)f;

	f->number = number;
	f->random = seed * 977 + (unsigned)number;
	f->give_up_at = number % 6 == 5 ? 40 + number : -1;
	f->memory = malloc(STACK);
	if (number % 2)
		f->L = make_vm(f);
	if (mode == API)
		f->weft = weft_fiber_create();
	else if (mode == TSAN)
		f->tsan = __tsan_create_fiber(0);
	getcontext(&f->ctx);
	f->ctx.uc_stack.ss_sp = f->memory;
	f->ctx.uc_stack.ss_size = STACK;
	f->ctx.uc_link = mode == LINK ? &threads[0].ctx : NULL;
	makecontext(&f->ctx, (void (*)(void))bodies[number % BODY_COUNT], 2,
		    (unsigned)at, (unsigned)(at >> 32));
	ready[ready_count++] = f;
	alive++;
}

/* ------------------------------------------------------------- the account */

QUIET static void tell_lua(lua_State *L)
{
	lua_getglobal(L, "count");
	lua_pushnil(L);
	while (lua_next(L, -2)) {
		const char *const key = lua_tostring(L, -2);
		const char *const name = strchr(key, ' ') + 1;

		printf("%.*s %lld %s\n", (int)(name - key - 1), key,
		       lua_tointeger(L, -1), name);
		lua_pop(L, 1);
	}
}

QUIET static void tell(const struct book *b)
{
	for (int i = 0; i < F_END; i++) {
		if (b->calls[i] > 0)
			printf("calls %lu %s\n", b->calls[i], names[i]);
		for (int k = 0; k < F_END; k++)
			if (b->edges[i][k] > 0)
				printf("edges %lu %s %s\n", b->edges[i][k],
				       names[i], names[k]);
	}
}

QUIET static void tell_fiber(const struct fib *f)
{
	const int n = f->number % BODY_COUNT;

	tell(&f->book);
	printf("calls %d body_%d\nresumes %d body_%d\nfibers %d body_%d\n"
	       "moved %d body_%d\n", f->bodies, n, f->resumes, n,
	       f->resumes > 0, n, f->moves > 0, n);
	if (f->is_done && (mode == API || mode == ASAN || mode == LINK))
		printf("ended 1 body_%d\n", n);
	if (f->L)
		tell_lua(f->L);
}

/* On which line each Lua function begins: by that weft names them. */
QUIET static void tell_lines(void)
{
	int line = 1;

	for (const char *at = script; at; line++) {
		if (strncmp(at, "function ", 9) == 0)
			printf("line %d %.*s\n", line,
			       (int)strcspn(at + 9, "("), at + 9);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
}

QUIET static int setup(int argc, char **argv)
{
	static const char *const modes[] = { "api", "context", "tsan", "asan",
					     "link" };
	const unsigned seed = argc < 3 ? 1 : (unsigned)atoi(argv[2]);

	for (int i = 0; argc > 1 && i < 5; i++)
		if (!strcmp(argv[1], modes[i]))
			mode = (enum mode)i;
	if (argc > 4) {
		fiber_count = atoi(argv[3]);
		thread_count = atoi(argv[4]);
	}
	late = argc > 5 ? atoi(argv[5]) : 0;
	if (mode == LINK)
		thread_count = 1;
	if (fiber_count > FIBERS_MAX || thread_count > 16)
		return 0;
	if ((mode == API && !weft_fiber_create) || (mode == TSAN &&
	    !__tsan_create_fiber) || (mode == ASAN &&
				      !__sanitizer_start_switch_fiber)) {
		puts("nobody to tell");
		return 0;
	}
	for (int i = 0; i < fiber_count; i++)
		make_fiber(&fibs[i], i, seed);
	for (int i = 0; i < thread_count; i++)
		threads[i].random = seed + (unsigned)i;
	return 1;
}

QUIET static void run_threads(void)
{
	for (int i = 1; i < thread_count; i++)
		pthread_create(&threads[i].id, NULL, worker, &threads[i]);
	worker(&threads[0]);
	for (int i = 1; i < thread_count; i++)
		pthread_join(threads[i].id, NULL);
}

QUIET int main(int argc, char **argv)
{
	if (!setup(argc, argv))
		return 1;
	run_threads();
	tell_lines();
	for (int i = 0; i < fiber_count; i++)
		tell_fiber(&fibs[i]);
	for (int i = 0; i < thread_count; i++)
		tell(&threads[i].book);
	return 0;
}
