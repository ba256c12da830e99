/* tee.h - several collectors in one replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

enum { TEE_PARTS = 4 };

/* The context of tee_sink; { 0 } has no part. Each part is told what its sink
 * has a function for, in the order in which they were added. One that has
 * enter, leave, leaf or pass needs the first three. What `only` chooses is not
 * looked at: calls of all functions are told. */
struct tee {
	struct tee_part {
		const struct replay_sink *sink;
		void *ctx;
	} part[TEE_PARTS];
	size_t count;
	/* Those that have leaf, or pass: most events are of these. */
	struct tee_part calls[TEE_PARTS], pass[TEE_PARTS];
	size_t call_count, pass_count;
};
extern const struct replay_sink tee_sink;

/* TEE_PARTS parts at most. */
void tee_add(struct tee *, const struct replay_sink *, void *ctx);
