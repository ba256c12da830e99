/* core.h - where a core dump has a recorded program's pool.
 *
 * The folder recover/ makes a trace of what a recording left that did not come
 * to its end: files, the pool, a core. It uses base/, chunk/ and in/; nothing
 * that it reads is trusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <stdint.h>

enum core {
	CORE_NONE,       /* no core of a 64-bit program */
	CORE_HAS_POOL,   /* it holds a pool */
	CORE_NAMES_POOL, /* it only says which file the pool was */
	CORE_UNRECORDED, /* it has neither */
};

struct core_pool {
	uint64_t begin, size;    /* CORE_HAS_POOL: bytes of the file */
	char path[PATH_MAX];     /* CORE_NAMES_POOL */
};

/* Look into the file for the first mapping that begins as a pool does. Whether
 * it is one is not checked further. */
enum core core_find(int fd, struct core_pool *found);
