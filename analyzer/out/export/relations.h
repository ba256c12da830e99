/* relations.h - a session as tables of a database: what the formats sqlite and
 * json have in common. A column is a metric, as in the tables that people
 * read.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/export/export.h"
#include "analyzer/out/out_value.h"

enum { RELATIONS = 12 };

/* A table. Rows of other tables are referred to by their id. */
struct relation {
	const char *name;
	struct metric_columns columns;
	struct metric_source source;
	size_t count;            /* rows */
	/* Private: where rows are. */
	const struct export_from *from;
	const char *rows;
	size_t size;
	struct nodes *nodes;
	char **stacks;
};

struct relations {
	struct relation list[RELATIONS];
	size_t count;
	/* Private: what rows are read from. */
	const struct export_from *from;
	bool has_switches;
	struct flat *flat;
	struct nodes *nodes;
	struct coroutine_row *coroutines;
	char **stacks;           /* of slow calls */
};

/* The tables of a session, whose tree has histograms. All is borrowed. */
void relations_init(struct relations *, const struct export_from *);
void relations_fini(struct relations *);

/* Row i; they are asked for in rising order, and each is valid until the next
 * one. */
const void *relation_row(const struct relation *, size_t i);
/* A row's value in a column. */
struct out_value relation_value(const struct relation *, size_t column,
				const void *row, struct metric_value *room);
