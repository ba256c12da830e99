/* cmd_plot.c - "weft plot": which kind of plot, of what, into which file. The
 * kinds are in plots_*.c; out/out_plot draws them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/guess.h"
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/ranking.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_file.h"

#include <string.h>
#include <unistd.h>

/* The options. -1: not given; the file's name says the format, and cmd/ranking
 * the order. */
static const char *arg_output, *arg_only, *arg_keep;
static size_t arg_top = SIZE_MAX;
static int arg_format = -1, arg_sort = -1;
static bool arg_term;

/* The default of --format depends on --output, so its help tells it in
 * words. */
static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "the file to write; - is standard "
	  "output (default: TRACE.svg beside the trace, or TRACE.KIND.svg; "
	  "merged.svg if there are several)" },
	{ .type = OPT_CHOICE, .letter = 'f', .name = "format", .arg = "NAME",
	  .to = &arg_format, .choices = out_plot_formats, .help = "what to "
	  "write (default: what FILE ends in, or svg)" },
	{ .type = OPT_FLAG, .name = "term", .to = &arg_term,
	  .help = "draw in the terminal, in characters; --format sixel draws "
	  "pixels, where the terminal can" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "functions or coroutines to show, 0 for all "
	  "(default: 20 in hot and diff, 12 in shares, 6 in latency, 40 in "
	  "lanes (15 in characters))" },
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = plots_sorts, .help = "what comes first "
	  "in hot (default: cpu where context switches are known, else "
	  "self)" },
	{ .type = OPT_MORE, .more = ranking_opts },
	{ .type = OPT_TEXT, .name = "only", .arg = "PATTERN",
	  .to = &arg_only, .help = "only functions of these names, in "
	  "latency and heat" },
	{ .type = OPT_TEXT, .name = "keep", .arg = "FILE", .to = &arg_keep,
	  .help = "also write the data and the script, from which gnuplot "
	  "draws the plot again" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* ---- kinds -------------------------------------------------------------- */

/* What a kind needs. Those from single records have no filters by functions. */
static const struct kind {
	const char *name;
	plots_fn fill;           /* NULL: of two sides */
	bool has_histograms, is_of_records, has_functions;
} kinds[] = {
	{ "hot", plots_hot, false, false, false },
	{ "latency", plots_latency, true, false, true },
	{ "shares", plots_shares, false, true, false },
	{ "heat", plots_heat, false, true, true },
	{ "lanes", plots_lanes, false, true, false },
	{ "memory", plots_memory, false, true, false },
	{ "diff", NULL, false, false, false },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const char *kind_word(size_t i)
{
	return i < KINDS ? kinds[i].name : NULL;
}

/* The kind that the first operand names, which is taken away then; else the
 * first one. A trace in a folder of such a name is meant if nothing follows. */
static const struct kind *take_kind(int *count, char ***operands)
{
	for (size_t i = 0; *count > 0 && i < KINDS; i++)
		if (strcmp((*operands)[0], kinds[i].name) == 0 &&
		    (*count > 1 || access((*operands)[0], F_OK) != 0)) {
			++*operands;
			--*count;
			return &kinds[i];
		}
	return &kinds[0];
}

/* 0, or -1 with the cause in the chain: the first operand names no trace and
 * looks like a kind. */
static int check_word(int count, char **operands)
{
	struct guess guess;
	char meant[GUESS_TEXT];

	if (count < 2 || access(operands[0], F_OK) == 0)
		return 0;
	guess_init(&guess, operands[0]);
	for (size_t i = 0; i < KINDS; i++)
		guess_offer(&guess, kinds[i].name, strlen(kinds[i].name));
	if (guess.best[0] == '\0')
		return 0;
	return err_add("there is no kind of plot \"%s\"%s", operands[0],
		       guess_text(&guess, NULL, meant, sizeof(meant)));
}

/* 0, or -1 with the cause in the chain: an option that the kind would not
 * follow. */
static int check_kind(const struct kind *k)
{
	if (arg_only && !k->has_functions)
		return err_add("--only has no meaning for %s; --under, "
			       "--focus and --skip choose functions there",
			       k->name);
	if (k != kinds && (arg_sort >= 0 || ranking_wants_waiting()))
		return err_add("--%s has no meaning for %s; it is for hot",
			       arg_sort >= 0 ? "sort" : "waiting", k->name);
	if (!k->is_of_records)
		return 0;
	if (filter_args_refuse(FILTER_FUNCTIONS, "single records are drawn "
			       "with their whole stacks; weft plot hot shows "
			       "only a part of them") != 0)
		return -1;
	return strcmp(k->name, "heat") != 0 ? 0 :
	       filter_args_refuse(FILTER_SET(COROUTINE), "calls of all "
			"coroutines are counted; weft plot lanes shows one");
}

/* ---- where to, and in which format -------------------------------------- */

/* The index in out_plot_formats of what the file's name ends in; -1 if that is
 * no format of files. */
static int format_of(const char *file)
{
	const char *const dot = strrchr(file, '.');

	for (int i = 0; dot && i <= OUT_PLOT_PDF; i++)
		if (strcmp(dot + 1, out_plot_formats[i]) == 0)
			return i;
	return -1;
}

/* What is drawn for a terminal goes there, unless a file is named. */
static int choose_terminal(void)
{
	if (arg_term && arg_format >= 0 && arg_format != OUT_PLOT_DUMB)
		return err_add("--term draws in characters and --format %s "
			       "does not; leave one of them out",
			       out_plot_formats[arg_format]);
	if (arg_term)
		arg_format = OUT_PLOT_DUMB;
	if (arg_format > OUT_PLOT_PDF && !arg_output)
		arg_output = "-";
	return 0;
}

/* Set arg_format from --format and the file's name, which must not contradict
 * each other. 0, or -1 with the cause in the chain. */
static int choose_format(void)
{
	const char *file;
	int ending;

	if (choose_terminal() != 0)
		return -1;
	/* -1 for "-", for no file, and for a name without a known ending. */
	file = arg_output ? arg_output : "";
	ending = format_of(file);
	if (arg_format >= 0 && ending >= 0 && ending != arg_format)
		return err_add("the ending of \"%s\" does not match --format "
			       "%s; change one of them", file,
			       out_plot_formats[arg_format]);
	if (arg_format < 0 && ending < 0 && strchr(text_base_name(file), '.'))
		return err_add("\"%s\" does not end in .svg, .png or .pdf; "
			       "say which --format it has", file);
	if (arg_format < 0)
		arg_format = ending >= 0 ? ending : OUT_PLOT_SVG;
	if ((arg_format == OUT_PLOT_PNG || arg_format == OUT_PLOT_PDF) &&
	    strcmp(file, "-") == 0 && isatty(STDOUT_FILENO))
		return err_add("%s is binary and is not written to a "
			       "terminal; give -o FILE",
			       out_plot_formats[arg_format]);
	return 0;
}

/* DIR.svg or DIR.KIND.svg, written to `to`, or borrowed from the option. */
static const char *output_name(const struct kind *k, const char *dir, char *to,
			       size_t size)
{
	char ending[80];

	snprintf(ending, sizeof(ending), "%s%s.%s", k == kinds ? "" : ".",
		 k == kinds ? "" : k->name, out_plot_formats[arg_format]);
	return arg_output ? arg_output :
	       out_file_beside(dir, ending, to, size);
}

/* ---- the command -------------------------------------------------------- */

/* Draw what is filled in. dir: what the file is named after. */
static enum cmd_exit draw(const struct kind *k, struct plots *p,
			  const char *dir)
{
	char room[4096];
	const char *const file = output_name(k, dir, room, sizeof(room));

	if (out_plot_draw(&p->plot, file, arg_format, arg_keep) != 0)
		return CMD_UNREADABLE;
	if (strcmp(file, "-") != 0)
		fprintf(stderr, "weft: plot written to %s\n", file);
	return CMD_OK;
}

/* A plot without calls is not drawn. */
static enum cmd_exit draw_one(const struct kind *k, int count, char **operands)
{
	const struct replay_collect want = { .hist = k->has_histograms };
	struct plots p = { .top = arg_top, .functions = arg_only,
		.is_text = arg_format == OUT_PLOT_DUMB,
		.sort = arg_sort < 0 ? NULL : plots_sorts[arg_sort] };
	struct load load;
	enum cmd_exit status;

	load_want_net(!k->is_of_records && !k->has_histograms);
	status = load_open_with(&load, &want, count, operands);
	if (status == CMD_OK && k->is_of_records)
		status = load_need_trace(&load, "single calls");
	/* Memory is taken where no call is recorded, too. */
	if (status == CMD_OK && k->fill != plots_memory)
		status = header_need_calls(&load);
	plots_init(&p);
	if (status == CMD_OK)
		status = k->fill(&p, &load);
	if (status == CMD_OK)
		status = draw(k, &p, count > 1 ? "merged" : load.path);
	plots_fini(&p);
	load_close(&load);
	return status;
}

/* The file is named after the last trace. */
static enum cmd_exit draw_diff(const struct kind *k, int count,
			       char **operands)
{
	struct plots p = { .top = arg_top };
	struct sides sides;
	enum cmd_exit status = sides_open(&sides, true, count, operands);

	plots_init(&p);
	if (status == CMD_OK)
		status = plots_diff(&p, &sides);
	if (status == CMD_OK)
		status = draw(k, &p, operands[count - 1]);
	plots_fini(&p);
	sides_close(&sides);
	return status;
}

/* The format is settled before the trace is read, which may take long. */
static enum cmd_exit plot_run(int count, char **operands)
{
	const struct kind *const k = take_kind(&count, &operands);

	if (check_word(count, operands) != 0 || choose_format() != 0 ||
	    check_kind(k) != 0)
		return CMD_USAGE;
	return k->fill ? draw_one(k, count, operands) :
			 draw_diff(k, count, operands);
}

const struct cmd cmd_plot = {
	.name = "plot",
	.args = "[KIND] TRACE... | diff A B",
	.summary = "draw what a trace shows with gnuplot",
	.about =
	"Reads traces or profiles and draws a plot as SVG, PNG, PDF, or in\n"
	"the terminal. gnuplot must be installed. What was lost, and what is\n"
	"not drawn, stands below the title. KIND is one of these:\n"
	"\n"
	"hot: the functions with the most time, as bars; the default. Where\n"
	"the trace holds the kernel's context switches, bars are times on\n"
	"the CPU, with waiting as a lighter part. A long lighter part is cut;\n"
	"the text beside the bar has both times in full.\n"
	"latency: how long the calls of a few functions took.\n"
	"shares: in which function threads were, over time.\n"
	"heat: how many calls took how long, over time.\n"
	"lanes: a row for each thread and coroutine: when it ran and in\n"
	"what, when it was suspended, who resumed it.\n"
	"memory: what functions had in use over time, of a trace with --heap.\n"
	"diff: what takes more or less time than before; like weft diff, it\n"
	"takes A B, or A... vs B...\n"
	"\n"
	"shares, heat, lanes and memory need a trace: they read its records\n"
	"once more, with one processor. hot and latency merge several\n"
	"traces and profiles. Write ./hot for a folder that is named like a\n"
	"kind.",
	.opts = opts,
	.word = kind_word,
	.run = plot_run,
	.is_unpaged = true,
};
