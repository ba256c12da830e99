/* site.c - which function code lies in, by its name.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/site.h"

enum { INLINED_MOST = 32 };

/* Does the code lie in that function, so that it has hooks? Then its name is
 * that function's, with a distance behind it. */
static bool is_in(const char *code, const char *function)
{
	while (*function && *code == *function) {
		code++;
		function++;
	}
	return *function == '\0' && *code == '+';
}

/* Or in one into which the innermost ones were inlined? */
static bool is_hooked(const struct session *s, const struct stack_table *stacks,
		      stack_id stack, func_id site)
{
	const char *const code = func_get(s->funcs, site)->name;
	const struct stack_frame *f;

	for (int i = 0; stack != 0 && i < INLINED_MOST; i++) {
		f = stack_table_get(stacks, stack);
		if (f->func != 0 && !(f->flags & STACK_OMITTED) &&
		    is_in(code, func_get(s->funcs, f->func)->name))
			return true;
		stack = f->below;
	}
	return false;
}

stack_id site_stack(const struct session *s, struct stack_table *stacks,
		    stack_id stack, func_id site)
{
	return !site || is_hooked(s, stacks, stack, site) ? stack :
	       stack_table_push(stacks, stack, site, 0);
}
