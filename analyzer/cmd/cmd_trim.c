/* cmd_trim.c - "weft trim": which functions a recording could do without, as a
 * table, as flags for gcc, or as a pattern for --skip. tables/trim chooses
 * them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/text.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/findings/trim.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <string.h>

enum { USUAL_TOP = 30 };

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
			       .source = { t->session, t, false } };

	table_choose_fixed(&table, &trim_view, NULL);
	table_print(&table, t->rows, t->count, sizeof(*t->rows), USUAL_TOP,
		    "functions");
}

/* ---- lists -------------------------------------------------------------- */

/* The names for gcc, as one option, each once. On stderr: which it cannot be
 * told; the names are untrusted. */
static size_t print_gcc(struct trim *t)
{
	struct map *const known = map_new();
	size_t put, of_headers = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct func *const f = func_get(t->session->funcs,
						      t->rows[i].f.func);
		char name[TRIM_NAME];

		of_headers += f->file && strstr(f->file, "/c++/");
		if (!trim_gcc_name(f, name, sizeof(name)))
			out_print(stderr, "# not in the list: %s: %s\n",
				  f->name, f->kind == FUNC_LUA ?
				  "it is a Lua function" :
				  "gcc's list cannot name it");
		else if ((*map_put(known, text_hash(0, name), 0))++ == 0)
			printf("%s%s", map_count(known) > 1 ? "," :
			       "-finstrument-functions-exclude-function-list=",
			       name);
	}
	fputs("# gcc leaves out every function whose name contains one of the "
	      "list\n", stderr);
	if (of_headers > 0)
		fprintf(stderr, "# %zu of these are of C++'s own headers: all "
			"of those are left out by -finstrument-functions-"
			"exclude-file-list=/c++/ instead\n", of_headers);
	put = map_count(known);
	map_free(known);
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

static int trim_prepare(struct reading *r)
{
	const bool is_table = r->table.csv || table_args.top != SIZE_MAX;

	return !is_table || arg_format == AS_TABLE ? 0 :
	       err_add("--%s goes with the table, not with --format %s",
		       r->table.csv ? "csv" : "top", formats[arg_format]);
}

static enum cmd_exit trim_print(struct reading *r)
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
	"Each call holds a part of what recording costs, about as much as the\n"
	"shortest call of the trace takes. That is subtracted here, so the\n"
	"times are less than those of weft report. mean is the time of a call\n"
	"with its callees.\n"
	"\n"
	"-f gcc prints the flag with which gcc leaves the functions out when\n"
	"it builds the program. gcc leaves out every function whose name\n"
	"contains one from the list: take a name out that is a part of others\n"
	"that you want to see. Lines on stderr say which functions the list\n"
	"cannot name.\n"
	"clang has no such flag; -finstrument-functions-after-inlining leaves\n"
	"out the functions that it inlines. With either compiler,\n"
	"__attribute__((no_instrument_function)) leaves out one function.\n"
	"\n"
	"-f skip prints a pattern for the option --skip of other commands:\n"
	"what the reports would show without these functions. In a file, it\n"
	"is one for weft record --skip @FILE, which leaves them out.",
	.opts = opts,
	.prepare = trim_prepare,
	.print = trim_print,
};
