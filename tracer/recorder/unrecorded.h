/* unrecorded.h - when a reference is taken: in a run before the recorded one,
 * before a program is attached, and while recording is off.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

struct recording;

/* Take one as --reference asks for it: of a run of the program, which this
 * waits for, or of the program that is to be attached. Prints why and returns
 * negative if there can be none, or if the user ends it; *status is what to
 * exit with. */
int unrecorded_before(struct recording *r, int *status);
/* The program is about to start, or is there; recording is off if it begins so.
 * Negative: --sample-only is impossible, and why was printed. */
int unrecorded_begin(struct recording *r);
/* Needed in each round. Cheap while recording is on. */
void unrecorded_poll(struct recording *r);
/* The recording ends. */
void unrecorded_end(struct recording *r);
/* With --sample-only -p: is the program there? */
bool unrecorded_is_alive(const struct recording *r);
