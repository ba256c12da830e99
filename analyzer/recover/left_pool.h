/* left_pool.h - a pool that nobody empties any more: in /dev/shm, or as a copy
 * of it.
 *
 * The folder recover/ makes a trace of what a recording left that did not come
 * to its end: files, the pool. It uses base/, chunk/ and in/; nothing that it
 * reads is trusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/in/in.h"
#include "tracepoints/pool.h"

struct left_pool {
	int fd;
	struct pool head;        /* a copy, which pool_valid has accepted */
	bool is_alive;           /* there are threads that may still write */
	bool is_in_use;          /* why it could not be opened: its recorder
	                          * lives */
	uint64_t damaged;        /* buffers that held no chunk of it */
};

/* Whether a file begins like what left_pool_open can open. */
bool left_pool_is(const char *path);

/* 0, or -1 with a cause: there is none, it is no pool, or its recorder lives.
 * Ends with left_pool_close if it is 0. */
int left_pool_open(struct left_pool *, const char *path);
void left_pool_close(struct left_pool *);

/* Pass on what lies in its buffers, in any order, each checked as a whole. 0,
 * or what fn returned if that was negative. */
int left_pool_each(struct left_pool *, in_chunk_fn fn, void *ctx);

/* What its threads have lost, whether they live or not, by reason. */
void left_pool_lost(const struct left_pool *, uint64_t lost[LOST_REASONS]);
