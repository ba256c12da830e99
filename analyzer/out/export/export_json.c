/* export_json.c - tables row by row; a row is an array, since the names of
 * columns would take most of the file.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/out/export/relations.h"
#include "analyzer/out/out_json.h"

static void put_row(FILE *to, const struct relation *r, const void *row)
{
	for (size_t i = 0; i < r->columns.count; i++) {
		struct metric_value room;
		const struct out_value v = relation_value(r, i, row, &room);

		fputc(i > 0 ? ',' : '[', to);
		out_value_json(to, &v);
	}
	fputc(']', to);
}

static void put_table(FILE *to, const struct relation *r)
{
	fprintf(to, ",\n\"%s\":{\"columns\":", r->name);
	for (size_t i = 0; i < r->columns.count; i++) {
		fputc(i > 0 ? ',' : '[', to);
		out_json_text(to, r->columns.column[i].key);
	}
	fputs("],\"rows\":[", to);
	for (size_t i = 0; i < r->count; i++) {
		fputs(i > 0 ? ",\n" : "\n", to);
		put_row(to, r, relation_row(r, i));
	}
	fputs("]}", to);
}

int export_json_write(FILE *to, const struct export_from *from)
{
	struct relations all;

	relations_init(&all, from);
	fputs("{\"format\":\"weft\",\"version\":1", to);
	for (size_t i = 0; i < all.count; i++)
		put_table(to, &all.list[i]);
	fputs("}\n", to);
	relations_fini(&all);
	return 0;
}
