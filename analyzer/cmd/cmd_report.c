/* cmd_report.c - "weft report": the flat table of hot functions.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/head.h"
#include "analyzer/core/rank.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>
#include <stdint.h>

static size_t arg_top = 30;
static int arg_sort, arg_csv, arg_by_thread;

/* As enum rank_key. */
static const char *const sort_keys[] = {
	"self", "total", "wall", "suspended", "calls", "average", "min", "max",
	NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys, .help = "what comes first" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_FLAG, .name = "by-thread", .to = &arg_by_thread,
	  .help = "a table for each thread" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = choose_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* On a narrow terminal the least needed columns go first. */
static const struct out_column columns[] = {
	{ .title = "self", .align = OUT_RIGHT },
	{ .title = "share", .align = OUT_RIGHT },
	{ .title = "total", .align = OUT_RIGHT },
	{ .title = "suspended", .align = OUT_RIGHT, .drop = 1,
	  .drop_empty = 1 },
	{ .title = "calls", .align = OUT_RIGHT },
	{ .title = "average", .align = OUT_RIGHT, .drop = 2 },
	{ .title = "lang", .align = OUT_LEFT, .drop = 1 },
	{ .title = "file:line", .align = OUT_LEFT, .drop = 3, .shrink = 12,
	  .keep_end = 1 },
	{ .title = "function", .align = OUT_LEFT, .shrink = 24,
	  .is_name = 1 },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void time_cell(struct out_table *table, struct session *s, ticks time)
{
	char text[OUT_NUMBER];

	if (time == 0)
		out_table_cell(table, "-");
	else
		out_table_cell(table, out_number_time(text,
				(double)session_ns(s, time)));
}

/* An average needs more than whole nanoseconds. */
static double average_ns(const struct session *s, const struct rank_row *row)
{
	return row->calls == 0 ? 0 : (double)row->total * 1e9 /
	       (double)s->tick_hz / (double)row->calls;
}

static void add_row(struct out_table *table, struct session *s,
		    const struct rank *rank, const struct rank_row *row)
{
	const struct func *const f = func_get(s->funcs, row->func);
	char text[OUT_NUMBER], place[512];

	time_cell(table, s, row->self);
	out_table_cell(table, out_number_share(text, row->self, rank->self));
	time_cell(table, s, row->total);
	time_cell(table, s, row->suspended);
	out_table_cell(table, out_number_count(text, row->calls));
	out_table_cell(table, row->calls == 0 ? "-" :
		       out_number_time(text, average_ns(s, row)));
	out_table_cell(table, func_language(f));
	out_table_cell(table, head_place(place, sizeof(place), f));
	out_table_cell(table, f->name);
}

static void print_rest(const struct session *s, const struct rank *rank,
		       size_t shown)
{
	char count[OUT_NUMBER], time[OUT_NUMBER], share[OUT_NUMBER];
	ticks rest = 0;

	for (size_t i = shown; i < rank->count; i++)
		rest += rank->rows[i].self;
	if (shown < rank->count)
		printf("... and %s: self %s, %s (--top 0 shows all)\n",
		       out_number_many(count, rank->count - shown,
				       "functions"),
		       out_number_time(time, (double)session_ns(s, rest)),
		       out_number_share(share, rest, rank->self));
}

static void print_table(struct session *s, const struct rank *rank)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	const size_t shown = arg_top == 0 || rank->count < arg_top ?
			     rank->count : arg_top;

	for (size_t i = 0; i < shown; i++)
		add_row(table, s, rank, &rank->rows[i]);
	if (rank->count > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	print_rest(s, rank, shown);
	out_table_free(table);
}

static void print_thread(const struct session *s, uint32_t i)
{
	const struct thread *const t = &s->threads[i];
	char *const name = out_escape_terminal(t->name);
	char time[OUT_NUMBER];

	printf("%sthread %" PRIu32 "%s%s of process %" PRIu32 ": %s\n",
	       i > 0 ? "\n" : "", t->tid, name[0] != '\0' ? " " : "", name,
	       s->processes[t->process].pid,
	       out_number_time(time, (double)session_ns(s, t->traced)));
	mem_free(name);
}

static void csv_rows(struct session *s, const struct rank *rank,
		     uint32_t thread)
{
	struct out_csv csv = { stdout, 0 };

	for (size_t i = 0; i < rank->count; i++) {
		const struct rank_row *const row = &rank->rows[i];

		if (thread != RANK_ALL_THREADS) {
			const struct thread *const t = &s->threads[thread];

			out_csv_number(&csv, s->processes[t->process].pid);
			out_csv_number(&csv, t->tid);
			out_csv_text(&csv, t->name);
		}
		head_csv_func(&csv, s, row->func);
		out_csv_number(&csv, row->calls);
		out_csv_number(&csv, session_ns(s, row->self));
		out_csv_number(&csv, session_ns(s, row->total));
		out_csv_number(&csv, session_ns(s, row->suspended));
		out_csv_number(&csv, session_ns(s, row->total +
						row->suspended));
		out_csv_number(&csv, session_ns(s, rank_average(row)));
		out_csv_number(&csv, session_ns(s, row->min));
		out_csv_number(&csv, session_ns(s, row->max));
		out_csv_end(&csv);
	}
}

static void show(struct session *s, uint32_t thread)
{
	struct rank *const rank = rank_new(s, (enum rank_key)arg_sort, thread);

	if (arg_csv) {
		csv_rows(s, rank, thread);
	} else {
		if (thread != RANK_ALL_THREADS)
			print_thread(s, thread);
		print_table(s, rank);
	}
	rank_free(rank);
}

static void report(const struct load *load)
{
	struct session *const s = load->session;

	if (arg_csv) {
		head_print_losses(load);
		printf("%s%s,calls,self_ns,total_ns,suspended_ns,wall_ns,"
		       "average_ns,min_ns,max_ns\n",
		       arg_by_thread ? "pid,tid,thread," : "",
		       HEAD_FUNC_COLUMNS);
	} else {
		head_print(stdout, load);
	}
	if (!arg_by_thread) {
		show(s, RANK_ALL_THREADS);
		return;
	}
	for (uint32_t i = 0; i < s->thread_count; i++)
		show(s, i);
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK) {
		report(&load);
		status = head_need_calls(&load);
	}
	load_close(&load);
	return status;
}

const struct cmd cmd_report = {
	"report", "DIR", "rank functions by the time they take",
	"Reads the trace in the folder DIR and lists its functions, native\n"
	"and Lua ones together. total is the time between entry and exit,\n"
	"less the time its coroutine was suspended; self is total less what\n"
	"its callees took; wall is total and suspended. A function that\n"
	"calls itself counts its outermost call only. share is the share of\n"
	"self.\n"
	"\n"
	"On top stands what was recorded and what was lost.", opts, run
};
