/* report_print.h - a ranking as a table for people or rows for scripts.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_REPORT_PRINT_H
#define WEFT_ANALYZER_CMD_REPORT_PRINT_H

#include "analyzer/load/load.h"
#include "analyzer/tables/rank.h"

enum { REPORT_COLUMNS = 21 };

struct report {
	struct session *session;
	enum group_by by;
	const char *title;       /* of the first CSV column, the table's last */
	size_t top;              /* rows to show; 0: all */
	const char *only;        /* rows to show: pattern, or NULL */
	int column[REPORT_COLUMNS]; /* of the table, in order */
	size_t columns;
	int has_cpu;             /* switches are known well enough */
};

/* Which columns the table has: names separated by commas, "all", or NULL for
 * the usual ones; "+NAME,..." adds to these, as what rows are sorted by does.
 * 0, or -1 with the cause. */
int report_print_choose(struct report *, const char *names, const char *sort);
/* Does the table show percentiles; or times on and off the CPU? */
int report_print_has_quantiles(const struct report *);
int report_print_has_cpu(const struct report *);

/* Are the figures shown for that much of the time that switches are known? */
int report_print_is_known(const struct rank *);

void report_print_table(const struct report *, const struct rank *);

/* The header row; then the rows, of one thread, or RANK_ALL_THREADS. */
void report_print_csv_head(const struct report *, int by_thread);
void report_print_csv(const struct report *, const struct rank *,
		      uint32_t thread);

/* Is the row among those that are shown? */
int report_print_is_shown(const struct report *, const struct rank *,
			  const struct rank_row *);

#endif
