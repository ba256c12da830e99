/* load_chronicle.h - what happened in the part of a trace that filters choose.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_LOAD_CHRONICLE_H
#define WEFT_ANALYZER_LOAD_LOAD_CHRONICLE_H

#include "analyzer/load/load.h"
#include "analyzer/watch/chronicle.h"

/* --max-events and --merge-below, for OPT_MORE. */
extern const struct opt load_chronicle_opts[];
/* Call it after opt_parse, where there is no chronicle: 0, or -1 with the cause
 * in the chain if one of them was given. why follows the option's name. */
int load_chronicle_refuse(const char *why);

/* Call it before load_open. 0, or -1 with the cause in the chain: a filter
 * makes no sense. */
int load_chronicle_check(void);

/* Read the trace of an open load once more. NULL with the cause in the chain if
 * that cannot be done: a profile has no single calls. The caller frees it with
 * chronicle_free. Says on standard error what was folded or left out. */
struct chronicle *load_chronicle(struct load *, bool by_coroutine);

#endif
