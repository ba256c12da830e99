/* weft_tp.c - the provider: the only object that is linked to LTTng-UST. The
 * recorder loads it once the environment is set and the daemon runs, so that no
 * other program ever starts LTTng's threads.
 * SPDX-License-Identifier: MIT */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tracepoints/weft_tp.h"

__attribute__((visibility("default")))
int weft_provider_is_on(void);
__attribute__((visibility("default")))
void weft_provider_fire(const struct chunk_header *chunk, const char *packed);

/* Whether a running session wants the event now. */
int weft_provider_is_on(void)
{
	return lttng_ust_tracepoint_enabled(weft, chunk) != 0;
}

void weft_provider_fire(const struct chunk_header *chunk, const char *packed)
{
	lttng_ust_tracepoint(weft, chunk, chunk, packed);
}
