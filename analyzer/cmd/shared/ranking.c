/* ranking.c - how much is known of running and waiting, and what follows for
 * the order of rows.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/ranking.h"

#include "analyzer/base/err.h"
#include "analyzer/cmd/shared/table.h"
#include "analyzer/out/out_number.h"

#include <string.h>

static bool arg_waiting;

const struct opt ranking_opts[] = {
	{ .type = OPT_FLAG, .name = "waiting",
	  .to = &arg_waiting, .help = "rank by blocked: the time in which "
	  "threads slept" },
	{ .type = OPT_END }
};

bool ranking_wants_waiting(void)
{
	return arg_waiting;
}

/* What the user sorts by says which table is wanted: elapsed time or waiting
 * come first if they are what it is. */
static enum metric_ranking by_of(const struct ranking *r,
				 const struct metric_view *views)
{
	if (r->sort && (r->sort->flags & METRIC_SWITCHES))
		return strcmp(r->sort->name, "cpu") == 0 ||
		       strcmp(r->sort->name, "total-cpu") == 0 ?
		       METRIC_BY_CPU : METRIC_BY_WAITING;
	return r->has_switches &&
	       r->sort != metric_first(&views[METRIC_BY_TIME]) ?
	       METRIC_BY_CPU : METRIC_BY_TIME;
}

int ranking_choose(struct ranking *r, const struct session *s,
		   const struct metric_view *views, const struct metric *sort)
{
	if (arg_waiting && sort)
		return err_add("--waiting and --sort %s contradict each other; "
			       "leave one of them out", sort->name);
	r->has_switches = session_has_times(s) &&
		cct_knows_switches(s->cct, &r->time, &r->unknown);
	r->sort = arg_waiting ? metric_first(&views[METRIC_BY_WAITING]) : sort;
	r->by = by_of(r, views);
	r->first = metric_first(&views[r->by]);
	if (!r->sort)
		r->sort = session_has_times(s) ? r->first :
			  metric_find(views, "calls");
	return 0;
}

/* The order would mean nothing. */
int ranking_check(const struct ranking *r)
{
	if (!(r->sort->flags & METRIC_SWITCHES) || r->has_switches)
		return 0;
	return err_add("cannot sort by %s: the trace %s context switches; see "
		       "weft info", r->sort->name, r->unknown == r->time ?
		       "holds no" : "holds too few");
}

/* What the kernel counted for the threads, in all chunks, tells at least how
 * much of all time is waiting. */
static void print_no_switches(const struct session *s)
{
	char cpu[OUT_NUMBER], all[OUT_NUMBER], ran[2 * OUT_NUMBER + 40] = "";
	uint64_t cpu_ns = 0;
	ticks traced = 0;

	for (size_t i = 0; i < s->thread_count; i++) {
		cpu_ns += s->threads[i].cpu_ns;
		traced += s->threads[i].traced - s->threads[i].cpu_unknown;
	}
	if (cpu_ns > 0)
		snprintf(ran, sizeof(ran), "; the threads ran for %s of %s",
			 out_number_time(cpu, (double)cpu_ns),
			 out_number_time(all, (double)session_ns(s, traced)));
	table_note("note: running and waiting are not told apart: there are "
		   "no context switches%s", ran);
}

void ranking_note(const struct ranking *r, const struct session *s)
{
	char share[OUT_NUMBER];

	if (!session_has_times(s) || r->time == 0 ||
	    r->unknown < r->time / 1000)
		return;
	if (r->unknown == r->time)
		print_no_switches(s);
	else
		table_note("note: context switches are known for %s of the "
			   "time: cpu, run-wait and blocked %s",
			   out_number_share(share, r->time - r->unknown,
					    r->time), r->has_switches ?
			   "add up to that much of self" : "are not shown");
}
