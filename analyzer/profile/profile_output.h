/* profile_output.h - a profile's file while it is written: its messages and
 * its strings. A string is written before the first message that has its
 * number, so that a reader needs to go over the file once.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/profile/pprof.pb-c.h"

#include <stdint.h>
#include <stdio.h>

struct output;

/* Begin to write a profile into a file, which stays the caller's: zlib closes
 * what it writes to, so it gets a copy of the descriptor. An error waits for
 * output_close, which frees the output. */
struct output *output_open(FILE *file);

/* Write some fields of the profile. A protobuf message may be written in
 * pieces, one after the other. */
void output_put(struct output *out, const Prof__Profile *part);

/* The number in string_table of a string as other tools show it, made safe. */
int64_t output_shown(struct output *out, const char *text);

/* The number of a string that is read back exactly: twice its number in
 * string_table or, if it is not safe to be shown, in weft_text, plus 1. */
uint64_t output_exact(struct output *out, const char *text);

/* End the file and free the output. 0, or -1 with the cause in the chain if
 * anything could not be written, the rest in zlib's buffer included. */
int output_close(struct output *out);
