/* dump_chunk.h - the chunks of a trace as they are.
 * SPDX-License-Identifier: MIT */
#pragma once

struct chunk;

/* An in_chunk_fn: prints header, items, dictionary and records, in the order in
 * which they lie in the chunk. Stops the reading if nothing can be written any
 * more, as when a pipe is closed. */
int dump_chunk(void *ctx, const struct chunk *);
