/* out_value.h - a row's value in a column as programs read it: times in ns,
 * texts in full, empty where a value is not known.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/out_table.h"
#include "analyzer/tables/metric.h"

enum out_kind { OUT_NONE, OUT_INTEGER, OUT_REAL, OUT_TEXT };

struct out_value {
	enum out_kind kind;
	uint64_t integer;
	double real;
	unsigned decimals;       /* of a real: so many are shown */
	const char *text;        /* untrusted; valid as long as the room */
};

/* The kind of a metric's values that are known. */
enum out_kind out_value_kind(const struct metric *);
/* Read it. The room is what its text may lie in. */
struct out_value out_value_get(const struct metric *,
			       const struct metric_source *, const void *row,
			       struct metric_value *room);

/* Write it as a field of a CSV; empty if it is not known. */
void out_value_csv(struct out_csv *, const struct out_value *);
/* As JSON; null if it is not known. */
void out_value_json(FILE *, const struct out_value *);
