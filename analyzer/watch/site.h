/* site.h - stacks that end with the code that makes a call, which may have no
 * hooks.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* The stack, and on top of it the code `site`, 0: none, if it does not lie in
 * the innermost of its functions, or in one that they were inlined into. The
 * session's functions have names. */
stack_id site_stack(const struct session *, struct stack_table *, stack_id,
		    func_id site);
