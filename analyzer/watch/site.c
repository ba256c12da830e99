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
static bool is_hooked(const struct session *s, const struct stream *st,
		      size_t depth, func_id site)
{
	const char *const code = func_get(s->funcs, site)->name;

	for (size_t i = depth; i > 0 && depth - i < INLINED_MOST; i--) {
		const func_id f = stream_frame(st, i - 1).func;

		if (f != 0 && is_in(code, func_get(s->funcs, f)->name))
			return true;
	}
	return false;
}

stack_id site_stack(const struct session *s, struct stack_table *stacks,
		    const struct stream *st, size_t depth, func_id site)
{
	const stack_id stack = stream_stack(st, 0, depth, stacks, 0);

	return !site || is_hooked(s, st, depth, site) ? stack :
	       stack_table_push(stacks, stack, site, 0);
}
