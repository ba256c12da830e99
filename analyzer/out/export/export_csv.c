/* export_csv.c - a row for each node.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/out/out_value.h"
#include "analyzer/tables/nodes.h"

int export_csv_write(FILE *to, const struct export_from *from)
{
	struct nodes *const nodes = nodes_new(from->session);
	const struct metric_source source = {
		from->session, nodes, cct_knows_switches(
			from->session->cct, NULL, NULL) };
	struct out_csv csv = { to, 0 };
	struct metric_columns columns;
	struct metric_value room;
	int status = metric_choose(&columns, &nodes_view,
				   &(struct metric_choice){ .csv = true });

	if (!cct_is_net(from->session->cct))
		metric_remove(&columns, METRIC_NET);
	if (!cct_has_heap(from->session->cct))
		metric_remove(&columns, METRIC_HEAP);
	for (size_t i = 0; i < columns.count; i++)
		out_csv_text(&csv, columns.column[i].key);
	out_csv_end(&csv);
	for (size_t i = 0; i < nodes_count(nodes); i++) {
		const struct node_row *const row = nodes_row(nodes, i);

		for (size_t k = 0; k < columns.count; k++) {
			const struct out_value v =
				out_value_get(columns.column[k].metric,
					      &source, row, &room);

			out_value_csv(&csv, &v);
		}
		out_csv_end(&csv);
	}
	nodes_free(nodes);
	return status;
}
