/* load.c - a trace read whole, the way every command does it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/load.h"

#include "analyzer/base/err.h"
#include "analyzer/load/load_profile.h"
#include "analyzer/chunk/decode.h"
#include "analyzer/out/out_number.h"
#include "analyzer/profile/prof.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_NODES = 1000000, NAMING_SECONDS = 30 };

static const char *arg_debug_dirs, *arg_servers;
static size_t arg_max_nodes = MAX_NODES;

const struct opt load_opts[] = {
	{ .type = OPT_LIST, .name = "debug-dir", .arg = "DIR",
	  .to = &arg_debug_dirs, .help = "look there first for programs and "
	  "their debug files; several: DIR:DIR, or once more" },
	{ .type = OPT_TEXT, .name = "debuginfod", .arg = "URL",
	  .to = &arg_servers, .help = "ask that server for what is not "
	  "found, a few seconds at most (or set DEBUGINFOD_URLS)" },
	{ .type = OPT_NUMBER, .name = "max-nodes", .arg = "N",
	  .to = &arg_max_nodes,
	  .help = "distinct stacks to tell apart; more cost more memory" },
	{ .type = OPT_END }
};

const char *load_operand(int count, char **operands)
{
	if (count == 1)
		return operands[0];
	if (count == 0)
		err_add("which trace? Give the folder that weft record made");
	else
		err_add("one trace at a time, not %d", count);
	return NULL;
}

/* --- progress --------------------------------------------------------- */

/* A line on stderr that is overwritten, if stderr is a terminal. */
struct progress {
	struct replay *replay;
	uint64_t records;
	struct timespec shown;
	int is_on, is_shown;
};

static void show_progress(struct progress *p)
{
	char records[OUT_NUMBER];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - p->shown.tv_sec) * 1000 +
	    (now.tv_nsec - p->shown.tv_nsec) / 1000000 < 300)
		return;
	p->shown = now;
	p->is_shown = 1;
	fprintf(stderr, "\rreading: %s records",
		out_number_count(records, p->records));
}

static void end_progress(const struct progress *p)
{
	if (p->is_shown)
		fputs("\r\033[K", stderr);
}

static int take_chunk(void *ctx, const struct chunk *chunk)
{
	struct progress *const p = ctx;

	p->records += chunk->header.records;
	if (p->is_on)
		show_progress(p);
	return replay_chunk(p->replay, chunk);
}

static int read_trace(const char *path, struct session *session,
		      const struct replay_collect *want,
		      const struct replay_sink *sink, void *ctx,
		      struct in_summary *in)
{
	struct progress p = { .is_on = isatty(STDERR_FILENO) };
	int status;

	clock_gettime(CLOCK_MONOTONIC, &p.shown);
	p.replay = replay_new(session, sink, ctx);
	if (want)
		replay_want(p.replay, want);
	status = in_read(path, take_chunk, &p, in);
	if (status == 0)
		replay_finish(p.replay);
	replay_free(p.replay);
	end_progress(&p);
	return status;
}

/* --- names ------------------------------------------------------------ */

/* Files that were put into the trace's folder name it too. */
struct sym_options load_sym_options(const struct load *load)
{
	char dirs[8192], archive[PATH_MAX];
	const int dirs_size = snprintf(dirs, sizeof(dirs), "%s%s%s",
		 !arg_debug_dirs ? "" : arg_debug_dirs,
		 !arg_debug_dirs ? "" : ":", load->path);
	const int size = snprintf(archive, sizeof(archive), "%s/archive",
				  load->path);

	return (struct sym_options){
		dirs_size < (int)sizeof(dirs) ?
			arena_copy(load->names, dirs, (size_t)dirs_size) :
			arg_debug_dirs,
		NAMING_SECONDS,
		size < (int)sizeof(archive) ?
			arena_copy(load->names, archive, (size_t)size) : NULL,
		arg_servers
	};
}

static void name_all(struct load *load)
{
	const int is_on = isatty(STDERR_FILENO);
	struct sym_options options;

	if (is_on)
		fputs("\rnaming functions", stderr);
	load->names = arena_new();
	options = load_sym_options(load);
	load->modules = sym_name(load->session->funcs, load->names, &options);
	if (is_on)
		fputs("\r\033[K", stderr);
}

/* --- a part ----------------------------------------------------------- */

struct scan { struct session *session; ticks first; };

static int scan_chunk(void *ctx, const struct chunk *chunk)
{
	struct scan *const scan = ctx;

	session_set_clock(scan->session, &chunk->header);
	if (!(chunk->header.flags & CHUNK_META) &&
	    chunk->header.tick_begin < scan->first)
		scan->first = chunk->header.tick_begin;
	return 0;
}

/* The session's clock and first tick, as they are known in the end: a time
 * since the start is a tick only then. */
static int scan_clock(const char *path, struct session *clock)
{
	struct scan scan = { clock, UINT64_MAX };
	struct in_summary in;

	if (in_read(path, scan_chunk, &scan, &in) != 0)
		return -1;
	if (scan.first == UINT64_MAX)
		return 0;
	clock->threads = mem_alloc(sizeof(*clock->threads));
	clock->threads[0].first = scan.first;
	clock->thread_count = 1;
	return 0;
}

/* A session of its own: its clock is not the scan's to set. */
static int scan_marks(const char *path, const struct marks *marks)
{
	const struct replay_sink sink = { .mark = marks_see };
	struct marks ctx = *marks;
	struct in_summary in;

	return marks_are_asked_for() ?
	       read_trace(path, marks->session, NULL, &sink, &ctx, &in) : 0;
}

static enum cmd_exit set_part(struct load *load)
{
	struct session *const clock = session_new(1);
	struct session *const marked = session_new(1);
	struct marks marks = marks_new(marked);
	enum cmd_exit status = CMD_OK;

	if (choose_has_range() && (scan_clock(load->path, clock) != 0 ||
				   scan_marks(load->path, &marks) != 0))
		status = CMD_UNREADABLE;
	else if (choose_collect(clock, &marks, &load->want) != 0)
		status = CMD_USAGE;
	marks_free(&marks);
	session_free(marked);
	session_free(clock);
	return status;
}

/* Names are known now. */
static enum cmd_exit take_part(struct load *load)
{
	if (!choose_is_on())
		return CMD_OK;
	if (choose_apply(load->session, load->want.vm, &load->part) != 0)
		return CMD_UNREADABLE;
	load->is_part = 1;
	return CMD_OK;
}

/* --- the whole -------------------------------------------------------- */

/* A profile tells Lua states apart; only who asks for them may see that. */
static enum cmd_exit open_profile(struct load *load)
{
	const enum cmd_exit status = load_profile_read(load);

	if (status == CMD_OK && !load->want.vm)
		filter_apply(load->session, &(struct filter){ 0 }, 0);
	return status;
}

static enum cmd_exit open_trace(struct load *load)
{
	load->session = session_new(arg_max_nodes);
	if (read_trace(load->path, load->session, &load->want, NULL, NULL,
		       &load->in) != 0)
		return CMD_UNREADABLE;
	name_all(load);
	return CMD_OK;
}

enum cmd_exit load_open_whole(struct load *load,
			      const struct replay_collect *want,
			      const char *path)
{
	memset(load, 0, sizeof(*load));
	load->want = *want;
	load->path = path;
	return prof_is(path) ? open_profile(load) : open_trace(load);
}

static enum cmd_exit open_part(struct load *load)
{
	enum cmd_exit status = set_part(load);

	if (status != CMD_OK)
		return status;
	status = open_trace(load);
	return status == CMD_OK ? take_part(load) : status;
}

enum cmd_exit load_open_with(struct load *load,
			     const struct replay_collect *want, int count,
			     char **operands)
{
	enum cmd_exit status;

	memset(load, 0, sizeof(*load));
	load->want = *want;
	load->path = count > 1 ? NULL : load_operand(count, operands);
	if (count <= 1 && !load->path)
		return CMD_USAGE;
	if (count <= 1 && !prof_is(load->path))
		return open_part(load);
	status = count > 1 ?
		 load_profile_merge(load, want, count, operands) :
		 open_profile(load);
	if (status == CMD_OK && choose_needs_records())
		status = load_need_trace(load, "single records");
	return status == CMD_OK ? take_part(load) : status;
}

enum cmd_exit load_open(struct load *load, int count, char **operands)
{
	return load_open_with(load, &(struct replay_collect){ 0 }, count,
			      operands);
}

enum cmd_exit load_need_trace(const struct load *load, const char *what)
{
	if (!load->is_profile)
		return CMD_OK;
	if (load->session->part_count > 0)
		err_add("merged sessions hold no %s; give one trace", what);
	else
		err_add("\"%s\" is a profile, which holds no %s; give the "
			"trace itself", load->path, what);
	return CMD_UNREADABLE;
}

int load_again(struct load *load, const struct replay_sink *sink, void *ctx)
{
	struct session *again;
	struct in_summary in;
	int status;

	if (load_need_trace(load, "single records") != CMD_OK)
		return -1;
	again = session_new(arg_max_nodes);
	/* The functions found the first time are found again, with names. */
	func_table_free(again->funcs);
	again->funcs = load->session->funcs;
	cct_set_deeper(again->cct, func_special(again->funcs, "(deeper)"));
	status = read_trace(load->path, again, NULL, sink, ctx, &in);
	again->funcs = NULL;
	session_free(again);
	return status;
}

void load_close(struct load *load)
{
	mem_free(load->modules);
	arena_free(load->names);
	session_free(load->session);
}
