/* rank_sort.c - the order of a ranking's rows.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/rank.h"

#include <stdlib.h>
#include <string.h>

ticks rank_average(const struct rank_row *row)
{
	return row->calls ? row->total / row->calls : 0;
}

const char *rank_name(const struct rank *r, const struct rank_row *row)
{
	return r->groups->group[row->group].name;
}

static uint64_t value(const struct rank_row *row, enum rank_key key)
{
	switch (key) {
	case RANK_SELF:
		return row->self;
	case RANK_TOTAL:
		return row->total;
	case RANK_WALL:
		return row->total + row->suspended;
	case RANK_SUSPENDED:
		return row->suspended;
	case RANK_CALLS:
		return row->calls;
	case RANK_AVERAGE:
		return rank_average(row);
	case RANK_MIN:
		return row->min;
	case RANK_MAX:
		return row->max;
	case RANK_CPU:
		return row->cpu;
	case RANK_OFF:
		return row->off;
	case RANK_TOTAL_CPU:
		return row->total_cpu;
	case RANK_TOTAL_OFF:
		return row->total_off;
	case RANK_P50:
		return row->p50;
	case RANK_P95:
		return row->p95;
	case RANK_P99:
		return row->p99;
	case RANK_NAME:
		break;
	}
	return 0;
}

struct order { const struct rank *rank; enum rank_key key; };

static int compare(const void *a, const void *b, void *ctx)
{
	const struct rank_row *const x = a, *const y = b;
	const struct order *const o = ctx;
	const uint64_t vx = value(x, o->key), vy = value(y, o->key);

	if (vx != vy)
		return vx < vy ? 1 : -1;
	if (o->key == RANK_NAME) {
		const int names = strcmp(rank_name(o->rank, x),
					 rank_name(o->rank, y));

		if (names)
			return names;
	}
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

void rank_sort(struct rank *r, enum rank_key key)
{
	struct order o = { r, key };

	qsort_r(r->rows, r->count, sizeof(*r->rows), compare, &o);
}
