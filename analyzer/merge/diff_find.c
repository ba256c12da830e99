/* diff_find.c - looked up by halves: both lists are sorted.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/diff_find.h"

#include <stdlib.h>

static int compare_func(const void *key, const void *row)
{
	const func_id x = *(const func_id *)key;
	const func_id y = ((const struct func_statistics *)row)->func;

	return x < y ? -1 : x > y;
}

const struct func_statistics *diff_find_func(const struct session *s,
					      func_id f)
{
	static const struct func_statistics none;
	const struct func_statistics *const found =
		f == 0 || !s->statistics ? NULL :
		bsearch(&f, s->statistics, s->statistics_count,
			sizeof(*s->statistics), compare_func);

	return found ? found : &none;
}

static int compare_edge(const void *key, const void *row)
{
	const struct edge_statistics *const x = key, *const y = row;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

const struct statistics *diff_find_rate(const struct session *s,
					 func_id caller,
				    func_id func)
{
	static const struct statistics none;
	const struct edge_statistics key = { .caller = caller, .func = func };
	const struct edge_statistics *const found = !s->edges ? NULL :
		bsearch(&key, s->edges, s->edge_count, sizeof(*s->edges),
			compare_edge);

	return found ? &found->rate : &none;
}
