/* cmd_callers.c - "weft callers": a function between those that call it and
 * those that it calls.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/callers_print.h"
#include "analyzer/load/header.h"
#include "analyzer/model/cct.h"
#include "analyzer/tables/filter.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <stdlib.h>
#include <string.h>

static size_t arg_top = 20, arg_lines = 10;
static int arg_sort, arg_root;
static bool arg_all, arg_csv;

enum { ROOT_THREAD, ROOT_COROUTINE };
static const char *const roots[] = { "thread", "coroutine", NULL };
/* As enum callers_key. */
static const char *const sort_keys[] = {
	"total", "self", "calls", "suspended", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .letter = 'a', .name = "all", .to = &arg_all,
	  .help = "all functions, by self time; no FUNCTION is given" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top,
	  .help = "functions to show, 0 for all; --csv shows all" },
	{ .type = OPT_NUMBER, .letter = 'l', .name = "lines", .arg = "N",
	  .to = &arg_lines, .help = "callers and callees to show of each, the "
	  "rest in one line; 0 for all; --csv shows all" },
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys,
	  .help = "which callers and callees come first" },
	{ .type = OPT_CHOICE, .letter = 'r', .name = "root", .arg = "WHERE",
	  .to = &arg_root, .choices = roots, .help = "where a coroutine's "
	  "frames stand: on what resumed them, or by themselves" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static int has_run(const struct callers *c, func_id f)
{
	return c->first_into[f + 1] > c->first_into[f];
}

static int by_self(const void *a, const void *b, void *ctx)
{
	const func_id x = *(const func_id *)a, y = *(const func_id *)b;
	const struct callers *const c = ctx;

	if (c->of[x].self != c->of[y].self)
		return c->of[x].self < c->of[y].self ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* A name is a pattern, but a name that has * or | in it is itself, too. */
static int is_meant(struct session *s, func_id f, const char *name)
{
	return !name ||
	       strcmp(func_get(s->funcs, f)->name, name) == 0 ||
	       filter_match_func(s, f, name);
}

/* Those that ran, of the ones asked for: by self time. */
static func_id *chosen(struct session *s, const char *name, struct callers *c,
		       size_t *count)
{
	func_id *const f =
		mem_alloc((func_count(s->funcs) + 1) * sizeof(*f));

	*count = 0;
	for (func_id id = 1; id <= func_count(s->funcs); id++)
		if (has_run(c, id) && is_meant(s, id, name))
			f[(*count)++] = id;
	qsort_r(f, *count, sizeof(*f), by_self, c);
	return f;
}

/* The busiest ones that hold the word, if any: a name half remembered. */
static enum cmd_exit refuse(const struct load *load, struct callers *c,
			    const char *name)
{
	struct session *const s = load->session;
	char similar[600] = "";
	size_t count, shown = 0;
	func_id *const f = chosen(s, NULL, c, &count);

	for (size_t i = 0; i < count && shown < 3 && name[0] != '\0'; i++) {
		char *const other = out_escape_terminal(
			func_get(s->funcs, f[i])->name);
		const size_t used = strlen(similar);

		if (strcasestr(other, name))
			snprintf(similar + used, sizeof(similar) - used,
				 "%s\"%.150s\"", shown++ > 0 ? ", " :
				 "; did you mean ", other);
		mem_free(other);
	}
	mem_free(f);
	err_add("no function that ran%s is named \"%s\"%s; \"weft report "
		"--top 0\" lists all", load->is_part ?
		" in the part that is shown" : "", name, similar);
	return CMD_UNREADABLE;
}

static void set_whole(struct callers_print *p, struct cct *tree)
{
	for (node_id id = 1; id <= cct_count(tree); id++) {
		p->time += cct_get(tree, id)->self;
		p->calls += cct_get(tree, id)->calls;
	}
}

static void print(const struct load *load, const struct callers_print *p,
		  const func_id *f, size_t count)
{
	const size_t shown = arg_top == 0 || count < arg_top ? count : arg_top;
	char text[OUT_NUMBER];

	if (arg_csv) {
		header_print_losses(load);
		callers_print_csv(p, f, count);
		return;
	}
	header_print(stdout, load);
	for (size_t i = 0; i < shown; i++) {
		if (i > 0)
			putchar('\n');
		callers_print_table(p, f[i]);
	}
	if (shown < count)
		printf("\n... and %s (--top 0 shows all)\n",
		       out_number_many(text, count - shown, "functions"));
}

static enum cmd_exit callers(const struct load *load, const char *name)
{
	const struct cct_reroot options = {
		0, arg_root == ROOT_COROUTINE, CCT_ALL_THREADS };
	struct cct *const tree = cct_reroot(load->session->cct, &options);
	struct callers *const c =
		callers_new(tree, func_count(load->session->funcs));
	struct callers_print p = { load->session, c, (enum callers_key)arg_sort,
				   arg_lines, 0, 0 };
	size_t count = 0;
	func_id *const f = chosen(load->session, name, c, &count);
	enum cmd_exit status = header_need_calls(load);

	set_whole(&p, tree);
	if (status == CMD_OK && count == 0 && name)
		status = refuse(load, c, name);
	else
		print(load, &p, f, count);
	mem_free(f);
	callers_free(c);
	cct_free(tree);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	const char *const name = arg_all || count < 1 ? NULL : operands[0];
	struct load load;
	enum cmd_exit status;

	if (!arg_all && count < 2) {
		err_add("which function of which trace? Give the function's "
			"name, or --all, then the folder that weft record "
			"made");
		return CMD_USAGE;
	}
	status = load_open(&load, !name ? count : count - 1,
			   !name ? operands : operands + 1);
	if (status == CMD_OK)
		status = callers(&load, name);
	load_close(&load);
	return status;
}

const struct cmd cmd_callers = {
	.name = "callers",
	.args = "FUNCTION TRACE...",
	.summary = "show what calls a function, and what it calls",
	.about =
	"Reads traces or profiles (several are merged) and prints a function\n"
	"between its callers and its callees. FUNCTION is a name, without its\n"
	"parameters or source if you like, or a pattern such as 'str*'.\n"
	"\n"
	"The callers' lines add up to the function's: what it did when\n"
	"called from there. Its self time and the totals of the callees'\n"
	"lines add up to its total: they are its time in that callee, until\n"
	"it is entered again. Shares are of the function's calls and total\n"
	"(its own: of the whole recording; a callee's calls: of all calls of\n"
	"the callee). recursive are the calls that began while the function\n"
	"was open already; their time is in the total of the outermost call.\n"
	"A coroutine's body has a resumer instead of a caller; [outside] is\n"
	"where stacks begin.\n"
	"\n"
	"--csv: relation is function, caller, resumer, callee or resumed;\n"
	"the columns after other are those of the line.",
	.opts = opts,
	.run = run,
};
