/* prof_out.h - a profile being written: messages one by one into a gzip stream,
 * each string once.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_PROFILE_PROF_OUT_H
#define WEFT_ANALYZER_PROFILE_PROF_OUT_H

#include "analyzer/profile/pprof.pb-c.h"

#include <stdint.h>
#include <stdio.h>

struct prof_out;
struct prof_out *prof_out_new(FILE *); /* the file stays the caller's */
/* 0, or -1 with the cause in the chain if anything could not be written. */
int prof_out_free(struct prof_out *);

/* A protobuf message may be written in pieces, one after the other: these
 * fields of the profile, now. */
void prof_out_put(struct prof_out *, const Prof__Profile *);

/* The number of a string, which is written if it is new: as it will be shown,
 * made safe; or, for reading back, exactly. */
int64_t prof_out_shown(struct prof_out *, const char *text);
uint64_t prof_out_text(struct prof_out *, const char *text);

#endif
