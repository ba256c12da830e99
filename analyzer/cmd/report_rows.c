/* report_rows.c - which rows of a ranking are shown, and whether enough is known
 * for all of its columns.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/report_print.h"
#include "analyzer/tables/filter.h"

#include <string.h>

/* A recorder needs a moment to see a thread: what is not known then is small
 * beside the rest, and told. */
int report_print_is_known(const struct rank *rank)
{
	return rank->unknown < (rank->self + rank->root_self) / 10;
}

int report_print_is_shown(const struct report *r, const struct rank *rank,
			  const struct rank_row *row)
{
	const char *const name = rank_name(rank, row);
	const char *const slash = strrchr(name, '/');

	if (!r->only)
		return 1;
	if (row->func != 0)
		return filter_match_func(r->session, row->func, r->only);
	return filter_match_text(name, r->only) ||
	       (slash && filter_match_text(slash + 1, r->only));
}
