/* p_exit.c - ends in the way its argument says, in the midst of calls.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
void leaf(void), inner(const char *how), outer(const char *how);
void late(void);
PLAIN void leaf(void) { __asm__ volatile(""); }
PLAIN void late(void) { leaf(); }

/* Until the stack ends, on which a handler could not say how deep that was. */
static volatile long depth;
long deep(long n);
PLAIN long deep(long n)
{
	depth = n;
	return deep(n + 1) + depth;
}

static void tell_depth(int signal)
{
	char text[32];
	const int n = snprintf(text, sizeof(text), "calls %ld deep\n", depth);

	if (n > 0 && write(1, text, (size_t)n) == n)
		raise(signal);
}

static void overflow(void)
{
	static char room[65536];
	const stack_t other = { .ss_sp = room, .ss_size = sizeof(room) };
	const struct sigaction a = { .sa_handler = tell_depth,
		.sa_flags = (int)(SA_ONSTACK | SA_RESETHAND) };

	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &a, NULL);
	deep(1);
}

/* Until there is none, and the kernel kills the program for it. */
static void take_memory(void)
{
	enum { SIZE = 1 << 20 };

	for (char *p; (p = malloc(SIZE)) != NULL; )
		memset(p, 1, SIZE);
}

static pthread_key_t key;

/* In each of the four rounds of destructors, the last of which is too late. */
static void destroy(void *rounds)
{
	const long n = (long)rounds;

	leaf();
	if (n > 1)
		pthread_setspecific(key, (void *)(n - 1));
}

static void *destroyed(void *arg)
{
	leaf();
	pthread_setspecific(key, arg);
	return arg;
}

static void *worker(void *arg)
{
	usleep(100000);
	for (int i = 0; i < 500; i++)
		leaf();
	printf("worker ends\n");
	fflush(stdout);
	return arg;
}

PLAIN void inner(const char *how)
{
	pthread_t t;

	for (int i = 0; i < 1000; i++)
		leaf();
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "exit") == 0)
		exit(4);
	if (strcmp(how, "quick") == 0)
		quick_exit(5);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segv") == 0)
		raise(SIGSEGV);
	if (strcmp(how, "fault") == 0)
		*(volatile int *)strtoul("8", NULL, 0) = 1;
	if (strcmp(how, "overflow") == 0)
		overflow();
	if (strcmp(how, "memory") == 0)
		take_memory();
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "destructors") == 0) {
		pthread_key_create(&key, destroy);
		pthread_create(&t, NULL, destroyed, (void *)4L);
		pthread_join(t, NULL);
	}
	if (strcmp(how, "pthread_exit") == 0) {
		pthread_create(&t, NULL, worker, NULL);
		pthread_exit(NULL);
	}
}

PLAIN void outer(const char *how)
{
	inner(how);
	leaf();
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "exit") == 0)
		atexit(late);
	outer(argc > 1 ? argv[1] : "return");
	return 6;
}
