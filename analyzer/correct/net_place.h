/* net_place.h - which call, and which part of it, each sample is of.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORRECT_NET_PLACE_H
#define WEFT_ANALYZER_CORRECT_NET_PLACE_H

#include "analyzer/model/session.h"

/* Decide what each sample is of, and count the samples of each node. The
 * session's functions and places have names. A sample in weft's code counts as
 * the innermost call's probe. One in the code of a recorded function is that
 * function's own, even if the clock places it just outside of its call. One in
 * other code is other of the innermost call. */
void net_place(struct session *);

#endif
