/* page_table.h - a metric table as data of a page.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/metric.h"

#include <stdio.h>

/* rows: count of them, of size bytes each, that begin with a func_id. Metrics
 * with one of the flags `without` are left out, as are those of a function's
 * name and place, which its number gives. */
struct page_table {
	const struct metric *metrics;
	struct metric_source source;
	unsigned without;
	const void *rows;
	size_t count, size;
};

/* Write it as JSON, column by column: an object of "columns" (name, title, unit
 * and help of each), "values" (an array for each column: times in ticks, null
 * where a value is not known) and "func" (the function of each row). */
void page_table_put(FILE *, const struct page_table *);
