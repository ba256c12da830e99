/* provider.h - LTTng-UST, reached through the provider's shared object.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_PROVIDER_H
#define WEFT_RECORDER_PROVIDER_H

#include "tracepoints/chunk.h"

#include <stdbool.h>

/* Open the object at path and wait until a session wants the event. Sets
 * LTTNG_UST_ variables of this process: the recorded program must have been
 * forked before. Negative: says why. */
int provider_open(const char *path);

/* Does a session want the event now? */
bool provider_is_on(void);

/* Fire one chunk: its words go to LTTng's ring, which may take a second if the
 * ring is full. Negative: it may not have got there; *why says it. */
int provider_fire(const struct chunk_header *chunk, uint32_t words,
		  const char **why);

#endif
