/* profile_output.h - a profile's file while it is written: its messages and
 * their strings, and the bytes of the session. It is a protobuf message,
 * gzipped (github.com/google/pprof: proto/profile.proto).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/out_message.h"

#include <stdio.h>

struct output;

/* Fields of the whole message; the last one is weft's own. */
enum {
	PPROF_TYPE = 1, PPROF_SAMPLE, PPROF_MAPPING, PPROF_LOCATION,
	PPROF_FUNCTION, PPROF_STRING, PPROF_TIME = 9, PPROF_DURATION,
	PPROF_COMMENT = 13, PPROF_USUAL, PPROF_SESSION = 1004,
};

/* Begin to write a profile into a file, which stays the caller's: zlib closes
 * what it writes to, so it gets a copy of the descriptor. An error waits for
 * output_close, which frees the output. */
struct output *output_open(FILE *file);

/* Write some fields of the profile. A protobuf message may be written in
 * pieces, one after the other. */
void output_put(struct output *out, const struct out_message *fields);

/* The number, in the table of strings, of a string as other tools show it, made
 * safe. */
uint64_t output_shown(struct output *out, const char *text);

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
