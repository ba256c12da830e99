/* preload.h - the value of LD_PRELOAD, and where weft's files lie.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_PRELOAD_H
#define WEFT_RECORDER_PRELOAD_H

#include <limits.h>

struct preload {
	char value[PATH_MAX + 4096]; /* for LD_PRELOAD */
	char provider[PATH_MAX];     /* weft-provider.so */
	char modules[PATH_MAX];      /* folder of the Lua modules */
	char private[32];            /* folder of our own, "" if none */
};

/* Find the files beside this program's. Negative: says what is missing. */
int preload_find(struct preload *p);
/* Remove what was made. */
void preload_clean(struct preload *p);

#endif
