/* aside.c - a ring of chunks, and a thread that gets memory for it. Where the
 * recorder is hardly let run, it would spend most of its time on new pages: the
 * kernel clears them. A second thread is let run as often.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/drain/aside.h"
#include "tracepoints/chunk.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	HEAD = 1,                  /* its words */
	MOST = HEAD + CHUNK_MAX_WORDS,
	STEP = 1 << 18,            /* words that get memory at a time */
	AHEAD = 1 << 21,           /* so many beyond head */
};

/* ---- memory ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct {
	uint64_t *words;           /* the ring's, in steps: */
	size_t got, wanted;
	bool has_thread;
} memory;

static void *get_memory(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (memory.got >= memory.wanted)
			pthread_cond_wait(&more, &lock);
		uint64_t *const from = memory.words + STEP * memory.got++;

		pthread_mutex_unlock(&lock);
		madvise(from, STEP * 8, MADV_POPULATE_WRITE);
		pthread_mutex_lock(&lock);
	}
	return unused;
}

/* Without that thread, or before Linux 5.14, pages come as they are touched. */
static void want_memory(const struct aside *a)
{
	const size_t end = a->room / STEP;
	const size_t wanted = (a->head + AHEAD) / STEP;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (!memory.has_thread)
		memory.has_thread = pthread_create(&thread, NULL, get_memory,
						   NULL) == 0;
	if (memory.wanted < wanted && memory.wanted < end) {
		memory.wanted = wanted < end ? wanted : end;
		pthread_cond_signal(&more);
	}
	pthread_mutex_unlock(&lock);
}

static void have_memory(uint64_t *words)
{
	pthread_mutex_lock(&lock);
	memory.words = words;
	memory.got = memory.wanted = 0;
	pthread_mutex_unlock(&lock);
}

/* ---- the ring ---- */

void aside_init(struct aside *a, uint64_t bytes)
{
	void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	memset(a, 0, sizeof(*a));
	if (p == MAP_FAILED)
		return;
	a->words = p;
	a->room = bytes / 8;
	have_memory(a->words);
}

bool aside_is_empty(const struct aside *a)
{
	return a->first == a->head;
}

/* head comes to first in an empty ring only: one word between them is left. */
uint64_t *aside_room(struct aside *a)
{
	if (aside_is_empty(a))
		a->first = a->head = 0;
	if (a->head >= a->first && a->room - a->head <= MOST &&
	    a->first > MOST) {
		a->words[a->head] = 0; /* the next one lies at the start */
		a->head = 0;
	}
	const size_t end = a->head < a->first ? a->first : a->room;

	return end - a->head <= MOST ? NULL : a->words + a->head + HEAD;
}

void aside_keep(struct aside *a, uint32_t words)
{
	assert(words > 0 && words <= CHUNK_MAX_WORDS);
	a->words[a->head] = words;
	a->head += HEAD + words;
	if (a->head <= a->used)
		return;
	a->used = a->head;
	want_memory(a);
}

uint64_t *aside_take(struct aside *a, uint32_t *words)
{
	assert(!aside_is_empty(a));
	if (a->words[a->first] == 0)
		a->first = 0;
	uint64_t *const at = a->words + a->first;

	*words = (uint32_t)at[0];
	a->first += HEAD + *words;
	return at + HEAD;
}

void aside_rest(struct aside *a)
{
	if (!aside_is_empty(a) || a->used == 0)
		return;
	madvise(a->words, a->used * 8, MADV_DONTNEED);
	a->used = 0;
	have_memory(a->words);
}
