/* out_csv.c - rows for scripts, field by field.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_csv.h"

#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"

#include <inttypes.h>

static void next(struct out_csv *csv)
{
	if (csv->fields++ > 0)
		fputc(',', csv->to);
}

void out_csv_text(struct out_csv *csv, const char *text)
{
	char *const field = out_escape_csv(text);

	next(csv);
	fputs(field, csv->to);
	mem_free(field);
}

void out_csv_number(struct out_csv *csv, uint64_t number)
{
	next(csv);
	fprintf(csv->to, "%" PRIu64, number);
}

void out_csv_end(struct out_csv *csv)
{
	fputc('\n', csv->to);
	csv->fields = 0;
}
