/* report_csv.c - a ranking as rows for scripts: every column, names that stay.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/header.h"
#include "analyzer/cmd/cells.h"
#include "analyzer/cmd/report_print.h"

#include <stdio.h>

void report_print_csv_head(const struct report *r, int by_thread)
{
	printf("%s%s%s,calls,self_ns,total_ns,suspended_ns,wall_ns,"
	       "average_ns,min_ns,max_ns,p50_ns,p95_ns,p99_ns,cpu_ns,"
	       "offcpu_ns,total_cpu_ns,total_offcpu_ns,share\n",
	       by_thread ? "pid,tid,thread," : "", r->title,
	       r->by == GROUP_FUNCTION || r->by == GROUP_BODY ?
	       &CELLS_FUNC_COLUMNS[sizeof("function") - 1] : "");
}

static void put_name(struct out_csv *csv, const struct report *r,
		     const struct rank *rank, const struct rank_row *row)
{
	if (row->func != 0) {
		cells_csv_func(csv, r->session, row->func);
		return;
	}
	out_csv_text(csv, rank_name(rank, row));
	if (r->by != GROUP_BODY)
		return;
	for (int i = 0; i < 3; i++)
		out_csv_text(csv, "");
	out_csv_number(csv, 0);
}

/* What is not known is empty. */
static void put_times(struct out_csv *csv, const struct session *s,
		      const ticks *times, size_t count, int is_known)
{
	for (size_t i = 0; i < count; i++)
		if (is_known)
			out_csv_number(csv, session_ns(s, times[i]));
		else
			out_csv_text(csv, "");
}

static void put_figures(struct out_csv *csv, const struct report *r,
			const struct rank *rank, const struct rank_row *row)
{
	const struct session *const s = r->session;
	const ticks times[] = {
		row->self, row->total, row->suspended,
		row->total + row->suspended, rank_average(row), row->min,
		row->max };
	const ticks quantiles[] = { row->p50, row->p95, row->p99 };
	const ticks cpu[] = { row->cpu, row->off, row->total_cpu,
			      row->total_off };
	char share[32];

	out_csv_number(csv, row->calls);
	put_times(csv, s, times, sizeof(times) / sizeof(*times), 1);
	put_times(csv, s, quantiles, sizeof(quantiles) / sizeof(*quantiles),
		  rank->has_quantiles);
	put_times(csv, s, cpu, sizeof(cpu) / sizeof(*cpu), r->has_cpu);
	snprintf(share, sizeof(share), "%.4f", rank->self == 0 ? 0.0 :
		 100.0 * (double)row->self / (double)rank->self);
	out_csv_text(csv, share);
}

void report_print_csv(const struct report *r, const struct rank *rank,
		      uint32_t thread)
{
	struct out_csv csv = { stdout, 0 };

	for (size_t i = 0; i < rank->count; i++) {
		const struct rank_row *const row = &rank->rows[i];

		if (!report_print_is_shown(r, rank, row))
			continue;
		if (thread != RANK_ALL_THREADS) {
			const struct session *const s = r->session;
			const struct thread *const t = &s->threads[thread];

			out_csv_number(&csv, s->processes[t->process].pid);
			out_csv_number(&csv, t->tid);
			out_csv_text(&csv, t->name);
		}
		put_name(&csv, r, rank, row);
		put_figures(&csv, r, rank, row);
		out_csv_end(&csv);
	}
}
