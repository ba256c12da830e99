/* cmd_coroutines.c - "weft coroutines": each coroutine and how it spent its
 * life.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cells.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/coroutine_groups_print.h"
#include "analyzer/load/header.h"
#include "analyzer/cmd/coroutine_history_print.h"
#include "analyzer/tables/coroutine_groups.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *arg_id;
static size_t arg_top = 30;
static int arg_sort;
static bool arg_csv, arg_by_body, arg_times;

enum { SORT_ACTIVE, SORT_SUSPENDED, SORT_RESUMES, SORT_ID };
static const char *const sort_keys[] = {
	"active", "suspended", "resumes", "id", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys, .help = "what comes first" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_FLAG, .name = "by-body", .to = &arg_by_body,
	  .help = "only how those of each body are distributed" },
	{ .type = OPT_TEXT, .name = "id", .arg = "ID", .to = &arg_id,
	  .help = "the story of this one; PID:ID where several processes "
	  "have one" },
	{ .type = OPT_FLAG, .name = "times", .to = &arg_times,
	  .help = "with --csv: lua_ns and native_ns at the end of each row" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct out_column columns[] = {
	{ .title = "active", .align = OUT_RIGHT },
	{ .title = "in Lua", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "native", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "suspended", .align = OUT_RIGHT },
	{ .title = "resumes", .align = OUT_RIGHT },
	{ .title = "state", .align = OUT_LEFT, .drop = 3 },
	{ .title = "id", .align = OUT_RIGHT },
	{ .title = "creator", .align = OUT_RIGHT, .drop = 4 },
	{ .title = "kind", .align = OUT_LEFT, .drop_empty = 1 },
	{ .title = "pid", .align = OUT_RIGHT, .drop = 5 },
	{ .title = "threads", .align = OUT_LEFT, .drop = 2 },
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
		    const struct coroutine *c, const struct bodies_times *t)
{
	const size_t i = (size_t)(c - s->coroutines);
	char text[OUT_NUMBER], list[128];

	out_table_cell(table, out_number_time(text,
			(double)session_ns(s, c->active)));
	out_table_cell(table, out_number_time(text,
			(double)session_ns(s, t->lua[i])));
	out_table_cell(table, out_number_time(text,
			(double)session_ns(s, t->native[i])));
	out_table_cell(table, out_number_time(text,
			(double)session_ns(s, c->suspended)));
	out_table_cell(table, out_number_count(text, c->resumes));
	out_table_cell(table, state_name(c));
	out_table_cellf(table, "%" PRIu64, c->serial);
	if (c->creator == 0)
		out_table_cell(table, "-");
	else
		out_table_cellf(table, "%" PRIu64, c->creator);
	out_table_cell(table, c->is_native ? "native" : "-");
	out_table_cellf(table, "%" PRIu32, s->processes[c->process].pid);
	out_table_cell(table, thread_list(list, sizeof(list), s, c));
	out_table_cell(table, body_name(s, c));
}

static void print_table(const struct session *s,
			const struct coroutine *const *all,
			const struct bodies_times *times)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	const size_t shown = arg_top == 0 || s->coroutine_count < arg_top ?
			     s->coroutine_count : arg_top;
	char count[OUT_NUMBER];

	for (size_t i = 0; i < shown; i++)
		add_row(table, s, all[i], times);
	if (shown > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	if (shown < s->coroutine_count)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(count, s->coroutine_count - shown,
				       "coroutines"));
	out_table_free(table);
}

static void csv_row(struct out_csv *csv, struct session *s,
		    const struct coroutine *c, const struct bodies_times *t)
{
	const size_t i = (size_t)(c - s->coroutines);
	char list[128];

	out_csv_number(csv, s->processes[c->process].pid);
	out_csv_number(csv, c->serial);
	if (c->body != 0) {
		cells_csv_func(csv, s, c->body);
	} else {
		for (int k = 0; k < 4; k++)
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
	out_csv_text(csv, c->is_native ? "native" : "lua");
	if (arg_times) {
		out_csv_number(csv, session_ns(s, t->lua[i]));
		out_csv_number(csv, session_ns(s, t->native[i]));
	}
	out_csv_end(csv);
}

static void print_csv(const struct load *load,
		      const struct bodies_times *times)
{
	const struct coroutine **const all = sorted(load->session);
	struct out_csv csv = { stdout, 0 };

	header_print_losses(load);
	printf("pid,id," CELLS_FUNC_COLUMNS ",threads,vm,creator,state,"
	       "resumes,active_ns,suspended_ns,inferred,kind%s\n",
	       arg_times ? ",lua_ns,native_ns" : "");
	for (size_t i = 0; i < load->session->coroutine_count; i++)
		csv_row(&csv, load->session, all[i], times);
	mem_free(all);
}

static void print_text(const struct load *load,
		       const struct bodies_times *times)
{
	const struct coroutine **const all = sorted(load->session);

	header_print(stdout, load);
	bodies_print(load, arg_top);
	if (load->session->coroutine_count > 0) {
		putchar('\n');
		print_table(load->session, all, times);
	}
	mem_free(all);
}

static enum cmd_exit list(struct load *load)
{
	struct bodies_times times;
	enum cmd_exit status = CMD_OK;

	bodies_times_init(&times, load->session);
	if ((!arg_csv || arg_times) && load->session->coroutine_count > 0 &&
	    load_again(load, &bodies_times_sink, &times) != 0)
		status = CMD_UNREADABLE;
	else if (arg_csv)
		print_csv(load, &times);
	else
		print_text(load, &times);
	bodies_times_fini(&times);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK)
		status = load_need_trace(&load, "single coroutines");
	if (status == CMD_OK && arg_id) {
		status = coroutine_history_print(&load, arg_id,
			&(struct coroutine_history_print){ arg_top, arg_csv });
	} else if (status == CMD_OK && !arg_by_body) {
		status = list(&load);
	} else if (status == CMD_OK && arg_csv) {
		bodies_print_csv(&load);
	} else if (status == CMD_OK) {
		header_print(stdout, &load);
		bodies_print(&load, arg_top);
	}
	load_close(&load);
	return status;
}

const struct cmd cmd_coroutines = {
	.name = "coroutines",
	.args = "DIR",
	.summary = "list coroutines: resumes, active, suspended",
	.about =
	"Reads the trace in the folder DIR and shows how many coroutines\n"
	"each body had and how their figures are distributed (exactly), then\n"
	"the single ones. active\n"
	"is the time from each resume to the suspension that followed,\n"
	"coroutines resumed in between included; suspended is the time\n"
	"between a suspension and the next resume. body is the coroutine's\n"
	"outermost function, creator the coroutine that made it (-: none).\n"
	"in Lua and native are the parts of active in which the coroutine\n"
	"itself ran; the rest was that of coroutines it resumed. No time is\n"
	"shown in which it was ready to run: resume and yield do not tell.\n"
	"kind says native of a stack that the program itself switches to (a\n"
	"fiber); vm is then the first Lua state that ran on it.\n"
	"\n"
	"It takes about 200 bytes of memory a coroutine. --by-body --csv:\n"
	"one row a body, sum, average, p50, p95, p99 and max of active,\n"
	"suspended and resumes; --csv alone: one row a coroutine. --id --csv:\n"
	"one row a step of its life: time_ns since the start; create, resume,\n"
	"yield, return or error; tid; the coroutine (by; 0: the thread) and\n"
	"the function that made or resumed it, or that it went back to; how\n"
	"long it had slept or been active; its own stack then.",
	.opts = opts,
	.run = run,
};
