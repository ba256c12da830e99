/* tee.h - several collectors in one replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

enum { TEE_PARTS = 6 };

/* The context of its own sink; { 0 } has no part. Each part is told what its
 * sink has a function for, in the order in which they were added. Either all
 * that look at calls have `calls`, or none has. None has pass. */
struct tee {
	struct replay_sink sink;
	struct tee_part {
		const struct replay_sink *sink;
		void *ctx;
	} part[TEE_PARTS];
	size_t count;
};

/* TEE_PARTS parts at most. */
void tee_add(struct tee *, const struct replay_sink *, void *ctx);
