/* p_samples.c [LIBRARY] - spins in functions for known shares of its time, and
 * prints when each call began and ended: "call FUNCTION PID TID FROM TO", in
 * ticks of the TSC. Does so in its first thread, in another one, in a child,
 * which then becomes another program, in code of a library that is opened in
 * the middle, and in the kernel.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define SILENT __attribute__((no_instrument_function))
enum { ROUNDS = 250, PIECE = 1000000 };

void one(void), three(void), threads_(void), childs(void), last(void),
	plugs(void (*spin)(long)), asks(int zero);

__attribute__((always_inline))
static SILENT inline void spin(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
}

PLAIN void one(void) { spin(PIECE); }
PLAIN void three(void) { spin(3 * PIECE); }
PLAIN void threads_(void) { spin(2 * PIECE); }
PLAIN void childs(void) { spin(2 * PIECE); }
PLAIN void last(void) { spin(2 * PIECE); }
PLAIN void plugs(void (*plug)(long)) { plug(2 * PIECE); }

/* Nearly all of it in the kernel, which clears memory. */
PLAIN void asks(int zero)
{
	static char to[1 << 20];

	for (int i = 0; i < 100; i++)
		if (read(zero, to, sizeof(to)) < 0)
			exit(2);
}

static SILENT uint64_t now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* One line is one write: processes and threads do not mix. */
static SILENT void tell(const char *name, uint64_t from, uint64_t to)
{
	char line[128];
	const int n = snprintf(line, sizeof(line), "call %s %d %ld %llu %llu\n",
			       name, (int)getpid(), syscall(SYS_gettid),
			       (unsigned long long)from,
			       (unsigned long long)to);

	if (write(1, line, (size_t)n) != n)
		exit(1);
}

static SILENT void times(int n, const char *name, void (*f)(void))
{
	while (n-- > 0) {
		const uint64_t from = now();

		f();
		tell(name, from, now());
	}
}

static SILENT void *thread(void *arg)
{
	times(ROUNDS, "threads_", threads_);
	return arg;
}

static SILENT void plug(const char *path)
{
	void *const library = dlopen(path, RTLD_NOW);
	void (*const f)(long) = !library ? NULL :
		(void (*)(long))dlsym(library, "plug_spin");

	if (!f)
		exit(2);
	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t from = now();

		plugs(f);
		tell("plug_spin", from, now());
	}
}

static SILENT void ask(void)
{
	const int zero = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < ROUNDS / 5; i++) {
		const uint64_t from = now();

		asks(zero);
		tell("asks", from, now());
	}
}

SILENT int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "last") == 0) {
		times(ROUNDS, "last", last);
		return 0;
	}
	pthread_create(&t, NULL, thread, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		times(1, "three", three);
		times(1, "one", one);
	}
	pthread_join(t, NULL);
	if (fork() == 0) {
		times(ROUNDS, "childs", childs);
		execl(argv[0], argv[0], "last", (char *)NULL);
		return 1;
	}
	wait(NULL);
	plug(argv[1]);
	ask();
	return 0;
}
