/* cmd_coroutines.c - "weft coroutines": each coroutine and how it spent its
 * life.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/head.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static size_t arg_top = 30;
static int arg_sort, arg_csv;

enum { SORT_ACTIVE, SORT_SUSPENDED, SORT_RESUMES, SORT_ID };
static const char *const sort_keys[] = {
	"active", "suspended", "resumes", "id", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys, .help = "what comes first" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct out_column columns[] = {
	{ .title = "active", .align = OUT_RIGHT },
	{ .title = "suspended", .align = OUT_RIGHT },
	{ .title = "resumes", .align = OUT_RIGHT },
	{ .title = "state", .align = OUT_LEFT, .drop = 1 },
	{ .title = "id", .align = OUT_RIGHT },
	{ .title = "creator", .align = OUT_RIGHT, .drop = 2 },
	{ .title = "pid", .align = OUT_RIGHT, .drop = 3 },
	{ .title = "threads", .align = OUT_LEFT, .drop = 1 },
	{ .title = "body", .align = OUT_LEFT, .shrink = 24 },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* As enum coroutine_state. */
static const char *const states[] = {
	"new", "suspended", "running", "returned", "error"
};

static const char *state_name(const struct coroutine *c)
{
	const size_t state = (size_t)c->state;

	return state < sizeof(states) / sizeof(states[0]) ? states[state] :
	       "?";
}

static uint64_t sort_value(const struct coroutine *c)
{
	switch (arg_sort) {
	case SORT_ACTIVE:
		return c->active;
	case SORT_SUSPENDED:
		return c->suspended;
	case SORT_RESUMES:
		return c->resumes;
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b)
{
	const struct coroutine *const x = *(const struct coroutine *const *)a;
	const struct coroutine *const y = *(const struct coroutine *const *)b;
	const uint64_t kx = sort_value(x), ky = sort_value(y);

	if (kx != ky)
		return kx > ky ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static const struct coroutine **sorted(const struct session *s)
{
	const struct coroutine **const all =
		mem_alloc((s->coroutine_count + 1) * sizeof(*all));

	for (size_t i = 0; i < s->coroutine_count; i++)
		all[i] = &s->coroutines[i];
	qsort(all, s->coroutine_count, sizeof(*all), compare);
	return all;
}

/* "101 102", then "+3" if it ran on more than are known by name. */
static const char *thread_list(char *to, size_t size,
			       const struct session *s,
			       const struct coroutine *c)
{
	const uint32_t known = c->thread_count < 4 ? c->thread_count : 4;
	size_t used = 0;

	to[0] = '\0';
	for (uint32_t i = 0; i < known; i++)
		if (c->threads[i] < s->thread_count)
			used += (size_t)snprintf(to + used, size - used,
				"%s%" PRIu32, used > 0 ? " " : "",
				s->threads[c->threads[i]].tid);
	if (c->thread_count > known)
		snprintf(to + used, size - used, " +%" PRIu32,
			 c->thread_count - known);
	return to;
}

static const char *body_name(const struct session *s,
			     const struct coroutine *c)
{
	return c->body == 0 ? "[never ran]" :
	       func_get(s->funcs, c->body)->name;
}

static void add_row(struct out_table *table, const struct session *s,
		    const struct coroutine *c)
{
	char text[OUT_NUMBER], list[128];

	out_table_cell(table, out_number_time(text,
			(double)session_ns(s, c->active)));
	out_table_cell(table, out_number_time(text,
			(double)session_ns(s, c->suspended)));
	out_table_cell(table, out_number_count(text, c->resumes));
	out_table_cell(table, state_name(c));
	out_table_cellf(table, "%" PRIu64, c->serial);
	if (c->creator == 0)
		out_table_cell(table, "-");
	else
		out_table_cellf(table, "%" PRIu64, c->creator);
	out_table_cellf(table, "%" PRIu32, s->processes[c->process].pid);
	out_table_cell(table, thread_list(list, sizeof(list), s, c));
	out_table_cell(table, body_name(s, c));
}

static void print_table(const struct session *s,
			const struct coroutine *const *all)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	const size_t shown = arg_top == 0 || s->coroutine_count < arg_top ?
			     s->coroutine_count : arg_top;
	char count[OUT_NUMBER];

	if (s->coroutine_count == 0) {
		puts("no coroutine was made or ran");
		out_table_free(table);
		return;
	}
	for (size_t i = 0; i < shown; i++)
		add_row(table, s, all[i]);
	out_table_print(table, stdout, out_table_terminal(stdout));
	if (shown < s->coroutine_count)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(count, s->coroutine_count - shown,
				       "coroutines"));
	out_table_free(table);
}

static void csv_row(struct out_csv *csv, struct session *s,
		    const struct coroutine *c)
{
	char list[128];

	out_csv_number(csv, s->processes[c->process].pid);
	out_csv_number(csv, c->serial);
	if (c->body != 0) {
		head_csv_func(csv, s, c->body);
	} else {
		for (int i = 0; i < 4; i++)
			out_csv_text(csv, "");
		out_csv_number(csv, 0);
	}
	out_csv_text(csv, thread_list(list, sizeof(list), s, c));
	out_csv_number(csv, c->vm);
	out_csv_number(csv, c->creator);
	out_csv_text(csv, state_name(c));
	out_csv_number(csv, c->resumes);
	out_csv_number(csv, session_ns(s, c->active));
	out_csv_number(csv, session_ns(s, c->suspended));
	out_csv_number(csv, c->inferred);
	out_csv_end(csv);
}

static enum cmd_exit run(int count, char **operands)
{
	struct out_csv csv = { stdout, 0 };
	const struct coroutine **all;
	struct load load;
	enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK)
		status = load_need_trace(&load, "single coroutines");
	if (status != CMD_OK) {
		load_close(&load);
		return status;
	}
	all = sorted(load.session);
	if (arg_csv) {
		head_print_losses(&load);
		puts("pid,id," HEAD_FUNC_COLUMNS ",threads,vm,creator,state,"
		     "resumes,active_ns,suspended_ns,inferred");
		for (size_t i = 0; i < load.session->coroutine_count; i++)
			csv_row(&csv, load.session, all[i]);
	} else {
		head_print(stdout, &load);
		print_table(load.session, all);
	}
	mem_free(all);
	load_close(&load);
	return CMD_OK;
}

const struct cmd cmd_coroutines = {
	"coroutines", "DIR", "list coroutines: resumes, active, suspended",
	"Reads the trace in the folder DIR and lists its coroutines. active\n"
	"is the time from each resume to the suspension that followed,\n"
	"coroutines resumed in between included; suspended is the time\n"
	"between a suspension and the next resume. body is the coroutine's\n"
	"outermost function, creator the coroutine that made it (-: none).",
	opts, run
};
