/* p_attach.c - "p_attach THREADS [LIBRARY [US]]": a program that runs before it
 * is recorded, opens and closes the library all the time, each time as many
 * microseconds later, and does what its input says.
 * flags: -finstrument-functions -lpthread -ldl
 * The lines of its input:
 *   on       waits until its native calls are recorded; says "on"
 *   off      waits until they are not recorded; says "off"
 *   round N  between two marks, each thread calls step N times; says "calls"
 *            with how often that was, and whether all answers were right
 *   load F   opens library F; rounds then call its plug N times; says "loaded"
 *   unload   closes it; says "unloaded"
 *   close    with -DCLOSE: a thread closes it as soon as someone has made what
 *            is read-only of it writable, who then waits for that, but not
 *            for ever; says "ready"
 *   closed   waits until it is closed; says "closed"
 *   jumps    with -DJUMP: says how often a thread has jumped out of what it
 *            was in when someone made what is read-only writable
 *   leave F  with -DJUMP: opens library F, and jumps out of closing it; says
 *            "left"
 * Else its threads call churn and sleep. With -DLUA, each has a VM of its own,
 * and calls a function lstep there with each step. It finds weft's functions
 * when it needs them: it may have been started without.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef LUA
#include <lauxlib.h>
#include <lualib.h>
#endif

#define UNSEEN __attribute__((no_instrument_function))
enum { THREADS = 64 };

static atomic_long wanted[THREADS];
static atomic_ulong counted;
static atomic_int stop, wrong;
typedef long plug_fn(long n);
static plug_fn *plug;
long churn(long n);
long step(long n);

__attribute__((noinline)) long churn(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n > 0 ? churn(n - 1) + 1 : 0;
}

__attribute__((noinline)) long step(long n)
{
	return churn(n) + 1;
}

#ifdef LUA
typedef lua_State vm;

UNSEEN static vm *vm_new(void)
{
	static const char text[] = "function lstep(n) return n + 1 end";
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_loadbuffer(L, text, sizeof(text) - 1, "=s") != 0 ||
	    lua_pcall(L, 0, 0, 0) != 0)
		abort();
	return L;
}

UNSEEN static long lua_step(vm *L, long n)
{
	long result;

	lua_getglobal(L, "lstep");
	lua_pushinteger(L, n);
	if (lua_pcall(L, 1, 1, 0) != 0)
		return -1;
	result = (long)lua_tointeger(L, -1);
	lua_settop(L, 0);
	return result;
}
#else
typedef void vm;
#define vm_new() NULL
#define lua_step(L, n) ((void)(L), (n) + 1)
#endif

#ifdef JUMP
static __thread sigjmp_buf back;
static __thread volatile bool may_jump;
static atomic_long jumps;

UNSEEN static void on_signal(int number)
{
	if (!may_jump)
		return;
	may_jump = false;
	atomic_fetch_add(&jumps, 1);
	siglongjmp(back, number);
}

int mprotect(void *at, size_t size, int rights);

UNSEEN int mprotect(void *at, size_t size, int rights)
{
	const int r = (int)syscall(SYS_mprotect, at, size, rights);

	if ((rights & PROT_WRITE) && may_jump)
		raise(SIGUSR1);
	return r;
}

UNSEEN static long churn_and_jump(long n)
{
	if (sigsetjmp(back, 1) != 0)
		return n;
	may_jump = true;
	n = churn(n);
	may_jump = false;
	return n;
}

UNSEEN static void leave(char *path)
{
	void *volatile it;

	path[strcspn(path, "\n")] = '\0';
	it = dlopen(path, RTLD_NOW);
	if (it && sigsetjmp(back, 1) == 0) {
		may_jump = true;
		dlclose(it);
	}
	puts(it ? "left" : dlerror());
}

UNSEEN static bool obeys(char *line)
{
	if (line[0] == 'j')
		printf("%ld\n", atomic_load(&jumps));
	else if (line[0] == 'l' && line[1] == 'e')
		leave(line + 6);
	else
		return false;
	return true;
}
#else
#define churn_and_jump(n) churn(n)
#define on_signal SIG_DFL
#define obeys(line) false
#endif

UNSEEN static void *work(void *of)
{
	atomic_long *const mine = of;
	vm *const L = vm_new();

	while (!atomic_load(&stop)) {
		long n = atomic_load(mine);

		for (long i = 0; i < n; i++) {
			if (step(3) != 4 || lua_step(L, i) != i + 1)
				atomic_store(&wrong, 1);
			atomic_fetch_add(&counted, 1);
		}
		if (n > 0)
			atomic_store(mine, 0);
		if (churn_and_jump(20) != 20)
			atomic_store(&wrong, 1);
		usleep(200);
	}
	return NULL;
}

static useconds_t pause_us = 300;

UNSEEN static void *reopen(void *path)
{
	while (!atomic_load(&stop)) {
		void *const library = dlopen(path, RTLD_NOW);
		plug_fn *const f = (plug_fn *)dlsym(library, "beside");

		if (f(1) != 2)
			atomic_store(&wrong, 1);
		dlclose(library);
		usleep(pause_us);
	}
	return NULL;
}

static void *library;

#ifdef CLOSE
static atomic_int is_ready, closes, is_closed;

int mprotect(void *at, size_t size, int rights);

UNSEEN int mprotect(void *at, size_t size, int rights)
{
	const int r = (int)syscall(SYS_mprotect, at, size, rights);
	const long far = (const char *)at - (const char *)plug;

	if ((rights & PROT_WRITE) && labs(far) < 1 << 16 &&
	    atomic_exchange(&is_ready, 0)) {
		atomic_store(&closes, 1);
		for (int ms = 0; ms < 500 && !atomic_load(&is_closed); ms++)
			usleep(1000);
	}
	return r;
}

UNSEEN static void *close_it(void *of)
{
	(void)of;
	while (!atomic_load(&closes))
		usleep(100);
	dlclose(library);
	atomic_store(&is_closed, 1);
	return NULL;
}

UNSEEN static void close_later(bool waits)
{
	pthread_t closer;

	while (waits && !atomic_load(&is_closed))
		usleep(1000);
	if (!waits && pthread_create(&closer, NULL, close_it, NULL) == 0)
		atomic_store(&is_ready, 1);
	puts(waits ? "closed" : "ready");
}
#else
#define close_later(waits) puts("no")
#endif

UNSEEN static void load(char *path)
{
	if (!path) {
		plug = NULL;
		dlclose(library);
		puts("unloaded");
		return;
	}
	path[strcspn(path, "\n")] = '\0';
	library = dlopen(path, RTLD_NOW);
	plug = library ? (plug_fn *)dlsym(library, "plug") : NULL;
	puts(plug ? "loaded" : dlerror());
}

/* weft's function of that name: its library may be one that only a recorder
 * has loaded, which others do not see. */
UNSEEN static void *find(const char *name)
{
	void *const weft = dlopen("libweft.so", RTLD_LAZY | RTLD_NOLOAD);

	return weft ? dlsym(weft, name) : NULL;
}

UNSEEN static void mark(const char *name)
{
	void (*weft)(const char *) = (void (*)(const char *))find("weft_mark");

	if (weft)
		weft(name);
}

UNSEEN static int is_on(void)
{
	int (*status)(struct weft_status *) =
		(int (*)(struct weft_status *))find("weft_status");
	struct weft_status s = { .size = sizeof(s) };

	churn(1); /* which may be what a recorder waits for */
	if (status)
		status(&s);
	return s.on;
}

UNSEEN static void round_of(long n, int threads)
{
	atomic_store(&counted, 0);
	mark("begin");
	for (int i = 0; i < threads; i++)
		atomic_store(&wanted[i], n);
	for (long i = 0; plug && i < n; i++) {
		if (plug(i) != i + 1)
			atomic_store(&wrong, 1);
	}
	for (int i = 0; i < threads; i++) {
		while (atomic_load(&wanted[i]) != 0)
			usleep(200);
	}
	mark("end");
	printf("calls %lu %s\n", atomic_load(&counted),
	       atomic_load(&wrong) ? "wrong" : "right");
}

UNSEEN static void obey(char *line, int threads)
{
	const int on = line[0] == 'o' && line[1] == 'n';

	if (line[0] == 'r') {
		round_of(atol(line + 6), threads);
	} else if (line[0] == 'l' || line[0] == 'u') {
		load(line[0] == 'l' ? line + 5 : NULL);
	} else if (line[0] == 'c') {
		close_later(line[5] == 'd');
	} else {
		while (is_on() != on)
			usleep(500);
		puts(on ? "on" : "off");
	}
}

UNSEEN int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread[THREADS], opener;
	char line[512];

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGUSR1, on_signal);
	if (argc > 3)
		pause_us = (useconds_t)atoi(argv[3]);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, &wanted[i]);
	if (argc > 2)
		pthread_create(&opener, NULL, reopen, argv[2]);
	while (fgets(line, sizeof(line), stdin)) {
		if (!obeys(line))
			obey(line, threads);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (argc > 2)
		pthread_join(opener, NULL);
	puts(atomic_load(&wrong) ? "wrong" : "right");
	return 0;
}
