/* cmd_export.c - "weft export": what was recorded, in the formats of other
 * tools. Knows the list of formats; each of them is written elsewhere, text by
 * the folder out and profiles by load/load_profile.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/vec.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/load/completeness.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_chronicle.h"
#include "analyzer/load/load_profile.h"
#include "analyzer/out/export/export.h"
#include "analyzer/out/out_file.h"
#include "analyzer/out/out_number.h"

#include <string.h>
#include <unistd.h>

/* So many bytes are said before they are written. */
enum { LARGE = 1000000000 };

/* The options. arg_format: an index of formats. */
static const char *arg_output = "-";
static int arg_format;

/* ---- formats ------------------------------------------------------------ */

/* What a format is made of: the tree; the tree and single moments; or what
 * happened, in the order of time, with tracks of stitched stacks or with tracks
 * for coroutines. */
enum source { TREE, MOMENTS, STACKS, TRACKS };

/* Each has a name and a writer. A new format is a row. */
#define FORMATS(X) \
	X("pprof", .write = load_profile_write, .is_binary = true, \
	  .hist = true) \
	X("collapsed", .put = export_collapsed_write, .is_repeating = true) \
	X("folded", .put = export_collapsed_write, .is_repeating = true) \
	X("speedscope", .put = export_speedscope_write) \
	X("callgrind", .put = export_callgrind_write) \
	X("sqlite", .add = export_sqlite_write, .source = MOMENTS, \
	  .hist = true) \
	X("json", .put = export_json_write, .source = MOMENTS, .hist = true) \
	X("csv", .put = export_csv_write, .hist = true) \
	X("speedscope-time", .put = export_speedscope_time_write, \
	  .source = STACKS) \
	X("chrome", .put = export_chrome_write, .source = TRACKS) \
	X("perfetto", .put = export_perfetto_write, .is_binary = true, \
	  .source = TRACKS) \
	X("firefox", .put = export_firefox_write, .source = STACKS)

#define FORMAT_NAME(name, ...) name,
/* The names, for the option's choices, are made from the same rows as the
 * writers: neither list can be changed without the other. */
static const char *const format_names[] = { FORMATS(FORMAT_NAME) NULL };

#define FORMAT_ROW(name, ...) { __VA_ARGS__ },
/* A writer is one of three, each of which returns 0, or -1 with the cause in
 * the chain: put writes text to a file that is open; add changes a file; write
 * makes the file itself and puts the load's sentences into it. */
static const struct format {
	export_fn put;
	int (*add)(const char *file, const struct export_from *);
	int (*write)(struct load *, const char *file);
	enum source source;
	bool is_binary;          /* a terminal would take bytes for commands */
	bool hist;               /* needs histograms */
	bool is_repeating;       /* each stack has all of its frames */
} formats[] = { FORMATS(FORMAT_ROW) };

/* Sentences of the load; they live as long as the arena. */
struct sentences {
	struct arena *text;
	const char **list;
	size_t count, room;
};

static void add_sentence(void *ctx, const char *sentence)
{
	struct sentences *const s = ctx;

	*vec_add(&s->list, &s->room, &s->count) =
		arena_copy(s->text, sentence, strlen(sentence));
}

/* What out_file_write calls. */
static int put_text(FILE *to, void *from)
{
	return formats[arg_format].put(to, from);
}

/* A writer that is handed all that it needs. */
static int write_from(const struct format *f, struct load *load,
		      struct export_from *from)
{
	struct arena *const text = arena_new();
	struct sentences lost = { .text = text }, notes = { .text = text };
	int status;

	from->session = load->session;
	from->lost_count = completeness_each(load, add_sentence, &lost);
	from->note_count = completeness_notes(load, add_sentence, &notes);
	from->lost = lost.list;
	from->notes = notes.list;
	status = f->add ? f->add(arg_output, from) :
		 out_file_write(arg_output, put_text, from);
	mem_free_all(lost.list, notes.list);
	arena_free(text);
	return status;
}

static int write_moments(const struct format *f, struct load *load)
{
	struct export_from from = { .session = load->session };
	struct load_moments m;
	int status = load_moments_init(&m, load);

	if (status == 0 && m.slow) {
		from.slow = slow_found(m.slow);
		from.resumes = resumes_rows(m.resumes, &from.resume_count);
	}
	if (status == 0)
		status = write_from(f, load, &from);
	load_moments_fini(&m);
	return status;
}

static int write_in_time(const struct format *f, struct load *load,
			 struct chronicle **chronicle)
{
	struct export_from from = { .session = load->session };

	if (load_chronicle(load, chronicle, f->source == TRACKS) != 0)
		return -1;
	from.chronicle = chronicle_found(*chronicle);
	return write_from(f, load, &from);
}

/* Deep recursion makes a file of all frames of all stacks large. */
static void say_large(const struct session *s)
{
	const uint64_t bytes = export_collapsed_bytes(s);
	char text[OUT_NUMBER];

	if (bytes >= LARGE)
		fprintf(stderr, "# note: about %s are written, as each stack "
			"has all its frames (--under and --thread choose a "
			"part; pprof and speedscope are smaller)\n",
			out_number_bytes(text, bytes));
}

/* Write the file, from the tree, from another reading of the trace, or from
 * what was collected with the tree. */
static int write_file(const struct format *f, struct load *load,
		      struct chronicle **chronicle)
{
	struct export_from from = { .session = load->session };

	if (f->is_repeating)
		say_large(load->session);
	if (f->write)
		return f->write(load, arg_output);
	return f->source == TREE ? write_from(f, load, &from) :
	       f->source == MOMENTS ? write_moments(f, load) :
	       write_in_time(f, load, chronicle);
}

/* ---- the command -------------------------------------------------------- */

/* -f is one of the formats above; the first one is the default. */
static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 'f', .name = "format", .arg = "NAME",
	  .to = &arg_format, .choices = format_names, .help = "what to write" },
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "the file to write; - is standard "
	  "output" },
	{ .type = OPT_MORE, .more = load_chronicle_opts },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* Can the format be written there, from what the options choose? */
static int check(const struct format *f)
{
	const bool is_stdout = strcmp(arg_output, "-") == 0;

	if (is_stdout && f->add)
		return err_add("a database cannot be written to standard "
			       "output; give -o FILE");
	if (f->add && (strcmp(arg_output, ":memory:") == 0 ||
		       arg_output[0] == '\0'))
		return err_add("a database in memory would be gone at once; "
			       "give the name of a file");
	if (is_stdout && f->is_binary && isatty(STDOUT_FILENO))
		return err_add("this format is binary and is not written to a "
			       "terminal; give -o FILE");
	return f->source <= MOMENTS ? load_chronicle_refuse(
		"this format has no single calls; -f chrome and others have") :
		load_chronicle_check();
}

/* Only the profile keeps Lua states apart, so they are collected for it alone.
 * The file is written even if the trace holds no call: the exit status says
 * that, and what there is can be looked at. */
static enum cmd_exit export_run(int count, char **operands)
{
	const struct format *const f = &formats[arg_format];
	const struct replay_collect want = { .hist = f->hist,
					     .vm = f->write != NULL };
	struct chronicle *chronicle = NULL;
	enum cmd_exit status;
	struct load load;

	if (check(f) != 0)
		return CMD_USAGE;
	load_want_net(f->source <= MOMENTS);
	load_want_heap(f->source <= MOMENTS);
	if (f->source > MOMENTS)
		chronicle = load_chronicle_begin(f->source == TRACKS);
	status = load_open_with(&load, &want, count, operands);
	if (status == CMD_OK && write_file(f, &load, &chronicle) != 0)
		status = CMD_UNREADABLE;
	if (status == CMD_OK) {
		header_print_losses(&load);
		status = header_need_calls(&load);
	}
	load_close(&load);
	chronicle_free(chronicle);
	return status;
}

const struct cmd cmd_export = {
	.name = "export",
	.args = "TRACE...",
	.summary = "write a trace in the format of other tools",
	.about =
	"Reads traces or profiles (several are merged) and writes one file.\n"
	"\n"
	"pprof is a compact profile: a protobuf file, gzipped, that\n"
	"\"go tool pprof\", speedscope and others open, with calls, self\n"
	"and suspended time of each stack. weft reads it back: report,\n"
	"tree, merge, diff and others take it instead of a trace, and\n"
	"print the same. It does not hold single coroutines, moments or\n"
	"chunks.\n"
	"\n"
	"collapsed is text for flame graph tools, some of which call it\n"
	"folded: a line for each stack, its frames with semicolons between\n"
	"them, and its self time in ns. Both names are accepted.\n"
	"\n"
	"speedscope is JSON for that viewer: a tree for each thread, in which\n"
	"each stack appears once, as wide as its total time. Names of Lua\n"
	"functions end in \" [lua]\", names of marks in \" [mark]\".\n"
	"\n"
	"callgrind is text for kcachegrind and callgrind_annotate: self, time\n"
	"on and off the CPU, suspended time and calls of each function, and\n"
	"what it calls, with files and lines.\n"
	"\n"
	"sqlite adds the session to a database: functions, the tree with all\n"
	"its figures, coroutines and who resumed them, the 1,000 calls with\n"
	"most self time, threads, labels, and what was lost, for questions\n"
	"in SQL. It needs -o FILE; a FILE that is there gets one more\n"
	"session.\n"
	"\n"
	"json is the same tables as one document, for scripts. csv is a row\n"
	"for each stack of the tree.\n"
	"\n"
	"The following have the single calls of one trace, in the order of\n"
	"time, as they were recorded (not net):\n"
	"speedscope-time is JSON for that viewer, the stitched stacks of each\n"
	"thread.\n"
	"chrome is Trace Event JSON for Perfetto's UI and chrome://tracing: a\n"
	"track for each thread and for each coroutine, with arrows from a\n"
	"resume over the coroutine to its suspend.\n"
	"perfetto is the same as protobuf, for Perfetto's UI and its trace\n"
	"processor: smaller, and each coroutine is below who resumed it.\n"
	"firefox is JSON for https://profiler.firefox.com: the stitched\n"
	"stacks of each thread.\n"
	"A call that is suspended is in pieces, one for each run of its\n"
	"coroutine. Where a trace has more calls than --max-events, the\n"
	"shortest ones are folded: NAME then stands for several calls one\n"
	"after the other, \"NAME (with callees)\" for what they called, too,\n"
	"and \"(short calls)\" for different ones. These are as long as their\n"
	"calls together. Missing records are spans, too.",
	.opts = opts,
	.run = export_run,
	.is_unpaged = true,
};
