/* options.c - the command line of `weft record`: one row for each option, from
 * which the help is printed, too.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/options.h"

#include <errno.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 1 };
enum { MOST_HZ = 10000 }; /* of samples */
enum row { ROW_ON_FULL = 1, ROW_POOL_SIZE, ROW_COMPRESS, ROW_SAMPLE_RATE,
	   ROW_LABEL, ROW_HELP, ROW_VERSION, ROW_ONLY, ROW_SKIP };

static struct options opt = { .sample_hz = -1 };

static struct poptOption rows[] = {
	{ "output", 'o', POPT_ARG_STRING, &opt.output, 0,
	  "write the trace to the folder DIR, which must not exist "
	  "(default: weft-trace-PROGRAM-PID)", "DIR" },
	{ "paused", 0, POPT_ARG_NONE, &opt.paused, 0,
	  "start with recording turned off; the program turns it on (see "
	  "weft_resume and weft_start in weft.h)", NULL },
	{ "no-follow", 0, POPT_ARG_NONE, &opt.no_follow, 0,
	  "stop when the program ends, even if its children still run", NULL },
	{ "on-full", 0, POPT_ARG_STRING, NULL, ROW_ON_FULL,
	  "when no buffer is free: drop records and count them (default), "
	  "make the program wait, or overwrite the oldest records",
	  "drop|wait|overwrite" },
	{ "pool-size", 0, POPT_ARG_STRING, NULL, ROW_POOL_SIZE,
	  "shared memory for buffers, e.g. 256M (default: 64M, less where "
	  "/dev/shm or memory is small)", "SIZE" },
	{ "compress", 0, POPT_ARG_STRING, NULL, ROW_COMPRESS,
	  "compress what is written: fast (LZ4), small (zstd), none, or auto "
	  "(default): fast, but none while the program makes records faster "
	  "than they are written", "auto|none|fast|small" },
	{ "skip", 0, POPT_ARG_STRING, NULL, ROW_SKIP,
	  "leave out the functions that match PATTERN, as in weft report "
	  "--skip: their calls are not recorded, their time becomes their "
	  "callers'; @FILE: the patterns in FILE, one a line; may be given "
	  "several times", "PATTERN|@FILE" },
	{ "only", 0, POPT_ARG_STRING, NULL, ROW_ONLY,
	  "leave out all functions but those that match PATTERN or @FILE; may "
	  "be given several times", "PATTERN|@FILE" },
	{ "sample-rate", 0, POPT_ARG_STRING, NULL, ROW_SAMPLE_RATE,
	  "have the kernel note HZ times a second where each thread is, up to "
	  "10000; 0: never; auto (default): as often as costs 1 % of a CPU, "
	  "at most 4000", "auto|HZ" },
	{ "no-lua", 0, POPT_ARG_NONE, &opt.no_lua, 0,
	  "do not record Lua", NULL },
	{ "lua-init", 0, POPT_ARG_NONE, &opt.lua_init, 0,
	  "have stock interpreters (lua5.1 ... lua5.5, luajit, and the "
	  "interpreters that they start) load weft, through LUA_INIT", NULL },
	{ "no-lua-names", 0, POPT_ARG_NONE, &opt.no_lua_names, 0,
	  "do not read Lua sources for the names of their functions", NULL },
	{ "no-native", 0, POPT_ARG_NONE, &opt.no_native, 0,
	  "do not record native calls", NULL },
	{ "count-only", 0, POPT_ARG_NONE, &opt.count_only, 0,
	  "count the calls of each stack, without times: the cheapest way",
	  NULL },
	{ "label", 0, POPT_ARG_STRING, NULL, ROW_LABEL,
	  "put KEY=VALUE into the trace; may be given several times",
	  "KEY=VALUE" },
	{ "archive", 0, POPT_ARG_NONE, &opt.archive, 0,
	  "when the program has ended, copy all that is needed to name its "
	  "functions into the trace: program files, debug files, Lua sources "
	  "(2 GB at most)", NULL },
	{ "quiet", 'q', POPT_ARG_NONE, &opt.quiet, 0,
	  "do not print the summary", NULL },
	{ "help", 'h', POPT_ARG_NONE, NULL, ROW_HELP, "print this help", NULL },
	{ "version", 0, POPT_ARG_NONE, NULL, ROW_VERSION,
	  "print the version", NULL },
	POPT_TABLEEND
};

bool options_size(const char *text, uint64_t *bytes)
{
	char *end;

	errno = 0;
	const unsigned long long n = strtoull(text, &end, 10);
	const char *const unit = "KMG";
	const char *const u = *end ? strchr(unit, *end) : NULL;
	const unsigned shift = u ? 10 * (unsigned)(u - unit + 1) : 0;

	if (errno != 0 || end == text || text[0] == '-' || n == 0 ||
	    (*end && (!u || end[1])) || n > UINT64_C(1) << (40 - shift))
		return false;
	*bytes = (uint64_t)n << shift;
	return true;
}

/* Which of the n names it is; negative: none. */
static int which(const char *const *names, int n, const char *text)
{
	while (--n >= 0 && strcmp(names[n], text) != 0)
		;
	return n;
}

static bool read_on_full(const char *text)
{
	static const char *const names[] = { "drop", "wait", "overwrite" };
	const int i = which(names, 3, text);

	if (i >= 0)
		opt.on_full = (enum pool_on_full)i;
	return i >= 0;
}

static bool read_compress(const char *text)
{
	static const char *const names[] = { "auto", "none", "fast", "small" };
	const int i = which(names, 4, text);

	if (i >= 0)
		opt.compress = (enum compress)i;
	return i >= 0;
}

static bool read_sample_rate(const char *text)
{
	char *end;

	if (strcmp(text, "auto") == 0) {
		opt.sample_hz = -1;
		return true;
	}
	const long hz = strtol(text, &end, 10);

	if (end == text || *end || hz < 0 || hz > MOST_HZ)
		return false;
	opt.sample_hz = (int)hz;
	return true;
}

static bool read_label(char *text)
{
	const char *const equals = strchr(text, '=');

	if (!equals || equals == text || opt.labels == OPTIONS_MAX_LABELS)
		return false;
	opt.label[opt.labels++] = text;
	return true;
}

static int refuse(const char *option, const char *text, const char *wanted)
{
	message("--%s \"%s\": %s; see weft record --help", option, text,
		wanted);
	return USAGE;
}

/* Negative: go on. */
static int read_patterns(const char *option, char **to, const char *text)
{
	const char *const why = selection_add(to, text);

	if (!why)
		return -1;
	message("--%s \"%s\": %s; see weft record --help", option, text, why);
	return USAGE;
}

/* Negative: go on. */
static int read_row(poptContext context, int row)
{
	char *const text = poptGetOptArg(context);

	switch (row) {
	case ROW_HELP:
		poptPrintHelp(context, stdout, 0);
		return 0;
	case ROW_VERSION:
		printf("weft %s\n", WEFT_VERSION);
		return 0;
	case ROW_ON_FULL:
		return read_on_full(text) ? -1 : refuse("on-full", text,
			"it is not one of drop, wait, overwrite");
	case ROW_POOL_SIZE:
		return options_size(text, &opt.pool_bytes) ? -1 :
		       refuse("pool-size", text,
			      "it is not a size such as 512K, 64M or 1G");
	case ROW_COMPRESS:
		return read_compress(text) ? -1 : refuse("compress", text,
			"it is not one of auto, none, fast, small");
	case ROW_SAMPLE_RATE:
		return read_sample_rate(text) ? -1 : refuse("sample-rate",
			text, "it is neither auto nor a number from 0 to "
			"10000");
	case ROW_LABEL:
		return read_label(text) ? -1 : refuse("label", text,
			opt.labels == OPTIONS_MAX_LABELS ?
			"there are 32 labels already" :
			"it is not KEY=VALUE");
	case ROW_SKIP:
		return read_patterns("skip", &opt.select.skip, text);
	case ROW_ONLY:
		return read_patterns("only", &opt.select.only, text);
	default:
		return -1;
	}
}

int options_read(struct options *o, int argc, char **argv)
{
	const poptContext context = poptGetContext("weft record", argc,
		(const char **)argv, rows, POPT_CONTEXT_POSIXMEHARDER);
	int row;

	poptSetOtherOptionHelp(context, "[options] -- program [args]");
	while ((row = poptGetNextOpt(context)) > 0) {
		const int status = read_row(context, row);

		if (status >= 0)
			return status;
	}
	if (row < -1) {
		message("%s: %s; see weft record --help",
			poptBadOption(context, POPT_BADOPTION_NOALIAS),
			poptStrerror(row));
		return USAGE;
	}
	opt.program = (char **)poptGetArgs(context);
	if (!opt.program || !opt.program[0] || !opt.program[0][0]) {
		message("no program to record is given; use: weft record "
			"[options] -- program [args]");
		return USAGE;
	}
	*o = opt;
	return -1;
}
