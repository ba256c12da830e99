/* titled_recording.c - recordings with a title: several may overlap in one process, each
 * is what lies between two marks. Recording is on while any of them runs.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/pool/process.h"
#include "tracer/host/api/weft.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TITLES = 8 };

/* Hashes of the titles that run, 0: free. Two titles of one hash (64 bits) are
 * taken for one. */
static _Atomic uint64_t running[TITLES];
/* Recording was off before the first title, and goes off with the last. */
static _Atomic int ours;

static uint64_t hash_of(const char *title)
{
	const uint64_t h = XXH64(title, strlen(title), 0);

	return h != 0 ? h : 1;
}

static void mark(const char *what, const char *title)
{
	char text[256];

	snprintf(text, sizeof(text), "weft.%s %s", what, title);
	weft_mark(text);
}

/* Its place, or -1. */
static int find(uint64_t hash)
{
	for (int i = 0; i < TITLES; i++) {
		if (atomic_load(&running[i]) == hash)
			return i;
	}
	return -1;
}

static int take(uint64_t hash)
{
	for (int i = 0; i < TITLES; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&running[i], &none, hash))
			return 1;
	}
	return 0;
}

EXPORT int weft_start(const char *title)
{
	uint64_t hash;

	if (!title || title[0] == '\0')
		return weft_resume();
	if (!process_ready())
		return -1;
	hash = hash_of(title);
	if (find(hash) >= 0)
		return 1;
	if (!take(hash))
		return -2;
	if (weft_resume() == 0)
		atomic_store(&ours, 1);
	mark("start", title);
	return 0;
}

static int any(void)
{
	for (int i = 0; i < TITLES; i++) {
		if (atomic_load(&running[i]) != 0)
			return 1;
	}
	return 0;
}

EXPORT int weft_stop(const char *title)
{
	int place;

	if (!title || title[0] == '\0') {
		atomic_store(&ours, 0);
		return weft_pause();
	}
	place = find(hash_of(title));
	if (place < 0)
		return 0;
	mark("stop", title);
	atomic_store(&running[place], 0);
	if (!any() && atomic_exchange(&ours, 0))
		weft_pause();
	return 1;
}
