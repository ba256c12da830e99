/* cmd_trim.c - "weft trim": which functions a recording could do without, as a
 * table, as flags for gcc, or as a pattern for --skip. tables/trim chooses
 * them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/text.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/findings/trim.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <string.h>

enum { USUAL_TOP = 30 };

/* What a list for gcc may leave out besides, as a share of all time. */
static const double GONE_MOST = 0.01;

/* The options. */
enum { AS_TABLE, AS_GCC, AS_SKIP };
static const char *const formats[] = {
	[AS_TABLE] = "table", [AS_GCC] = "gcc", [AS_SKIP] = "skip", NULL
};
static int arg_format;
static size_t arg_below = 1000;
static double arg_min_share = 0.1;

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 'f', .name = "format", .arg = "NAME",
	  .to = &arg_format, .choices = formats, .help = "what to write" },
	{ .type = OPT_NUMBER, .name = "below", .arg = "NS",
	  .to = &arg_below, .help = "only functions whose calls take at most "
	  "NS ns on average" },
	{ .type = OPT_SHARE, .letter = 'm', .name = "min-share",
	  .arg = "PERCENT", .to = &arg_min_share, .help = "only functions "
	  "with at least this share of all calls" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &table_args.top, .help = "rows to show, 0 for all (default: "
	  "30; with --csv, all)" },
	TABLE_CSV("rows for scripts: full names, times in ns"),
	{ .type = OPT_END }
};

/* What a recording without the functions would save. */
static void print_figures(FILE *to, const struct trim *t)
{
	char many[OUT_NUMBER], calls[OUT_NUMBER], time[OUT_NUMBER];
	char all[OUT_NUMBER];

	fprintf(to, "%s: %s of %s, and %s of the time\n",
		out_number_many(many, t->count, "functions"),
		out_number_share(calls, t->calls, t->all_calls),
		out_number_many(all, t->all_calls, "calls"),
		out_number_share(time, t->net, t->all_net));
}

static void print_table(const struct trim *t)
{
	struct table table = { .csv = table_args.csv, .has_bounds = true,
			       .func_of = table_first_func,
			       .source = { t->session, t, false } };

	table_choose_fixed(&table, &trim_view, NULL);
	table_print(&table, t->rows, t->count, sizeof(*t->rows), USUAL_TOP,
		    "functions");
}

/* ---- lists -------------------------------------------------------------- */

/* On stderr: what is not in the list, and why. The names are untrusted. */
static void print_left_out(const char *name, const char *why, const char *other)
{
	out_print(stderr, "# not in the list: %s: %s%s\n", name, why, other);
}

/* On stderr: what goes with the list, and all that it leaves out. */
static void print_gone(const struct trim *t)
{
	struct trim all = { .all_calls = t->all_calls, .all_net = t->all_net };
	char calls[OUT_NUMBER], time[OUT_NUMBER];

	for (size_t i = 0; i < t->count + t->kept_count; i++) {
		const bool is_kept = i >= t->count;
		const struct trim_row *const r = is_kept ?
			&t->kept[i - t->count] : &t->rows[i];

		if (r->gcc != TRIM_LISTED && r->gcc != TRIM_FOUND)
			continue;
		all.count++;
		all.calls += r->f.calls;
		all.net += r->net;
		if (!is_kept)
			continue;
		out_number_share(time, (ticks)(r->mean * (double)r->f.calls),
				 t->all_net);
		out_print(stderr, "# with them, as gcc compares parts of "
			  "names: %s: %s, with callees %s of the time\n",
			  func_get(t->session->funcs, r->f.func)->name,
			  out_number_many(calls, r->f.calls, "calls"), time);
	}
	fputs("# the list leaves out ", stderr);
	print_figures(stderr, &all);
}

/* The names for gcc, as one option. Left out is a name that would take too much
 * with it, and one that gcc cannot be told. */
static size_t print_gcc(struct trim *t)
{
	struct func_table *const funcs = t->session->funcs;
	size_t put = 0;

	trim_choose_gcc(t, GONE_MOST);
	for (size_t i = 0; i < t->count; i++) {
		const struct trim_row *const r = &t->rows[i];
		const struct func *const f = func_get(funcs, r->f.func);
		char name[TRIM_NAME];

		if (r->gcc == TRIM_UNNAMED)
			print_left_out(f->name, f->kind == FUNC_LUA ?
				       "it is a Lua function" : "gcc's list "
				       "cannot name it", "");
		else if (r->gcc == TRIM_DOUBTFUL)
			print_left_out(f->name, "gcc may leave it out with "
				       "others, as it compares parts of names",
				       "");
		else if (r->gcc == TRIM_COSTLY)
			print_left_out(f->name, "its name is a part of ",
				       func_get(funcs, r->other)->name);
		else if (r->gcc == TRIM_LISTED &&
			 trim_gcc_name(f, name, sizeof(name)))
			printf("%s%s", put++ ? "," : "-finstrument-functions-"
			       "exclude-function-list=", name);
	}
	print_gone(t);
	return put;
}

/* A name as a part of a pattern: "?" stands for a character that means
 * something there, "*" for one that a terminal might not show. */
static void print_pattern(const char *name, const char *end)
{
	for (; name < end; name++)
		putchar(strchr("*?|", *name) ? '?' :
			*name < ' ' || *name > '~' ? '*' : *name);
}

/* One for each function, where a linker has folded several. */
static void print_patterns(const struct func *f)
{
	const char *name = f->name;

	if (f->kind != FUNC_NATIVE)
		print_pattern(name, name + strlen(name));
	for (; name && f->kind == FUNC_NATIVE; name = text_name_next(name)) {
		if (name > f->name)
			putchar('|');
		print_pattern(name, name + text_name_size(name));
	}
}

/* A pattern for --skip. */
static size_t print_skip(const struct trim *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct func *const f = func_get(t->session->funcs,
						      t->rows[i].f.func);

		if (i > 0)
			putchar('|');
		print_patterns(f);
	}
	return t->count;
}

/* ---- the command -------------------------------------------------------- */

static enum cmd_exit print_trim(const struct load *load, struct trim *t)
{
	const bool is_script = table_args.csv || arg_format != AS_TABLE;
	size_t put;

	if (is_script)
		header_print_losses(load);
	else
		header_begin(stdout, load);
	fputs(is_script ? "# " : "", is_script ? stderr : stdout);
	print_figures(is_script ? stderr : stdout, t);
	if (arg_format == AS_TABLE) {
		if (!table_args.csv)
			putchar('\n');
		print_table(t);
		return CMD_OK;
	}
	put = arg_format == AS_GCC ? print_gcc(t) : print_skip(t);
	if (put == 0) {
		err_add("there is no function for the list; see --below and "
			"--min-share");
		return CMD_UNREADABLE;
	}
	putchar('\n');
	return CMD_OK;
}

static int prepare(struct reading *r)
{
	const bool is_table = r->table.csv || table_args.top != SIZE_MAX;

	return !is_table || arg_format == AS_TABLE ? 0 :
	       err_add("--%s goes with the table, not with --format %s",
		       r->table.csv ? "csv" : "top", formats[arg_format]);
}

static enum cmd_exit print(struct reading *r)
{
	const struct trim_options o = { (double)arg_below,
					arg_min_share / 100 };
	struct trim *const t = trim_new(r->load.session, &o);
	enum cmd_exit status = header_need_calls(&r->load);

	if (status == CMD_OK)
		status = print_trim(&r->load, t);
	trim_free(t);
	return status;
}

const struct cmd cmd_trim = {
	.name = "trim",
	.args = "TRACE...",
	.summary = "find functions that a recording could do without",
	.about =
	"Lists the functions with many short calls. They make up most of a\n"
	"trace and say least, and recording them costs the program most.\n"
	"\n"
	"The times are less than those of weft report: from each call, the\n"
	"shortest call of the trace is taken off, which is the part of the\n"
	"recording's own cost that it holds. mean is the time of a call with\n"
	"its callees.\n"
	"\n"
	"-f gcc prints the flag with which gcc leaves the functions out when\n"
	"it builds the program. gcc leaves out every function whose name\n"
	"contains one from the list. So it may leave out others, too, if they\n"
	"and their callees took at most 1% of the time in all; a name that\n"
	"would take more with it is not in the list. Lines on stderr say so.\n"
	"clang has no such flag; -finstrument-functions-after-inlining leaves\n"
	"out the functions that it inlines. With either compiler,\n"
	"__attribute__((no_instrument_function)) leaves out one function.\n"
	"\n"
	"-f skip prints a pattern for the option --skip of other commands:\n"
	"what the reports would show without these functions. In a file, it\n"
	"is one for weft record --skip @FILE, which leaves them out.",
	.opts = opts,
	.prepare = prepare,
	.print = print,
};
