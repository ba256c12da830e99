/* profile_output.h - a profile's file while it is written: its messages and
 * their strings, and the bytes of the session.
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

/* Append to the session: a number, 7 bits a byte, the lowest first, of which
 * the highest bit says that more follow; or a text, which is its number among
 * the texts before it, from 1 on, or 0, its length and its bytes. */
void output_number(struct output *out, uint64_t value);
void output_text(struct output *out, const char *text);

/* Write the session that was appended, before anything else. */
void output_session(struct output *out);

/* End the file and free the output. 0, or -1 with the cause in the chain if
 * anything could not be written, the rest in zlib's buffer included. */
int output_close(struct output *out);
