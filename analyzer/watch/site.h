/* site.h - stacks that end with the code that makes a call, which may have no
 * hooks.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* The outermost `depth` frames of the stream's stack, and on top of them the
 * code `site`, 0: none, if it does not lie in the innermost of these, or in a
 * function that they were inlined into. The session's functions have names. */
stack_id site_stack(const struct session *, struct stack_table *,
		    const struct stream *, size_t depth, func_id site);
