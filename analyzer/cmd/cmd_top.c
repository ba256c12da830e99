/* cmd_top.c - "weft top": the hot functions of a recording that runs. Chunks
 * that the recorder shows are replayed as they come; a refresh prints what has
 * been added to the flat table since the last one.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/cmd.h"

#include "analyzer/base/err.h"
#include "analyzer/base/vec.h"
#include "analyzer/cmd/shared/table.h"
#include "analyzer/live/feed.h"
#include "analyzer/load/load.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/replay/replay.h"
#include "analyzer/tables/flat.h"
#include "tracepoints/control.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_TOP = 20, HEAD_LINES = 6, MS = 1000 };

/* Rows are of all threads, and there are no histograms. */
enum { LACKS = METRIC_OF_THREAD | METRIC_QUANTILE };

static size_t arg_refreshes;
static bool arg_batch;
static int arg_by;
static const char *arg_pid;

static const char *const groups[] = { "function", "body", NULL };
static const enum group_by group_of[] = { GROUP_FUNCTION, GROUP_BODY };

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'p', .name = "pid", .arg = "PID",
	  .to = &arg_pid, .help = "watch this one, as with PID alone" },
	{ .type = OPT_CHOICE, .name = "by", .arg = "WHAT",
	  .to = &arg_by, .choices = groups, .help = "a row for each" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &table_args.top, .help = "rows to show, 0 for all (default: "
	  "as the terminal has room; else 20)" },
	{ .type = OPT_FLAG, .letter = 'b', .name = "batch", .to = &arg_batch,
	  .help = "print one table below the other, also on a terminal" },
	{ .type = OPT_NUMBER, .name = "refreshes", .arg = "N",
	  .to = &arg_refreshes, .help = "end after N tables; 0: when the "
	  "recording ends" },
	TABLE_OPTS_LACKING(flat_views[METRIC_BY_TIME], NULL, LACKS),
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

struct top {
	struct feed feed;
	struct load load;          /* the session and its names */
	struct replay *replay;
	/* By function: the figures when the last table was printed. */
	struct figures *before;
	size_t before_room, named;
	uint64_t chunks;
	bool is_screen, is_paused, wants_all, wants_end, has_ended;
	size_t sort;               /* in sort_keys, on a terminal */
};

/* ---- what comes ---- */

/* An in_chunk_fn. A chunk that is not finished comes again. */
static int take(void *ctx, const struct chunk *chunk)
{
	struct top *const t = ctx;

	if (chunk->header.flags & CHUNK_PARTIAL)
		return 0;
	t->chunks++;
	return replay_chunk(t->replay, chunk);
}

/* Only if there are functions that had none. */
static void name_all(struct top *t)
{
	struct session *const s = t->load.session;
	const struct sym_options options = load_sym_options(&t->load);

	if (func_count(s->funcs) == t->named)
		return;
	mem_free(s->namings);
	s->namings = sym_name(s->funcs, t->load.names, &options);
	s->naming_count = func_elf_count(s->funcs);
	t->named = func_count(s->funcs);
}

/* ---- a table ---- */

static void take_off(ticks *all, ticks before)
{
	*all = *all > before ? *all - before : 0;
}

/* The row becomes what has been added to it; its figures are kept. */
static void subtract(struct top *t, struct figures *f)
{
	const struct figures now = *f;

	vec_need_zeroed(&t->before, &t->before_room, (size_t)f->func + 1);
	const struct figures *const b = &t->before[f->func];

	take_off(&f->calls, b->calls);
	take_off(&f->recursive, b->recursive);
	take_off(&f->self, b->self);
	take_off(&f->total, b->total);
	take_off(&f->suspended, b->suspended);
	take_off(&f->cpu, b->cpu);
	take_off(&f->off, b->off);
	take_off(&f->ready, b->ready);
	take_off(&f->total_cpu, b->total_cpu);
	take_off(&f->total_off, b->total_off);
	take_off(&f->total_ready, b->total_ready);
	t->before[f->func] = now;
}

/* Of rows without anything new nothing is left. */
static void make_recent(struct top *t, struct flat *flat)
{
	size_t kept = 0;

	flat->self = flat->cpu = flat->blocked = flat->calls = 0;
	for (size_t i = 0; i < flat->count; i++) {
		struct flat_row row = flat->rows[i];

		subtract(t, &row.f);
		if (row.f.calls == 0 && row.f.self == 0 && row.f.total == 0)
			continue;
		flat->self += row.f.self;
		flat->cpu += row.f.cpu;
		flat->blocked += figures_blocked(row.f.off, row.f.ready);
		flat->calls += row.f.calls;
		flat->rows[kept++] = row;
	}
	flat->count = kept;
}

static uint64_t count_lost(const struct session *s)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < s->thread_count; i++)
		for (int k = 0; k < LOST_REASONS; k++)
			lost += k == LOST_CLOCK ? 0 : s->threads[i].lost[k];
	return lost;
}

static bool is_sampled(const struct session *s)
{
	for (size_t i = 0; i < s->thread_count; i++)
		if (s->threads[i].noted > 0)
			return true;
	return false;
}

static void print_head(const struct top *t, const struct flat *flat,
		       bool is_all)
{
	const struct session *const s = t->load.session;
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER], d[OUT_NUMBER];

	table_note("%s: %s, %s, %s%s", t->feed.name,
		   out_number_many(a, s->thread_count, "threads"),
		   out_number_many(b, s->coroutine_count, "coroutines"),
		   out_number_many(c, flat->calls, "calls"),
		   is_all ? " in all" : " since the last table");
	table_note("lost by the program: %s; missed by weft top: %s%s",
		   out_number_count(d, count_lost(s)),
		   out_number_many(a, t->feed.missed, "chunks"),
		   t->has_ended && !t->feed.is_end ? ", and the end" : "");
	if (is_sampled(s))
		table_note("Lua is sampled: its functions have no rows here; "
			   "weft report shows their times at the end");
}

/* The i-th metric that the key s sorts by. */
static const struct metric *sorting(size_t i)
{
	return metric_offered(flat_views[METRIC_BY_TIME].metrics, METRIC_SORTS,
			      LACKS, i);
}

static const struct metric *sort_by(const struct top *t)
{
	if (t->sort > 0)
		return sorting(t->sort - 1);
	return table_args.sort ? table_args.sort :
	       metric_first(&flat_views[METRIC_BY_TIME]);
}

/* On a terminal as many as it has lines for. */
static size_t rows_of(const struct top *t)
{
	struct winsize size;

	if (table_args.top != SIZE_MAX || !t->is_screen ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
	    size.ws_row <= HEAD_LINES)
		return table_top(USUAL_TOP);
	return size.ws_row - HEAD_LINES;
}

/* 0, or -1 with the cause in the chain. */
static int choose_columns(struct table *table, const struct metric *sort)
{
	return metric_choose(&table->columns, &flat_views[METRIC_BY_TIME],
			     &(struct metric_choice){
		.names = table_args.columns, .sort = sort,
		.csv = table_args.csv,
		.lacks = LACKS });
}

static void print_rows(const struct top *t, const struct flat *flat)
{
	struct table table = { .csv = table_args.csv, .has_bounds = true };
	const size_t rows = rows_of(t);

	choose_columns(&table, sort_by(t));
	metric_rename(&table.columns, "name", groups[arg_by], groups[arg_by]);
	table.source = (struct metric_source){ t->load.session, flat,
					       flat->has_switches };
	if (!table.csv && !flat->has_switches)
		metric_remove(&table.columns, METRIC_SWITCHES);
	table_begin(&table);
	for (size_t i = 0; i < flat->count && i < rows; i++)
		table_row(&table, &flat->rows[i]);
	table_end(&table);
}

/* is_all: since the beginning; else since the last table. */
static void print_table(struct top *t, bool is_all)
{
	struct session *const s = t->load.session;
	struct cct *const known = s->cct;
	struct flat *flat;

	name_all(t);
	s->cct = replay_tree_now(t->replay);
	flat = flat_new(s, &(struct flat_options){
		.by = group_of[arg_by], .thread = CCT_ALL_THREADS });
	if (!is_all)
		make_recent(t, flat);
	flat_sort(flat, sort_by(t));
	if (t->is_screen)
		fputs("\033[H\033[J", stdout);
	print_head(t, flat, is_all);
	if (t->is_screen)
		printf("by %s%s; keys: q ends, s sorts by another column, a "
		       "since the start, p pauses\n", sort_by(t)->name,
		       t->is_paused ? ", paused" : "");
	print_rows(t, flat);
	if (!t->is_screen && !table_args.csv)
		putchar('\n');
	fflush(stdout);
	flat_free(flat);
	if (s->cct != known)
		cct_free(s->cct);
	s->cct = known;
}

/* ---- the terminal ---- */

static struct termios usual;
static volatile sig_atomic_t is_stopped, wants_rest;

static void stop(int number)
{
	(void)number;
	is_stopped = 1;
}

static void rest(int number)
{
	(void)number;
	wants_rest = 1;
}

static void begin_screen(struct top *t)
{
	const struct sigaction quit = { .sa_handler = stop };
	const struct sigaction pause = { .sa_handler = rest };
	struct termios raw;

	t->is_screen = !arg_batch && !table_args.csv && isatty(STDOUT_FILENO) &&
		       isatty(STDIN_FILENO) &&
		       tcgetattr(STDIN_FILENO, &usual) == 0;
	sigaction(SIGINT, &quit, NULL);
	sigaction(SIGTERM, &quit, NULL);
	if (!t->is_screen)
		return;
	raw = usual;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
	sigaction(SIGTSTP, &pause, NULL);
}

static void end_screen(struct top *t)
{
	if (!t->is_screen)
		return;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &usual);
	t->is_screen = false;
}

/* As Ctrl-Z does with every program; the terminal is as it was meanwhile. */
static void take_rest(struct top *t)
{
	const struct sigaction usually = { .sa_handler = SIG_DFL };

	wants_rest = 0;
	end_screen(t);
	sigaction(SIGTSTP, &usually, NULL);
	raise(SIGTSTP);
	begin_screen(t);
}

static void take_key(struct top *t)
{
	char key = '\0';

	if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q')
		t->wants_end = true;
	else if (key == 'p')
		t->is_paused = !t->is_paused;
	else if (key == 'a')
		t->wants_all = !t->wants_all;
	else if (key == 's' && !sorting(t->sort++))
		t->sort = 0;
	else if (key != 's')
		return;
	if (!t->wants_end && (key == 's' || key == 'a'))
		print_table(t, true);
}

/* ---- the command -------------------------------------------------------- */

/* Before anything is watched. 0, or -1 with the cause in the chain. */
static int check_columns(void)
{
	struct table table = { .csv = table_args.csv };

	return choose_columns(&table, table_args.sort);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Take chunks and keys until it is time for the next table. */
static void wait_until(struct top *t, int64_t end)
{
	struct pollfd p[2] = { { t->feed.fd, POLLIN, 0 },
			       { t->is_screen ? STDIN_FILENO : -1, POLLIN,
				 0 } };

	for (int64_t left; !t->has_ended && !t->wants_end && !is_stopped &&
	     (left = end - now_ms()) > 0; ) {
		if (wants_rest)
			take_rest(t);
		if (poll(p, 2, (int)left) <= 0)
			continue;
		if (p[0].revents)
			t->has_ended = feed_take(&t->feed, take, t) == 0;
		if (p[1].revents)
			take_key(t);
	}
}

/* The last table is of all that was seen: what a pipe or a user keeps. */
static void watch(struct top *t)
{
	int64_t next = now_ms();

	for (size_t n = 0; !t->has_ended && !t->wants_end && !is_stopped &&
	     (arg_refreshes == 0 || n < arg_refreshes); n++) {
		next += MS;
		wait_until(t, next);
		if (!t->is_paused && !table_args.csv && !t->has_ended)
			print_table(t, t->wants_all);
		if (next < now_ms())
			next = now_ms();
	}
	end_screen(t);
	if (t->has_ended)
		replay_finish(t->replay);
	print_table(t, true);
}

static enum cmd_exit top_run(int count, char **operands)
{
	static struct top t;

	if (count + !!arg_pid > 1) {
		err_add("weft top watches one recording, not several");
		return CMD_USAGE;
	}
	if (check_columns() != 0)
		return CMD_USAGE;
	if (feed_open(&t.feed, count > 0 ? operands[0] : arg_pid) != 0)
		return CMD_UNREADABLE;
	t.load.path = t.feed.trace;
	t.load.session = session_new(load_max_nodes());
	t.load.names = arena_new();
	t.replay = replay_new(t.load.session, NULL, NULL);
	begin_screen(&t);
	watch(&t);
	replay_free(t.replay);
	feed_close(&t.feed);
	mem_free(t.before);
	load_close(&t.load);
	return CMD_OK;
}

const struct cmd cmd_top = {
	.name = "top",
	.args = "[NAME|PID|-p PID]",
	.summary = "show the hot functions of a recording that runs",
	.about =
	"Shows once a second what was recorded since the last table, and at\n"
	"the end all that was seen.\n"
	"\n"
	CONTROL_OPERANDS "\n"
	"\n"
	"A chunk holds up to 64 KiB of one thread's records. The recorder\n"
	"passes a chunk on when it is full, or 0.5 to 1.5 s old. The last\n"
	"calls of a thread that sleeps come when the thread goes on or ends.\n"
	"Times are as recorded: they hold the cost of recording. There are\n"
	"no percentiles, and no columns of single threads.\n"
	"\n"
	"Chunks that weft top is too slow for are left out, and counted as\n"
	"missed. The trace has them all the same.",
	.opts = opts,
	.run = top_run,
	.is_unpaged = true,
};
