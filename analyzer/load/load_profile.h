/* load_profile.h - profiles instead of traces, and several sessions as one.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_LOAD_PROFILE_H
#define WEFT_ANALYZER_LOAD_LOAD_PROFILE_H

#include "analyzer/load/load.h"

/* If the path of load is a profile: fill in the rest. CMD_OK, or the exit
 * status with the causes in the chain. */
enum cmd_exit load_profile_read(struct load *);

/* Fill in all from the traces and profiles: their sum (merge.h), even of
 * one. CMD_OK, or the exit status with the causes in the chain. */
enum cmd_exit load_profile_merge(struct load *,
				 const struct replay_collect *, int count,
				 char **operands);

/* Write the session as a profile; file "-": standard output. 0, or -1 with the
 * cause in the chain. */
int load_profile_write(struct load *, const char *file);

#endif
