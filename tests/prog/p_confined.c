/* p_confined.c - "p_confined all|kill|lib WHAT": gives up system calls, and
 * does one thing after that. all: by a filter that forbids none, so that one
 * can see which it makes; kill: by one that kills for those that a hook might
 * make and the program does not; lib: the same, set by libseccomp.
 * WHAT: deep, threads, fork, fibers, lua, load LIBRARY.
 * built by tests/e2e/host-confined.sh
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <lauxlib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <lualib.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))

/* A library of the sanitizers', or weft's. */
#pragma weak __sanitizer_start_switch_fiber
#pragma weak __sanitizer_finish_switch_fiber
void __sanitizer_start_switch_fiber(void **, const void *, size_t);
void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);

static const unsigned forbidden[] = {
	SYS_getpid, SYS_gettid, SYS_prctl, SYS_sigaltstack, SYS_readlink,
	SYS_get_robust_list, SYS_sched_yield,
};
enum { FORBIDDEN = sizeof(forbidden) / sizeof(forbidden[0]) };

int leaf(int x);
int deep(int n);

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

__attribute__((noinline)) int deep(int n)
{
	return n == 0 ? 0 : leaf(deep(n - 1));
}

UNSEEN static int filter(int kills)
{
	struct sock_filter code[FORBIDDEN + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		[FORBIDDEN + 1] = BPF_STMT(BPF_RET | BPF_K,
					   SECCOMP_RET_ALLOW),
		[FORBIDDEN + 2] = BPF_STMT(BPF_RET | BPF_K, kills ?
			SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { FORBIDDEN + 3, code };

	for (int i = 0; i < FORBIDDEN; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, forbidden[i],
			(unsigned char)(FORBIDDEN - i), 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0;
}

/* Its headers are not needed. */
#ifdef LIBSECCOMP
void *seccomp_init(unsigned action);
int seccomp_rule_add(void *ctx, unsigned action, int call, unsigned args, ...);
int seccomp_load(void *ctx);

UNSEEN static int filter_by_library(void)
{
	void *const ctx = seccomp_init(SECCOMP_RET_ALLOW);

	for (int i = 0; ctx && i < FORBIDDEN; i++)
		seccomp_rule_add(ctx, SECCOMP_RET_KILL_PROCESS,
				 (int)forbidden[i], 0);
	return !ctx || seccomp_load(ctx) != 0;
}
#else
#define filter_by_library() 1
#endif

UNSEEN static void call(int times)
{
	for (int i = 0; i < times; i++)
		leaf(i);
}

UNSEEN static void *thread(void *none)
{
	call(100);
	return none;
}

UNSEEN static void each_in_a_thread(void *(*body)(void *), void *arg)
{
	for (int i = 0; i < 3; i++) {
		pthread_t one;

		if (pthread_create(&one, NULL, body, arg) != 0)
			_exit(1);
		pthread_join(one, NULL);
	}
}

UNSEEN static void in_a_child(void)
{
	const pid_t child = fork();

	call(100);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* Says that it goes to a stack elsewhere, and that it is back. */
UNSEEN static void *fibers(void *stack)
{
	void *fake = NULL;

	if (!__sanitizer_start_switch_fiber)
		return NULL;
	for (int i = 0; i < 2; i++) {
		const void *low;
		size_t size;

		__sanitizer_start_switch_fiber(&fake, stack, 1 << 16);
		call(10);
		__sanitizer_finish_switch_fiber(fake, &low, &size);
		__sanitizer_start_switch_fiber(&fake, low, size);
		call(10);
		__sanitizer_finish_switch_fiber(fake, &low, &size);
	}
	return NULL;
}

UNSEEN static void lua(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_dostring(L, "local function step() coroutine.yield() end\n"
			  "for i = 1, 100 do\n"
			  "  local co = coroutine.wrap(step) co() co()\n"
			  "end\n") != LUA_OK)
		_exit(1);
	lua_close(L);
}

UNSEEN static void load(const char *path)
{
	void *const it = dlopen(path, RTLD_NOW);
	int (*const plug)(int) = it ? (int (*)(int))dlsym(it, "plug") : NULL;

	if (!plug || plug(1) != 2)
		_exit(1);
}

UNSEEN static int run(const char *what, const char *arg)
{
	static char stack[1 << 16];

	if (strcmp(what, "deep") == 0)
		return deep(5000) != 5000;
	if (strcmp(what, "threads") == 0)
		each_in_a_thread(thread, NULL);
	else if (strcmp(what, "fork") == 0)
		in_a_child();
	else if (strcmp(what, "fibers") == 0)
		each_in_a_thread(fibers, stack);
	else if (strcmp(what, "lua") == 0)
		lua();
	else if (arg)
		load(arg);
	return 0;
}

UNSEEN int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	call(1000);
	if (strcmp(argv[1], "lib") == 0 ? filter_by_library() :
	    filter(strcmp(argv[1], "kill") == 0))
		return 77;
	if (run(argv[2], argv[3]) != 0 || write(1, "alive\n", 6) != 6)
		return 1;
	return 0;
}
