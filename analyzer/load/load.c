/* load.c - traces read whole, the way every command does it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/load.h"
#include "analyzer/load/left_out.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/merge/merge.h"
#include "analyzer/model/net.h"
#include "analyzer/out/out_number.h"
#include "analyzer/profile/profile.h"
#include "analyzer/replay/lanes.h"
#include "analyzer/sym/sym_place.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What --max-nodes is by default, and how long naming may take in all. */
enum { MAX_NODES = 1000000, NAMING_SECONDS = 30 };

/* The values of load_opts; they are the same for all traces of a command
 * line. */
static const char *arg_debug_dirs, *arg_servers;
static size_t arg_max_nodes = MAX_NODES, arg_jobs = SIZE_MAX;
static bool arg_raw, wants_net;

const struct opt load_opts[] = {
	{ .type = OPT_LIST, .name = "debug-dir", .arg = "DIR",
	  .to = &arg_debug_dirs, .help = "look here first for programs and "
	  "their debug files; give several as DIR:DIR, or repeat the option" },
	{ .type = OPT_TEXT, .name = "debuginfod", .arg = "URL",
	  .to = &arg_servers, .help = "ask this server for files that are not "
	  "found, for a few seconds at most (DEBUGINFOD_URLS does the same)" },
	{ .type = OPT_NUMBER, .name = "max-nodes", .arg = "N",
	  .to = &arg_max_nodes, .help = "keep at most N distinct stacks "
	  "apart; more of them need more memory" },
	{ .type = OPT_NUMBER, .name = "jobs", .arg = "N", .to = &arg_jobs,
	  .help = "use N threads (default: one for each processor); the "
	  "result is the same" },
	{ .type = OPT_END }
};

const struct opt load_net_opts[] = {
	{ .type = OPT_FLAG, .name = "raw", .to = &arg_raw,
	  .help = "times as they were recorded, with weft's own share, even "
	  "where samples tell it" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

void load_want_net(bool wants)
{
	wants_net = wants;
}

const char *load_operand(int count, char **operands)
{
	if (count == 1)
		return operands[0];
	if (count == 0)
		err_add("no trace given; give the folder that weft record "
			"made");
	else
		err_add("this command reads one trace, not %d", count);
	return NULL;
}

/* ---- reading, with its progress ----------------------------------------- */

/* A line on stderr that is overwritten, if stderr is a terminal. */
struct progress {
	struct replay *replay;   /* one of the two */
	struct lanes *lanes;
	uint64_t records;
	struct timespec shown;
	bool is_on, is_shown;
};

/* At most three times a second: reading must not wait for the terminal. */
static void show_progress(struct progress *p)
{
	char records[OUT_NUMBER];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - p->shown.tv_sec) * 1000 +
	    (now.tv_nsec - p->shown.tv_nsec) / 1000000 < 300)
		return;
	p->shown = now;
	p->is_shown = true;
	fprintf(stderr, "\rreading: %s records",
		out_number_count(records, p->records));
}

static void end_progress(const struct progress *p)
{
	if (p->is_shown)
		fputs("\r\033[K", stderr);
}

/* Counts for the progress, then replays. */
static int take_chunk(void *ctx, const struct chunk *chunk)
{
	struct progress *const p = ctx;

	p->records += chunk->header.records;
	if (p->is_on)
		show_progress(p);
	return p->lanes ? lanes_chunk(p->lanes, chunk) :
			  replay_chunk(p->replay, chunk);
}

/* Replay the trace into the session and tell the sink, whose events have an
 * order. */
static int read_events(const char *path, struct session *session,
		       const struct replay_sink *sink, void *ctx,
		       struct in_summary *in)
{
	struct progress p = { .is_on = isatty(STDERR_FILENO) };
	int status;

	clock_gettime(CLOCK_MONOTONIC, &p.shown);
	p.replay = replay_new(session, sink, ctx);
	status = in_read(path, take_chunk, &p, in);
	if (status == 0)
		replay_finish(p.replay);
	replay_free(p.replay);
	end_progress(&p);
	return status;
}

/* Replay the trace into a new session with that many workers. NULL with *again
 * set: it must be one worker; NULL with the cause in the chain: it cannot be
 * read. */
static struct session *read_sums(const char *path, unsigned jobs,
				 const struct replay_collect *want,
				 struct in_summary *in, bool *again)
{
	struct progress p = { .is_on = isatty(STDERR_FILENO) };
	struct session *session = session_new(arg_max_nodes);
	int status;

	clock_gettime(CLOCK_MONOTONIC, &p.shown);
	p.lanes = lanes_new(session, want, jobs);
	status = in_read(path, take_chunk, &p, in);
	if (status == 0)
		lanes_finish(p.lanes);
	*again = lanes_are_full(p.lanes);
	if (*again || status != 0) {
		session_free(session);
		session = NULL;
	}
	lanes_free(p.lanes);
	end_progress(&p);
	return session;
}

/* As many workers as there are processors, unless --jobs says otherwise. */
static unsigned jobs(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const size_t n = arg_jobs != SIZE_MAX ? arg_jobs :
			 processors > 0 ? (size_t)processors : 1;

	return n < 1 ? 1 : n > LANES_MAX ? LANES_MAX : (unsigned)n;
}

/* Replay the trace into the load's session. */
static int read_trace(struct load *load)
{
	bool again;

	load->session = read_sums(load->path, jobs(), &load->want, &load->in,
				  &again);
	if (!again)
		return load->session ? 0 : -1;
	err_clear();
	load->session = read_sums(load->path, 1, &load->want, &load->in,
				  &again);
	return load->session ? 0 : -1;
}

/* ---- names -------------------------------------------------------------- */

/* Files that were put into the trace's folder name its functions, too. */
struct sym_options load_sym_options(const struct load *load)
{
	char dirs[8192], archive[PATH_MAX];
	const int dirs_size = snprintf(dirs, sizeof(dirs), "%s%s%s",
				       arg_debug_dirs ? arg_debug_dirs : "",
				       arg_debug_dirs ? ":" : "", load->path);
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

/* Names are looked up in a child process, which takes its time: say so. */
static void name_all(struct load *load)
{
	const bool is_on = isatty(STDERR_FILENO);
	struct sym_options options;

	if (is_on)
		fputs("\rnaming functions", stderr);
	load->names = arena_new();
	options = load_sym_options(load);
	load->modules = sym_name(load->session->funcs, load->names, &options);
	sym_places(load->session, load->names, &options);
	net_place(load->session);
	if (is_on)
		fputs("\r\033[K", stderr);
}

/* ---- profiles ----------------------------------------------------------- */

/* What a reader complained of goes with the session as a note of this key, and
 * is taken out again when the profile is read. */
static const char trouble_key[] = "reader.trouble";

/* The files need not be here: names are as they were when the profile was made,
 * and so is what was wrong with them. */
static struct sym_module *modules_of(const struct session *s)
{
	const size_t count = func_elf_count(s->funcs);
	struct sym_module *const m = mem_alloc((count + 1) * sizeof(*m));

	m[0].file = m[0].why = "";
	for (elf_id i = 1; i <= count; i++) {
		static const struct naming none = { .file = "", .why = "" };
		const struct naming *const n = i <= s->naming_count ?
					       &s->namings[i - 1] : &none;

		m[i] = (struct sym_module){ n->file, n->why, n->asked,
			n->named, n->hinted, n->is_refused != 0 };
	}
	return m;
}

/* Move the note to where readers of traces leave their complaint. */
static void take_trouble(struct load *load)
{
	struct session *const s = load->session;
	size_t kept = 0;

	for (size_t i = 0; i < s->note_count; i++) {
		if (strcmp(s->notes[i].key, trouble_key) == 0)
			snprintf(load->in.trouble, sizeof(load->in.trouble),
				 "%s", s->notes[i].value);
		else
			s->notes[kept++] = s->notes[i];
	}
	s->note_count = kept;
}

/* Fill in the load from its session, which is all there is. */
static void take_session(struct load *load, const char *reader)
{
	const struct session *const s = load->session;

	load->is_profile = true;
	load->modules = modules_of(s);
	snprintf(load->in.reader, sizeof(load->in.reader), "%s", reader);
	load->in.chunks = s->chunks;
	load->in.words = s->words;
	load->in.bad = s->bad_chunks;
	load->in.duplicates = s->duplicate_chunks;
	take_trouble(load);
}

/* Notes, losses and names come from the profile; no file of the recording is
 * opened. */
static enum cmd_exit read_profile(struct load *load)
{
	load->session = profile_read(load->path);
	if (!load->session)
		return CMD_UNREADABLE;
	load->is_raw = wants_net && !arg_raw && !load->session->net.is_net;
	if (!wants_net || arg_raw)
		net_undo(load->session);
	take_session(load, load->session->part_count > 0 ? "weft, merged" :
		 "weft, a profile");
	return CMD_OK;
}

/* ---- what only the load knows ------------------------------------------- */

/* What the reader, not the session, knows. */
static void put_trouble(struct load *load)
{
	struct session *const s = load->session;

	if (load->in.bad > s->bad_chunks)
		s->bad_chunks = load->in.bad;
	if (load->in.trouble[0] == '\0')
		return;
	s->notes = mem_grow(s->notes, s->note_count + 1, sizeof(*s->notes));
	s->notes[s->note_count++] = (struct note){ trouble_key,
		arena_copy(s->text, load->in.trouble,
			   strlen(load->in.trouble)) };
}

/* Profiles and merged sessions have their namings already. */
static void put_modules(struct load *load)
{
	struct session *const s = load->session;
	const size_t count = func_elf_count(s->funcs);

	if (s->namings || !load->modules)
		return;
	s->namings = mem_alloc((count + 1) * sizeof(*s->namings));
	s->naming_count = count;
	for (elf_id i = 1; i <= count; i++) {
		const struct sym_module *const m = &load->modules[i];

		s->namings[i - 1] = (struct naming){ m->file, m->why,
			m->asked, m->named, m->hinted,
			(uint64_t)m->is_refused };
	}
}

void load_complete(struct load *load)
{
	put_trouble(load);
	put_modules(load);
}

/* ---- filters ------------------------------------------------------------ */

/* For scan_clock: the earliest tick of a chunk that holds records. */
struct scan { struct session *session; ticks first; };

/* Notes of the recorder come in chunks without records (CHUNK_META), whose
 * ticks are not of any thread. */
static int scan_chunk(void *ctx, const struct chunk *chunk)
{
	struct scan *const scan = ctx;

	session_set_clock(scan->session, &chunk->header);
	if (!(chunk->header.flags & CHUNK_META) &&
	    chunk->header.tick_begin < scan->first)
		scan->first = chunk->header.tick_begin;
	return 0;
}

/* Learn the clock and the first tick of the whole trace. A time since the start
 * has no tick before both are known. */
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

/* For scan_marks: where the names of marks are, and who sees them. */
struct mark_scan { struct session *session; struct filter_marks *marks; };

/* Marks are functions with names: the name needs no ELF file. */
static void see_mark(void *ctx, const struct replay_event *e)
{
	const struct mark_scan *const scan = ctx;

	filter_args_see_mark(scan->marks,
			     func_get(scan->session->funcs, e->func)->name,
			     e->tick);
}

/* A replay of its own, before the one that collects: the range that the marks
 * give must be known when that begins. */
static int scan_marks(const char *path, struct filter_marks *marks)
{
	static const struct replay_sink sink = { .mark = see_mark };
	struct mark_scan scan = { session_new(1), marks };
	struct in_summary in;
	const int status = read_events(path, scan.session, &sink, &scan, &in);

	session_free(scan.session);
	return status;
}

/* What replay must collect for the filters. */
static enum cmd_exit set_want(struct load *load)
{
	struct session *const clock = session_new(1);
	struct filter_marks *const marks = filter_args_marks_new();
	enum cmd_exit status = CMD_OK;

	if ((filter_args_has(FILTER_RANGE) &&
	     scan_clock(load->path, clock) != 0) ||
	    (filter_args_has(FILTER_MARKS) &&
	     scan_marks(load->path, marks) != 0))
		status = CMD_UNREADABLE;
	else if (filter_args_collect(clock, marks, &load->want) != 0)
		status = CMD_USAGE;
	filter_args_marks_free(marks);
	session_free(clock);
	return status;
}

/* ---- opening ------------------------------------------------------------ */

/* Up to three passes: clock, marks, and the one that fills the session. */
static enum cmd_exit open_trace(struct load *load)
{
	const enum cmd_exit status = set_want(load);

	if (status != CMD_OK)
		return status;
	if (read_trace(load) != 0)
		return CMD_UNREADABLE;
	if (load->want.to > 0 && load->session->counted > 0) {
		err_add("calls that were only counted have no times, so that "
			"none can be chosen by time; leave out --from, --to "
			"and filters by marks");
		return CMD_USAGE;
	}
	name_all(load);
	if (wants_net && !arg_raw)
		net_apply(load->session);
	load->is_raw = wants_net && !arg_raw && !load->session->net.is_net;
	return CMD_OK;
}

/* Filters by time and coroutine need records; a profile has only their sums. */
static enum cmd_exit open_profile(struct load *load)
{
	const enum cmd_exit status = read_profile(load);

	if (status != CMD_OK || !filter_args_needs_records())
		return status;
	return load_need_trace(load, "single records");
}

/* Open one trace or profile and filter it. What the filters did not find is not
 * an error yet: another operand may have it. */
static enum cmd_exit open_one(struct load *load,
			      const struct replay_collect *want,
			      const char *path)
{
	enum cmd_exit status;

	memset(load, 0, sizeof(*load));
	load->want = *want;
	load->path = path;
	load->is_part = filter_args_has(FILTER_ALL);
	status = profile_is(path) ? open_profile(load) : open_trace(load);
	if (status == CMD_OK && !load->is_profile)
		left_out_apply(load->session);
	/* A profile always tells Lua states apart. Filtering, be it by nothing,
	 * joins what differs in them alone. */
	if (status == CMD_OK &&
	    (load->is_part || (load->is_profile && !want->vm)))
		load->found = filter_args_apply(load->session, want->vm,
						&load->part);
	return status;
}

/* Add a session to the sum. Its ticks become nanoseconds there. */
static void add_session(struct merge *sum, struct load *all,
			struct load *one)
{
	const struct session *const s = one->session;

	all->found |= one->found;
	all->is_raw |= one->is_raw;
	all->part.self += session_ns(s, one->part.self);
	all->part.whole_self += session_ns(s, one->part.whole_self);
	all->part.calls += one->part.calls;
	all->part.whole_calls += one->part.whole_calls;
	load_complete(one);
	merge_add(sum, one->session);
}

/* All operands are open now: a name that none of them has is a mistake. */
static enum cmd_exit require_found(const struct load *load)
{
	assert(load->session && load->modules);
	assert((load->found & ~(unsigned)FILTER_ALL) == 0);
	return !load->is_part || filter_args_require(load->found) == 0 ?
	       CMD_OK : CMD_UNREADABLE;
}

enum cmd_exit load_open_merged(struct load *load,
			       const struct replay_collect *want, int count,
			       char **operands)
{
	struct merge *const sum = merge_new();
	enum cmd_exit status = CMD_OK;

	memset(load, 0, sizeof(*load));
	load->want = *want;
	load->is_part = filter_args_has(FILTER_ALL);
	if (count == 0) {
		err_add("no traces or profiles given; give folders that weft "
			"record made, or profiles");
		status = CMD_USAGE;
	}
	for (int i = 0; i < count && status == CMD_OK; i++) {
		struct load one;

		status = open_one(&one, want, operands[i]);
		if (status == CMD_OK)
			add_session(sum, load, &one);
		load_close(&one);
	}
	load->session = merge_end(sum);
	load->path = count == 1 ? operands[0] : "several sessions";
	if (status != CMD_OK)
		return status;
	take_session(load, "weft, merged");
	return require_found(load);
}

enum cmd_exit load_open_with(struct load *load,
			     const struct replay_collect *want, int count,
			     char **operands)
{
	enum cmd_exit status = CMD_USAGE;

	if (count > 1)
		return load_open_merged(load, want, count, operands);
	memset(load, 0, sizeof(*load));
	if (load_operand(count, operands))
		status = open_one(load, want, operands[0]);
	return status == CMD_OK ? require_found(load) : status;
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
		err_add("several traces have no %s when merged; give only one",
			what);
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
	/* The functions are the same ones, and have their names already. */
	func_table_free(again->funcs);
	again->funcs = load->session->funcs;
	cct_set_deeper(again->cct, func_special(again->funcs, "(deeper)"));
	status = read_events(load->path, again, sink, ctx, &in);
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
