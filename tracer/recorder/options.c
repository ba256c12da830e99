/* options.c - the command line of `weft record`: one row for each option, from
 * which the help is printed, too.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/pattern.h"
#include "tracer/recorder/base/amount.h"
#include "tracer/recorder/base/message.h"
#include "tracer/recorder/options.h"

#include <errno.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 1 };
enum { LEAST_PIECE = 1 << 20 };
#define SECOND_NS UINT64_C(1000000000)
#define SHORTEST_NS (SECOND_NS / 100) /* of what the clock turns */
#define MOST_NS (86400 * 1000 * SECOND_NS)
enum { ROW_VALUE = 1, ROW_HELP, ROW_VERSION, ROW_REFERENCE,
       ROW_HEAP };

static struct options opt = { .sample_hz = -1, .lua = POOL_LUA_EXACT };
static bool has_on_full, has_lua;
static int lua_lines;

/* ---- values ---- */

/* How the text of an option, which popt puts into it, is read. read stores what
 * it says, and returns NULL, or why it is refused: mostly `not`. */
struct value {
	char *text;
	const char *(*read)(const struct value *, char *text);
	const char *not;
	void *to;
	uint64_t least, most;
	const char *const *names;  /* of a choice */
	bool *is_given;            /* set then; or NULL */
};

/* ns. */
static bool is_time_between(const char *text, uint64_t least, uint64_t most,
			    uint64_t *ns)
{
	uint64_t n;

	if (!amount_time(text, &n) || n < least || n > most)
		return false;
	*ns = n;
	return true;
}

static const char *read_time(const struct value *v, char *text)
{
	return is_time_between(text, v->least, v->most, v->to) ? NULL : v->not;
}

static const char *read_size(const struct value *v, char *text)
{
	uint64_t *const to = v->to;

	return amount_size(text, to) && *to >= v->least ? NULL : v->not;
}

static const char *read_number(const struct value *v, char *text)
{
	char *end;
	const long n = strtol(text, &end, 10);

	if (end == text || *end || n < (long)v->least || n > (long)v->most)
		return v->not;
	*(uint32_t *)v->to = (uint32_t)n;
	return NULL;
}

static const char *read_patterns(const struct value *v, char *text)
{
	return selection_add(v->to, text);
}

/* A native function's file is known only later. */
static const char *read_start_on(const struct value *v, char *text)
{
	const char *const why = selection_add(&opt.start_on, text);

	for (const char *all = opt.start_on; !why && all; )
		if (pattern_next(&all).of == PATTERN_FILE)
			return v->not;
	return why;
}

/* "10s/60s". */
static const char *read_duty(const struct value *v, char *text)
{
	const char *const slash = strchr(text, '/');
	char on[32];

	if (!slash || slash - text >= (long)sizeof(on))
		return v->not;
	snprintf(on, sizeof(on), "%.*s", (int)(slash - text), text);
	return is_time_between(slash + 1, SHORTEST_NS, MOST_NS,
			       &opt.duty_period) &&
	       is_time_between(on, SHORTEST_NS, opt.duty_period,
			       &opt.duty_on) ? NULL : v->not;
}

/* By their numbers. */
static const char *const on_full_names[] = {
	[POOL_DROP] = "drop", [POOL_WAIT] = "wait", [POOL_LEND] = "lend", NULL
};
static const char *const lua_names[] = {
	[POOL_LUA_OFF] = "off", [POOL_LUA_EXACT] = "exact",
	[POOL_LUA_SAMPLED] = "sampled", NULL
};
static const char *const compress_names[] = {
	"auto", "none", "fast", "small", NULL
};

static const char *read_choice(const struct value *v, char *text)
{
	uint32_t i = 0;

	while (v->names[i] && strcmp(v->names[i], text) != 0)
		i++;
	if (!v->names[i])
		return v->not;
	*(uint32_t *)v->to = i;
	if (v->is_given)
		*v->is_given = true;
	return NULL;
}

static const char *read_snapshot_on(const struct value *v, char *text)
{
	const char *const why = opt.slow_n == SLOW_CALL_RULES ? v->not :
				slow_call_read(&opt.slow[opt.slow_n], text);

	opt.slow_n += !why;
	return why;
}

static const char *read_sample_rate(const struct value *v, char *text)
{
	if (strcmp(text, "auto") != 0)
		return read_number(v, text);
	opt.sample_hz = -1;
	return NULL;
}

static const char *read_budget(const struct value *v, char *text)
{
	char *end;
	const double percent = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0) ||
	    !(percent >= 0.1 && percent <= 90))
		return v->not;
	opt.budget = percent / 100;
	return NULL;
}

/* A time is kept in at most 256 MiB. */
static const char *read_flight(const struct value *v, char *text)
{
	const uint64_t least = 1 << 20, most = UINT64_C(64) << 30;
	uint64_t ns;

	opt.flight_ms = 0;
	if (amount_size(text, &opt.flight_bytes))
		return opt.flight_bytes >= least && opt.flight_bytes <= most ?
		       NULL : v->not;
	if (!is_time_between(text, SECOND_NS, 3600 * SECOND_NS, &ns))
		return v->not;
	opt.flight_ms = ns / 1000000;
	opt.flight_bytes = UINT64_C(256) << 20;
	return NULL;
}

static const char *read_relay(const struct value *v, char *text)
{
	return relay_read(&opt.relay, text) ? NULL : v->not;
}

/* KEY=VALUE. Of one key, the last counts. */
static const char *read_label(const struct value *v, char *text)
{
	const size_t key = strcspn(text, "=");
	int i = 0;

	(void)v;
	if (!text[key] || key == 0)
		return "it is not KEY=VALUE";
	while (i < opt.labels && strncmp(opt.label[i], text, key + 1) != 0)
		i++;
	if (i == OPTIONS_MAX_LABELS)
		return "there are 32 labels already";
	opt.label[i] = text;
	opt.labels += i == opt.labels;
	return NULL;
}

/* ---- the options ---- */

/* An option whose text is read: the last columns of its struct value. */
#define READ(...) \
	POPT_ARG_STRING, &(struct value){ .read = __VA_ARGS__ }, ROW_VALUE

static struct poptOption rows[] = {
	{ "output", 'o', POPT_ARG_STRING, &opt.output, 0,
	  "write the trace to the folder DIR, which must not exist "
	  "(default: weft-trace-PROGRAM-PID)", "DIR" },
	{ "name", 0, POPT_ARG_STRING, &opt.name, 0,
	  "call the recording NAME for weft status, start, stop, snapshot, "
	  "finish and top (default: the program's name)", "NAME" },
	{ "pid", 'p', POPT_ARG_STRING, &opt.attach, 0,
	  "record a program that runs already, given by its process id or its "
	  "name, until Ctrl-C; the program then goes on as before",
	  "PID|NAME" },
	{ "paused", 0, POPT_ARG_NONE, &opt.paused, 0,
	  "start with recording turned off; weft start turns it on, or the "
	  "program does (see weft_resume and weft_start in weft.h)", NULL },
	{ "duration", 0, READ(read_time,
	  "it is not a time such as 500ms, 30s, 5min or 1h",
	  &opt.duration, SHORTEST_NS, MOST_NS),
	  "end the recording after TIME, e.g. 30s or 5min; the program goes "
	  "on", "TIME" },
	{ "duty", 0, READ(read_duty,
	  "it is not a time of a longer one, such as 10s/60s"),
	  "record only for a part of each period, e.g. 10s/60s: for the first "
	  "10 s of every 60 s", "TIME/TIME" },
	{ "of", 0, READ(read_number,
	  "it is not a number of replicas", &opt.duty_of, 1, 100000),
	  "with --duty: N replicas of the program share the periods; each "
	  "records in one period of N on average, from a random moment on",
	  "N" },
	{ "start-on", 0, READ(read_start_on,
	  "functions cannot be told by their file here"),
	  "start with recording turned off; the first call of FUNCTION (a "
	  "name or PATTERN, native or Lua) in any process or thread turns it "
	  "on; until then, each call costs about as much as one that --skip "
	  "leaves out", "FUNCTION" },
	{ "no-follow", 0, POPT_ARG_NONE, &opt.no_follow, 0,
	  "stop when the program ends, even if its children still run", NULL },
	{ "on-full", 0, READ(read_choice,
	  "it is not one of lend, drop, wait", &opt.on_full,
	  .names = on_full_names, .is_given = &has_on_full),
	  "what a thread does when no buffer is free: sleep until one is, for "
	  "a second at most, then drop records and count them (lend, the "
	  "default: the recorder may use its processor meanwhile); drop them "
	  "at once (drop, the default with -p); or wait for the recorder "
	  "(wait)", "lend|drop|wait" },
	{ "pool-size", 0, READ(read_size,
	  "it is not a size such as 512K, 64M or 1G", &opt.pool_bytes),
	  "shared memory for buffers, e.g. 256M (default: 64M, less where "
	  "/dev/shm or memory is small)", "SIZE" },
	{ "max-size", 0, READ(read_size,
	  "it is not a size such as 16M or 1G, of at least 1M",
	  &opt.max_size, LEAST_PIECE, UINT64_MAX),
	  "write the trace in pieces of at most SIZE bytes, e.g. 100M; each "
	  "piece can be read alone, and the folder as one trace of them all",
	  "SIZE" },
	{ "max-files", 0, READ(read_number,
	  "it is not a number of at least 2", &opt.max_files, 2, 999999),
	  "with --max-size: keep the newest N pieces, and remove older ones",
	  "N" },
	{ "relay", 0, READ(read_relay,
	  "it is not an address such as tcp://HOST or tcp://HOST:5342:5343"),
	  "send the trace to the lttng-relayd on HOST, which writes it there; "
	  "what it does not take is written to DIR (-o) on this machine",
	  "tcp://HOST[:CONTROL[:DATA]]" },
	{ "compress", 0, READ(read_choice,
	  "it is not one of auto, none, fast, small", &opt.compress,
	  .names = compress_names),
	  "compress what is written: fast (LZ4), small (zstd), none, or auto "
	  "(default): what costs least, which is fast",
	  "auto|none|fast|small" },
	{ "skip", 0, READ(read_patterns, NULL, &opt.select.skip),
	  "leave out the functions that match PATTERN, as in weft report "
	  "--skip: their calls are not recorded, their time becomes their "
	  "callers'; @FILE: the patterns in FILE, one a line; may be given "
	  "several times", "PATTERN|@FILE" },
	{ "only", 0, READ(read_patterns, NULL, &opt.select.only),
	  "leave out all functions but those that match PATTERN or @FILE; may "
	  "be given several times", "PATTERN|@FILE" },
	{ "count", 0, READ(read_patterns, NULL, &opt.select.count),
	  "only count the calls of functions that match PATTERN or @FILE, for "
	  "each stack they are made from: their time becomes their callers'; "
	  "may be given several times", "PATTERN|@FILE" },
	{ "min-duration", 0, READ(read_time,
	  "it is not a time such as 500ns, 2us or 1ms, of at most 1000ms",
	  &opt.min_duration, 1, SECOND_NS),
	  "only count calls that take less than TIME, e.g. 500ns, 2us or 1ms, "
	  "and have no recorded call inside: how many there are, and how long "
	  "they take in all, for each stack", "TIME" },
	{ "max-depth", 0, READ(read_number,
	  "it is not a number from 1 to 1000000", &opt.max_depth, 1, 1000000),
	  "leave out calls that lie deeper than N calls in the stack of their "
	  "thread or coroutine: their time becomes that of their caller at "
	  "depth N", "N" },
	{ "budget", 0, READ(read_budget,
	  "it is not a share from 0.1% to 90%"),
	  "keep what recording costs below P percent of the program's CPU "
	  "time: the calls of the native functions that are called most often "
	  "and take least are only counted, and Lua states whose calls cost "
	  "most are sampled", "P%" },
	{ "flight-recorder", 0, READ(read_flight,
	  "it is neither a size from 1M to 64G nor a time such as 30s or 5min"),
	  "keep the newest records in memory, at most SIZE (64M) or those of "
	  "the last TIME (30s), and write nothing; a snapshot of them is "
	  "written by weft snapshot, on SIGUSR1, by weft_snapshot in weft.h, "
	  "and if a signal ends the program; see also --snapshot-on",
	  "SIZE|TIME" },
	{ "snapshot-on", 0, READ(read_snapshot_on,
	  "there are 8 rules already"),
	  "with --flight-recorder: write a snapshot when a call took longer "
	  "than RULE says, e.g. 'handle_* > 500ms' (from entry to exit) or "
	  "'total(work) > 2s' (without the time its coroutine was suspended); "
	  "at most one snapshot in 10 s; may be given 8 times", "RULE" },
	{ "sample-rate", 0, READ(read_sample_rate,
	  "it is neither auto nor a number from 0 to 10000",
	  &opt.sample_hz, 0, 10000),
	  "have the kernel note HZ times a second where each thread is, up to "
	  "10000; 0: never; auto (default): as often as costs 1 % of a CPU, "
	  "at most 4000", "auto|HZ" },
	{ "reference", 0, POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL,
	  &opt.reference_of, ROW_REFERENCE,
	  "take times from the program as it runs unrecorded: run it, or "
	  "PROGRAM (such as its build without -finstrument-functions) with "
	  "its arguments, once before; with -p: sample it for TIME (default: "
	  "10s) before it is recorded", "PROGRAM|TIME" },
	{ "sample-only", 0, POPT_ARG_NONE, &opt.sample_only, 0,
	  "record no call, and load nothing into the program: only note where "
	  "it is, for weft report --reference", NULL },
	{ "lua", 0, READ(read_choice, "it is none of exact, sampled and off",
	  &opt.lua, .names = lua_names, .is_given = &has_lua),
	  "exact (default): record each call of Lua, with LuaJIT's compiler "
	  "off; sampled (default with -p): note a few hundred times in each "
	  "second of CPU time which Lua functions run, without hooks for "
	  "calls, with LuaJIT's compiler on; off: do not record Lua",
	  "exact|sampled|off" },
	{ "lua-lines", 0, POPT_ARG_NONE, &lua_lines, 0,
	  "with --lua exact, also note a few hundred times in each second of "
	  "CPU time in which line a Lua function is (weft lines); with --lua "
	  "sampled, lines are noted always", NULL },
	{ "no-lua", 0, POPT_ARG_VAL, &opt.lua, POOL_LUA_OFF,
	  "the same as --lua off", NULL },
	{ "lua-init", 0, POPT_ARG_NONE, &opt.lua_init, 0,
	  "have stock interpreters (lua5.1 ... lua5.5, luajit, and the "
	  "interpreters that they start) load weft, through LUA_INIT", NULL },
	{ "no-lua-names", 0, POPT_ARG_NONE, &opt.no_lua_names, 0,
	  "do not read Lua sources for the names of their functions", NULL },
	{ "no-native", 0, POPT_ARG_NONE, &opt.no_native, 0,
	  "do not record native calls", NULL },
	{ "waits", 0, POPT_ARG_NONE, &opt.waits, 0,
	  "also record calls of libc's functions that wait, as native calls "
	  "of their callers: poll, read, write, sleep and the like, and "
	  "locks that are taken already; weft locks shows who waited for "
	  "whom",
	  NULL },
	{ "heap", 0, POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &opt.heap_text,
	  ROW_HEAP,
	  "also record calls that take memory, and those that give it back "
	  "(malloc and its kin, C++'s new and delete), of one in SIZE bytes "
	  "on average (default: 512K), or each (exact); weft heap shows which "
	  "stacks have it", "SIZE|exact" },
	{ "count-only", 0, POPT_ARG_NONE, &opt.count_only, 0,
	  "count the calls of each stack, with times by samples alone: the "
	  "cheapest way", NULL },
	{ "label", 0, READ(read_label),
	  "put KEY=VALUE into the trace, each piece and each snapshot, e.g. "
	  "service=shop; may be given several times; WEFT_LABELS may have "
	  "more, separated by commas; if a key is in both, --label wins",
	  "KEY=VALUE" },
	{ "archive", 0, POPT_ARG_NONE, &opt.archive, 0,
	  "when the program has ended, copy all that is needed to name its "
	  "functions into the trace: program files, debug files, Lua sources "
	  "(2 GB at most)", NULL },
	{ "progress", 0, POPT_ARG_NONE, &opt.progress, 0,
	  "on a terminal: show once a second, in one line, how far the "
	  "recording is; with -p this is the default; not with -q", NULL },
	{ "quiet", 'q', POPT_ARG_NONE, &opt.quiet, 0,
	  "do not print the summary", NULL },
	{ "help", 'h', POPT_ARG_NONE, NULL, ROW_HELP, "print this help", NULL },
	{ "version", 0, POPT_ARG_NONE, NULL, ROW_VERSION,
	  "print the version", NULL },
	POPT_TABLEEND
};

/* "KEY=VALUE,KEY=VALUE" in WEFT_LABELS, before --label, which is preferred.
 * Negative: go on. */
static int read_environment(void)
{
	const char *const given = getenv("WEFT_LABELS");
	char *rest = given ? strdup(given) : NULL;

	for (char *text; (text = strsep(&rest, ",")) != NULL; ) {
		const char *const why = text[0] ? read_label(NULL, text) :
						  NULL;

		if (!why)
			continue;
		message("WEFT_LABELS, \"%s\": %s; separate labels by commas",
			text, why);
		return USAGE;
	}
	return -1;
}

/* Negative: go on. */
static int read_heap(void)
{
	uint64_t bytes = 512 << 10;

	if (opt.heap_text && strcmp(opt.heap_text, "exact") == 0)
		bytes = POOL_HEAP_EXACT;
	else if (opt.heap_text && (!amount_size(opt.heap_text, &bytes) ||
				   bytes < 256 || bytes > 1 << 30)) {
		message("--heap \"%s\": it is neither exact nor a size such as "
			"64K, from 256 to 1G; see weft record --help",
			opt.heap_text);
		return USAGE;
	}
	opt.heap = (uint32_t)bytes;
	return -1;
}

/* Negative: go on. */
static int read_row(poptContext context, int row)
{
	const struct poptOption *option = rows;
	struct value *v;
	const char *why;

	if (row == ROW_HELP) {
		poptPrintHelp(context, stdout, 0);
		return 0;
	}
	if (row == ROW_VERSION) {
		printf("weft %s\n", WEFT_VERSION);
		return 0;
	}
	if (row == ROW_REFERENCE) {
		opt.reference = 1;
		return -1;
	}
	if (row == ROW_HEAP)
		return read_heap();
	while (option->val != ROW_VALUE || !((struct value *)option->arg)->text)
		option++;
	v = option->arg;
	why = v->read(v, v->text);
	if (why)
		message("--%s \"%s\": %s; see weft record --help",
			option->longName, v->text, why);
	v->text = NULL;
	return why ? USAGE : -1;
}

/* What leaves functions out, which then have no place in a stack, from some
 * moment on. NULL: nothing does. */
static const char *leaves_out(void)
{
	return opt.select.skip ? "skip" : opt.select.only ? "only" :
	       opt.select.count ? "count" : opt.budget > 0 ? "budget" : NULL;
}

/* What --relay cannot send: pieces and snapshots are not LTTng's, and the
 * archive is made of files that are here. NULL: nothing. */
static const char *stays_here(void)
{
	return opt.max_size > 0 ? "max-size" :
	       opt.flight_bytes > 0 ? "flight-recorder" :
	       opt.archive ? "archive" : NULL;
}

/* What --sample-only cannot do. NULL: nothing. */
static const char *not_sampled(void)
{
	return opt.reference ? "reference" :
	       opt.waits ? "waits" :
	       opt.heap ? "heap" :
	       opt.count_only ? "count-only" :
	       opt.flight_bytes > 0 ? "flight-recorder" :
	       opt.sample_hz == 0 ? "sample-rate 0" : NULL;
}

/* What --count-only cannot do: no call has a record. NULL: nothing. */
static const char *not_counted(void)
{
	return opt.min_duration > 0 ? "min-duration" :
	       opt.budget > 0 ? "budget" :
	       opt.slow_n > 0 ? "snapshot-on" :
	       opt.select.count ? "count" :
	       opt.lua == POOL_LUA_SAMPLED ? "lua=sampled" :
	       opt.waits ? "waits" : NULL;
}

/* Options that exclude each other, or of which one needs the other; of several
 * complaints the first is printed. */
static bool is_contradiction(void)
{
	const bool flight = opt.flight_bytes > 0;
	const struct { bool is_wrong; const char *one, *other; } all[] = {
		{ opt.max_depth > 0 && leaves_out(), "max-depth",
		  leaves_out() },
		{ opt.count_only && not_counted(), not_counted(),
		  "count-only" },
		{ opt.no_native && opt.waits, "waits", "no-native" },
		{ opt.relay.host[0] && stays_here(), "relay", stays_here() },
		{ flight && opt.archive, "archive", "flight-recorder" },
		{ flight && opt.max_size > 0, "max-size", "flight-recorder" },
		{ !opt.lua && opt.lua_init, "lua-init", "no-lua" },
		{ !opt.lua && lua_lines, "lua-lines", "no-lua" },
		{ opt.duty_on > 0 && opt.paused, "duty", "paused" },
		{ opt.duty_on > 0 && opt.start_on, "duty", "start-on" },
		{ opt.sample_only && not_sampled(), "sample-only",
		  not_sampled() },
		{ opt.start_on && opt.paused, "start-on", "paused" },
		/* The others need each other: */
		{ opt.slow_n > 0 && !flight, "snapshot-on", "flight-recorder" },
		{ opt.max_files > 0 && opt.max_size == 0, "max-files",
		  "max-size" },
		{ opt.duty_of > 0 && opt.duty_on == 0, "of", "duty" },
	};
	const size_t n = sizeof(all) / sizeof(*all), needs = n - 3;
	size_t i = 0;

	while (i < n && !all[i].is_wrong)
		i++;
	if (i < n)
		message(i < needs ? "--%s and --%s exclude each other; see "
			"weft record --help" : "--%s needs --%s; see weft "
			"record --help", all[i].one, all[i].other);
	return i < n;
}

/* Does something depend on single calls? */
static bool needs_calls(void)
{
	return opt.count_only || opt.start_on || opt.slow_n > 0;
}

/* Negative: go on. */
static int give(struct options *o)
{
	if (lua_lines && opt.lua == POOL_LUA_EXACT)
		opt.lua = POOL_LUA_LINES;
	else if (opt.budget > 0 && opt.lua == POOL_LUA_EXACT && !has_lua &&
		 !needs_calls())
		opt.lua = POOL_LUA_BUDGET;
	*o = opt;
	return -1;
}

/* The program is there already. Negative: go on. */
static int begin_attached(struct options *o)
{
	static char *name[2];

	if (opt.program && opt.program[0]) {
		message("--pid \"%s\" records a program that runs already: "
			"leave \"%s\" out", opt.attach, opt.program[0]);
		return USAGE;
	}
	if (opt.lua_init || opt.no_follow) {
		message("%s is for a program that weft starts, not for --pid",
			opt.lua_init ? "--lua-init" : "--no-follow");
		return USAGE;
	}
	/* What runs already is disturbed only by who asks for it. */
	if (!has_lua && opt.lua == POOL_LUA_EXACT && !needs_calls())
		opt.lua = POOL_LUA_SAMPLED;
	opt.reference_ns = 10 * SECOND_NS;
	if (opt.reference_of &&
	    !is_time_between(opt.reference_of, SECOND_NS, MOST_NS,
			     &opt.reference_ns)) {
		message("--reference \"%s\": it is not a time of a second or "
			"more; with --pid, the program is sampled for so long",
			opt.reference_of);
		return USAGE;
	}
	opt.program = name; /* which is told once it is found */
	return give(o);
}

int options_read(struct options *o, int argc, char **argv)
{
	const poptContext context = poptGetContext("weft record", argc,
		(const char **)argv, rows, POPT_CONTEXT_POSIXMEHARDER);
	const int bad = read_environment();
	int row;

	if (bad >= 0)
		return bad;
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
	if (is_contradiction())
		return USAGE;
	/* Who did not start for us waits for us only if told so. */
	if (!has_on_full && !opt.attach)
		opt.on_full = POOL_LEND;
	opt.program = (char **)poptGetArgs(context);
	if (opt.attach)
		return begin_attached(o);
	if (!opt.program || !opt.program[0] || !opt.program[0][0]) {
		message("no program to record is given; use: weft record "
			"[options] -- program [args]");
		return USAGE;
	}
	return give(o);
}
