/* cmd_plot.c - "weft plot": hot functions by self time as bars, native and Lua
 * functions in different colours. Knows the file's name and the texts of the
 * bars; out/out_gnuplot draws them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/completeness.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_gnuplot.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/flat.h"

#include <string.h>
#include <unistd.h>

/* The options. arg_format -1: not given, the file's name says it. */
static const char *arg_output;
static size_t arg_top = 20;
static int arg_format = -1;

/* The default, and the only format that is text: it may go to a terminal. */
enum { FORMAT_SVG };
static const char *const formats[] = { "svg", "png", "pdf", NULL };

/* The default of --format depends on --output, so its help tells it in
 * words. */
static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "the file to write; - is standard "
	  "output (default: TRACE.svg beside the trace; merged.svg if "
	  "there are several)" },
	{ .type = OPT_CHOICE, .letter = 'f', .name = "format", .arg = "NAME",
	  .to = &arg_format, .choices = formats, .help = "what to write "
	  "(default: what FILE ends in, or svg)" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "functions to show, 0 for all" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* ---- where to, and in which format -------------------------------------- */

/* The index in formats of what the file's name ends in; -1 if that is no
 * format. */
static int format_of(const char *file)
{
	const char *const dot = strrchr(file, '.');

	for (int i = 0; dot && formats[i]; i++)
		if (strcmp(dot + 1, formats[i]) == 0)
			return i;
	return -1;
}

/* Set arg_format from --format and the file's name, which must not contradict
 * each other. 0, or -1 with the cause in the chain. */
static int choose_format(void)
{
	const char *const file = arg_output ? arg_output : "";
	/* -1 for "-", for no file, and for a name without a known ending. */
	const int ending = format_of(file);

	if (arg_format >= 0 && ending >= 0 && ending != arg_format)
		return err_add("the ending of \"%s\" does not match --format "
			       "%s; change one of them", file,
			       formats[arg_format]);
	if (arg_format < 0 && ending < 0 && strchr(text_base_name(file), '.'))
		return err_add("\"%s\" does not end in .svg, .png or .pdf; "
			       "say which --format it has", file);
	if (arg_format < 0)
		arg_format = ending >= 0 ? ending : FORMAT_SVG;
	if (arg_format != FORMAT_SVG && strcmp(file, "-") == 0 &&
	    isatty(STDOUT_FILENO))
		return err_add("%s is binary and is not written to a "
			       "terminal; give -o FILE",
			       formats[arg_format]);
	return 0;
}

/* The file's name: DIR.svg is beside the trace rather than in it. Written to
 * `to`, or borrowed from the option. */
static const char *output_name(const char *dir, char *to, size_t size)
{
	size_t length = strlen(dir);

	if (arg_output)
		return arg_output;
	while (length > 1 && dir[length - 1] == '/')
		length--;
	snprintf(to, size, "%.*s.%s", (int)length, dir, formats[arg_format]);
	return to;
}

/* ---- the plot ----------------------------------------------------------- */

/* Colours of bars, by language; NOTE: bytes of the text beside a bar. */
enum { GROUP_NATIVE, GROUP_LUA, GROUPS, NOTE = 3 * OUT_NUMBER };
static const char *const groups[GROUPS] = { "native", "Lua" };

/* One axis, one unit: that of the longest bar. */
struct unit { const char *name; double ns; };

/* The largest unit of which the longest bar has at least one. */
static struct unit unit_for(double ns)
{
	static const struct unit units[] = {
		{ "seconds", 1e9 }, { "milliseconds", 1e6 },
		{ "microseconds", 1e3 }
	};

	for (size_t i = 0; i < 3; i++)
		if (ns >= units[i].ns)
			return units[i];
	return (struct unit){ "nanoseconds", 1 };
}

/* One bar: its label is the function, its note what the table would say. `note`
 * has NOTE bytes, and the bar borrows it. */
static void fill(struct out_bar *bar, char *note, const struct session *s,
		 const struct flat *flat, const struct flat_row *row,
		 const struct unit *unit)
{
	const struct func *const f = func_get(s->funcs, row->f.func);
	const double ns = (double)session_ns(s, row->f.self);
	char time[OUT_NUMBER], share[OUT_NUMBER], calls[OUT_NUMBER];

	snprintf(note, NOTE, "%s  %s  %s", out_number_time(time, ns),
		 out_number_share(share, row->f.self, flat->self),
		 out_number_many(calls, row->f.calls, "calls"));
	bar->label = f->name;
	bar->note = note;
	bar->value = ns / unit->ns;
	bar->group = f->kind == FUNC_LUA ? GROUP_LUA : GROUP_NATIVE;
}

/* A plot leaves its trace behind, so it says itself whether it is complete. */
static void set_title(char *to, size_t size, const struct load *load)
{
	const struct session *const s = load->session;
	char time[OUT_NUMBER];

	snprintf(to, size, "Hot functions of %.60s by self time: %s recorded, "
		 "%s", s->process_count == 0 ? "?" :
		 load_file_name(s->processes[0].path),
		 out_number_time(time, (double)session_duration(s)),
		 completeness_each(load, NULL, NULL) == 0 ? "nothing lost" :
		 "not complete");
}

/* Write the plot to the file. Rows come by falling self, so the first bar is
 * the longest one, and its unit is that of the axis. bars and notes are arrays
 * of the same length; a bar borrows its note. 0, or -1 with the cause in the
 * chain. */
static int draw(const struct load *load, const char *file)
{
	struct session *const s = load->session;
	struct flat *const flat = flat_new(s, NULL);
	const size_t count = arg_top > 0 && arg_top < flat->count ? arg_top :
			     flat->count;
	struct out_bar *const bars = mem_alloc((count + 1) * sizeof(*bars));
	char (*const notes)[NOTE] = mem_alloc((count + 1) * sizeof(*notes));
	const struct unit unit = unit_for(count == 0 ? 0 :
		(double)session_ns(s, flat->rows[0].f.self));
	char title[256], axis[64];
	int status;

	for (size_t i = 0; i < count; i++)
		fill(&bars[i], notes[i], s, flat, &flat->rows[i], &unit);
	set_title(title, sizeof(title), load);
	snprintf(axis, sizeof(axis), "self time, %s", unit.name);
	const struct out_bars plot = { title, axis, bars, count, groups,
				       GROUPS };

	status = out_gnuplot_bars(&plot, file, formats[arg_format]);
	mem_free(bars);
	mem_free(notes);
	flat_free(flat);
	return status;
}

/* The format is settled before the trace is read, which may take long. A plot
 * without bars is not drawn. */
static enum cmd_exit run(int count, char **operands)
{
	char room[4096];
	struct load load;
	enum cmd_exit status;

	if (choose_format() != 0)
		return CMD_USAGE;
	load_want_net(true);
	status = load_open(&load, count, operands);
	if (status == CMD_OK)
		status = header_need_calls(&load);
	if (status == CMD_OK) {
		const char *const file = output_name(count > 1 ? "merged" :
				load.path, room, sizeof(room));

		if (draw(&load, file) != 0)
			status = CMD_UNREADABLE;
		else if (strcmp(file, "-") != 0)
			fprintf(stderr, "weft: plot written to %s\n", file);
	}
	load_close(&load);
	return status;
}

const struct cmd cmd_plot = {
	.name = "plot",
	.args = "TRACE...",
	.summary = "draw the hot functions with gnuplot",
	.about =
	"Reads traces or profiles (several are merged) and draws their hot\n"
	"functions by self time as bars, native and Lua functions in\n"
	"different colours, as SVG, PNG, or PDF if gnuplot can. gnuplot must\n"
	"be installed.",
	.opts = opts,
	.run = run,
};
