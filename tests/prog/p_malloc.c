/* p_malloc.c - has a malloc of its own, instrumented, which libc and the loader
 * call, too; threads use it. It counts its calls itself.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 64 << 20, HEAD = 16 };
#define PLAIN __attribute__((noinline, noclone))

static _Alignas(16) unsigned char room[ROOM];
static _Atomic size_t used;
static _Atomic long mallocs, frees, gives, callocs, reallocs, takes;

PLAIN static void *take(size_t n)
{
	const size_t whole = (n + HEAD + 15) & ~(size_t)15;
	const size_t at = atomic_fetch_add(&used, whole);

	takes++;
	if (at + whole > ROOM)
		abort();
	memcpy(room + at, &n, sizeof(n));
	return room + at + HEAD;
}

void *malloc(size_t n)
{
	mallocs++;
	return take(n);
}

PLAIN static void give(const void *p)
{
	(void)p;
	gives++;
}

/* A thread that has ended already, to itself and to weft, frees nothing else
 * but NULL. */
void free(void *p)
{
	frees++;
	if (p)
		give(p);
}

void *calloc(size_t n, size_t each)
{
	callocs++;
	return take(n * each);
}

void *realloc(void *p, size_t n)
{
	void *const q = take(n);
	size_t old = 0;

	reallocs++;
	if (p)
		memcpy(&old, (char *)p - HEAD, sizeof(old));
	if (p)
		memcpy(q, p, old < n ? old : n);
	return q;
}

PLAIN static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++)
		free(realloc(malloc(8), 40));
	return arg;
}

int main(void)
{
	pthread_t threads[4];
	char text[400];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	free(strdup("a string"));
	const int n = snprintf(text, sizeof(text), "calls %ld malloc\n"
		"calls %ld give\ncalls %ld calloc\ncalls %ld realloc\n"
		"calls %ld take\ncalls 4 work\nfreed %ld\n", mallocs, gives,
		callocs, reallocs, takes, frees);

	_exit(write(1, text, (size_t)n) == n ? 3 : 1);
}
