/* load.c - traces read whole, the way every command does it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/load.h"
#include "analyzer/load/left_out.h"

#include "analyzer/args/operands.h"
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/correct/correct.h"
#include "analyzer/load/progress.h"
#include "analyzer/merge/merge.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/profile/profile.h"
#include "analyzer/replay/lanes.h"
#include "analyzer/sym/sym.h"
#include "analyzer/watch/heap.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What --max-nodes is by default, and how long naming may take in all. */
enum { MAX_NODES = 1000000, NAMING_SECONDS = 30 };

/* The values of load_opts; they are the same for all traces of a command
 * line. */
static const char *arg_debug_dirs, *arg_servers, *arg_reference;
static size_t arg_max_nodes = MAX_NODES, arg_jobs = SIZE_MAX;
static bool arg_raw, arg_sampled, wants_net, wants_heap;

/* What load_watch was given. */
static const struct replay_sink *watch;
static void *watch_ctx;

const struct opt load_opts[] = {
	{ .type = OPT_LIST, .name = "debug-dir", .arg = "DIR",
	  .to = &arg_debug_dirs, .help = "look here, too, for programs and "
	  "their debug files; give several as DIR:DIR, or repeat the option" },
	{ .type = OPT_TEXT, .name = "debuginfod", .arg = "URL",
	  .to = &arg_servers, .help = "ask this server for files that are not "
	  "found, for 10 seconds at most (DEBUGINFOD_URLS does the same)" },
	{ .type = OPT_NUMBER, .name = "max-nodes", .arg = "N",
	  .to = &arg_max_nodes, .help = "keep at most N distinct stacks "
	  "apart; a larger N needs more memory" },
	{ .type = OPT_NUMBER, .name = "jobs", .arg = "N", .to = &arg_jobs,
	  .help = "use N threads (default: one for each processor); the "
	  "result is the same" },
	{ .type = OPT_END }
};

const struct opt load_net_opts[] = {
	{ .type = OPT_FLAG, .name = "raw", .to = &arg_raw,
	  .help = "times as they were recorded, which include the cost of "
	  "recording" },
	{ .type = OPT_TEXT, .name = "reference", .arg = "TRACE",
	  .to = &arg_reference, .help = "take times from the reference in "
	  "this trace (see weft record --sample-only), which may be of "
	  "another build of the program" },
	{ .type = OPT_FLAG, .name = "sampled", .to = &arg_sampled,
	  .help = "show functions that were not recorded, such as libc's, "
	  "below those that were, with the time that samples found in them" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

int load_args_check(void)
{
	const char *at = arg_debug_dirs;

	while (at && *at != '\0') {
		const size_t length = strcspn(at, ":");
		char folder[PATH_MAX];

		snprintf(folder, sizeof(folder), "%.*s", (int)length, at);
		if (length > 0 && access(folder, F_OK) != 0)
			return err_add("--debug-dir \"%s\": %s", folder,
				       strerror(errno));
		at += length + (at[length] == ':');
	}
	return 0;
}

static char *more_words(char *before, const char *option, const char *value)
{
	char *const word = value ? out_escape_shell(value) : NULL;
	char *const all = !value ? mem_copy(before) :
		mem_print("%s--%s %s ", before, option, word);

	mem_free_all(before, word);
	return all;
}

char *load_words(bool net)
{
	const bool raw = net && arg_raw, sampled = net && arg_sampled;
	char *all = more_words(mem_print("%s%s", raw ? "--raw " : "", sampled ?
					 "--sampled " : ""),
			       "debug-dir", arg_debug_dirs);

	all = more_words(all, "debuginfod", arg_servers);
	return more_words(all, "reference", net ? arg_reference : NULL);
}

bool load_has_reference(void)
{
	return arg_reference;
}

size_t load_max_nodes(void)
{
	return arg_max_nodes;
}

void load_want_net(bool wants)
{
	wants_net = wants;
}

void load_want_heap(bool wants)
{
	wants_heap = wants;
}

void load_watch(const struct replay_sink *sink, void *ctx)
{
	watch = sink;
	watch_ctx = ctx;
}

/* ---- reading, with its progress ----------------------------------------- */

/* Where chunks go: one of the two. */
struct target {
	struct replay *replay;
	struct lanes *lanes;
	struct map *seen;            /* of the load; NULL: nobody asks */
	bool is_again;               /* it says which chunks are read */
	ticks span;                  /* of all chunks so far */
	uint64_t too_long;           /* chunks */
	struct progress progress;
};

/* Is the chunk one that is to be read? A trace that is read again may have
 * grown: what it has now, and had not then, would have threads and functions
 * that no table has. Two chunks with the same keys, by chance, do no harm. */
static bool is_wanted(const struct target *t, const struct chunk_header *h)
{
	const uint32_t n = (uint32_t)h->total_words;
	uint32_t *words;

	if (!t->seen)
		return true;
	words = map_put(t->seen, h->recording ^ h->number << 2 ^ h->level,
			(uint64_t)h->process << 32 | h->thread);
	if (!t->is_again)
		*words = n;
	return *words == n;
}

/* Counts for the progress, then replays. Sums of all times fit 64 bits: a chunk
 * of so many years is damaged. */
static int take_chunk(void *ctx, const struct chunk *chunk)
{
	struct target *const t = ctx;
	const struct chunk_header *const h = &chunk->header;
	const ticks span = h->tick_end - h->tick_begin;

	progress_add(&t->progress, h->records);
	if (!is_wanted(t, h))
		return 0;
	if (span > SESSION_SUM_MAX - t->span) {
		t->too_long++;
		return 0;
	}
	t->span += span;
	return t->lanes ? lanes_chunk(t->lanes, chunk) :
			  replay_chunk(t->replay, chunk);
}

static int read_into(struct target *t, const char *path, struct in_summary *in)
{
	int status;

	progress_begin(&t->progress, in);
	status = in_read(path, take_chunk, t, in);
	in->bad += t->too_long;
	progress_end(&t->progress);
	return status;
}

/* For read_events: the session gets who was recorded and what is called how,
 * but no sums. */
static const struct replay_collect only_events = { .only_events = true };

/* Tell the sink what is in the trace: its events have an order. */
static int read_events(struct target *t, const char *path,
		       const struct replay_collect *want,
		       struct in_summary *in)
{
	int status;

	replay_want(t->replay, want);
	status = read_into(t, path, in);
	if (status == 0)
		replay_finish(t->replay);
	replay_free(t->replay);
	return status;
}

/* Replay the trace into a new session with that many workers. NULL with *again
 * set: it must be one worker; NULL with the cause in the chain: it cannot be
 * read. */
static struct session *read_sums(struct load *load, unsigned jobs, bool *again)
{
	struct session *session = session_new(arg_max_nodes);
	struct target t = { .lanes = lanes_new(session, &load->want, jobs),
			    .seen = load->seen };
	const int status = read_into(&t, load->path, &load->in);

	if (status == 0)
		lanes_finish(t.lanes);
	*again = lanes_are_full(t.lanes);
	if (*again || status != 0) {
		session_free(session);
		session = NULL;
	}
	lanes_free(t.lanes);
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
	struct target t = { .seen = load->seen = map_new() };
	bool again;

	if (load->is_watched) {
		load->session = session_new(arg_max_nodes);
		t.replay = replay_new(load->session, watch, watch_ctx);
		return read_events(&t, load->path, &load->want, &load->in);
	}
	load->session = read_sums(load, jobs(), &again);
	if (!again)
		return load->session ? 0 : -1;
	err_clear();
	map_clear(load->seen);
	load->session = read_sums(load, 1, &again);
	return load->session ? 0 : -1;
}

/* ---- what is not here ---------------------------------------------------- */

static void add_note(struct session *s, const char *key, const char *text)
{
	s->notes = mem_grow(s->notes, s->note_count + 1, sizeof(*s->notes));
	s->notes[s->note_count++] = (struct note){ key,
		arena_copy(s->text, text, strlen(text)) };
}

/* Note how many chunks are not here, if the recorder counted more than came,
 * were found damaged, or lack by their numbers: no number follows on a stream's
 * last. A folder may hold several recordings. In pieces, each copy counts. */
static void note_absent(struct session *s, const struct in_summary *in)
{
	uint64_t written = 0, ends = 0, missing = 0, known;
	char text[24];

	for (size_t i = 0; i < s->note_count; i++) {
		ends += strcmp(s->notes[i].key, "end") == 0;
		if (strncmp(s->notes[i].key, "chunks.", 7) == 0)
			written += strtoull(s->notes[i].value, NULL, 10);
	}
	for (size_t i = 0; i < s->thread_count; i++)
		missing += s->threads[i].missing_chunks;
	known = in->chunks - ends + MAX(in->bad, missing) +
		(session_note(s, "chunks.copies") ? in->duplicates :
		 session_noted(s, "lost.chunks"));
	snprintf(text, sizeof(text), "%" PRIu64, written - known);
	if (written > known)
		add_note(s, "lost.absent", text);
}

/* ---- the reference of another trace ------------------------------------- */

/* Only the recorder's own chunks have some of it. */
static int take_reference(void *ctx, const struct chunk *chunk)
{
	return chunk->header.flags & CHUNK_META ? replay_chunk(ctx, chunk) : 0;
}

/* The command that was recorded, or sampled, from its begin to its end; NULL:
 * only a part of it was. */
static const char *whole_command(const struct session *s)
{
	static const char *const parts[] = { "begins", "duty", "off.ms",
		"snapshot.reason", "pieces.removed" };
	const char *const exit = session_note(s, "exit");

	if (!exit || strcmp(exit, "running") == 0)
		return NULL;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *const note = session_note(s, parts[i]);

		if (note && strcmp(note, "0") != 0)
			return NULL;
	}
	return session_note(s, "command");
}

static bool is_same_command(const struct session *a, const struct session *b)
{
	const char *const x = whole_command(a), *const y = whole_command(b);

	return x && y && strcmp(x, y) == 0;
}

/* It is used in place of the trace's own. */
static int read_reference(struct load *load)
{
	struct session *const from = session_new(1), *const to = load->session;
	struct replay *const replay = replay_new(from, NULL, NULL);
	struct in_summary in;
	int status = in_read(arg_reference, take_reference, replay, &in);

	replay_finish(replay);
	replay_free(replay);
	if (status == 0 && from->reference.samples == 0)
		status = err_add("\"%s\" holds no reference: weft record "
				 "--sample-only or --reference makes one",
				 arg_reference);
	if (status == 0) {
		note_absent(from, &in);
		if (in.bad > 0 || !session_note(from, "end") ||
		    session_note(from, "lost.absent") ||
		    session_noted(from, "lost.chunks") > 0)
			add_note(to, "lost.reference", "1");
		session_take_reference(to, from);
		to->reference.is_same_run =
			to->reference.kind != REFERENCE_OFF &&
			is_same_command(to, from);
		to->reference.kind = REFERENCE_ONLY;
	}
	session_free(from);
	return status;
}

void load_take_samples(struct load *to, struct load *from)
{
	reference_take(to->session, from->session);
}

/* ---- names -------------------------------------------------------------- */

/* Files that were put into the trace's folder name its functions, too. */
struct sym_options load_sym_options(const struct load *load)
{
	return (struct sym_options){
		arena_print(load->names, "%s%s%s",
			    arg_debug_dirs ? arg_debug_dirs : "",
			    arg_debug_dirs ? ":" : "", load->path),
		NAMING_SECONDS,
		arena_print(load->names, "%s/archive", load->path),
		arg_servers
	};
}

static volatile sig_atomic_t says_naming;

static void say_naming(int number)
{
	static const char text[] = "\rnaming functions";

	(void)number;
	says_naming = write(STDERR_FILENO, text, sizeof(text) - 1) > 0;
}

/* Names are looked up in a child process. If that takes more than a second, say
 * so. */
static void name_all(struct load *load)
{
	const struct sigaction say = { .sa_handler = say_naming,
				       .sa_flags = SA_RESTART };
	const bool is_on = isatty(STDERR_FILENO);
	struct sigaction before = { .sa_handler = SIG_DFL };
	struct session *const s = load->session;
	struct sym_options options;

	says_naming = 0;
	if (is_on && sigaction(SIGALRM, &say, &before) == 0)
		alarm(1);
	load->names = arena_new();
	options = load_sym_options(load);
	s->namings = sym_name(s->funcs, load->names, &options);
	s->naming_count = func_elf_count(s->funcs);
	reference_find_places(s);
	sym_places(s, load->names, &options);
	net_place(s);
	if (is_on) {
		alarm(0);
		sigaction(SIGALRM, &before, NULL);
	}
	if (says_naming)
		fputs("\r\033[K", stderr);
}

/* ---- profiles ----------------------------------------------------------- */

/* What a reader complained of goes with the session as a note of this key, and
 * is taken out again when the profile is read. */
static const char trouble_key[] = "reader.trouble";

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
	load->is_raw = wants_net && !arg_raw && session_is_raw(load->session);
	if (!wants_net || arg_raw)
		net_undo(load->session);
	take_session(load, load->session->part_count > 0 ? "weft, merged" :
		 "weft, a profile");
	return CMD_OK;
}

void load_complete(struct load *load)
{
	struct session *const s = load->session;

	if (load->in.bad > s->bad_chunks)
		s->bad_chunks = load->in.bad;
	if (load->in.trouble[0])
		add_note(s, trouble_key, load->in.trouble);
}

/* ---- filters ------------------------------------------------------------ */

/* For scan_clock: the earliest tick of a chunk that holds records. */
struct clock_scan { struct session *session; ticks first; };

/* Notes of the recorder come in chunks without records (CHUNK_META), whose
 * ticks are not of any thread. */
static int scan_chunk(void *ctx, const struct chunk *chunk)
{
	struct clock_scan *const scan = ctx;

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
	struct clock_scan scan = { clock, UINT64_MAX };
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
 * give must be known when that begins. It learns the clock, too. */
static int scan_marks(const char *path, struct session *clock,
		      struct filter_marks *marks)
{
	static const struct replay_sink sink = { .mark = see_mark };
	struct mark_scan scan = { clock, marks };
	struct target t = { .replay = replay_new(clock, &sink, &scan) };
	struct in_summary in;

	return read_events(&t, path, &only_events, &in);
}

/* What replay must collect for the filters. */
static enum cmd_exit set_want(struct load *load)
{
	struct session *const clock = session_new(1);
	struct filter_marks *const marks = filter_args_marks_new();
	enum cmd_exit status = CMD_OK;

	if (filter_args_has(FILTER_RANGE) &&
	    (filter_args_has(FILTER_MARKS) ?
	     scan_marks(load->path, clock, marks) :
	     scan_clock(load->path, clock)) != 0)
		status = CMD_UNREADABLE;
	else if (filter_args_collect(clock, marks, &load->want) != 0)
		status = CMD_USAGE;
	filter_args_marks_free(marks);
	session_free(clock);
	return status;
}

/* ---- opening ------------------------------------------------------------ */

/* Are there calls without records? */
static bool has_counted(const struct session *s)
{
	return s->counted > 0 || cct_counted_sum(s->cct).brief > 0;
}

/* Nothing may have told which function a coroutine of sampled Lua ran. */
static void name_bodies(struct session *s)
{
	for (size_t i = 0; i < s->coroutine_count; i++) {
		struct coroutine *const c = &s->coroutines[i];

		if (c->body == 0 && (c->resumes > 0 || c->active > 0))
			c->body = func_special(s->funcs, "[body not known]");
	}
}

/* Put memory into the tree, before that is cut. */
static enum cmd_exit read_heap(struct load *load)
{
	struct heap h;
	int status;

	if (!wants_heap || !session_note(load->session, "heap"))
		return CMD_OK;
	heap_init(&h, load->session);
	h.by = HEAP_BY_THREAD;
	status = load_again(load, &heap_sink, &h);
	if (status == 0)
		heap_put(&h, load->session, load->want.from, load->want.to);
	heap_fini(&h);
	return status == 0 ? CMD_OK : CMD_UNREADABLE;
}

/* Up to two passes: the clock, with marks, and the one that fills the session;
 * one more for memory. */
static enum cmd_exit open_trace(struct load *load)
{
	const enum cmd_exit status = set_want(load);

	if (status != CMD_OK)
		return status;
	if (read_trace(load) != 0)
		return CMD_UNREADABLE;
	if (load->want.to > 0 && has_counted(load->session)) {
		err_add("it is not known when calls were made that were only "
			"counted, so no part can be chosen by time; leave out "
			"--from, --to and filters by marks");
		return CMD_USAGE;
	}
	if (arg_reference && read_reference(load) != 0)
		return CMD_UNREADABLE;
	name_all(load);
	name_bodies(load->session);
	if (read_heap(load) != CMD_OK)
		return CMD_UNREADABLE;
	if (wants_net && !arg_raw) {
		net_apply(load->session);
		reference_apply(load->session, load->names);
	}
	noted_apply(load->session);
	counted_calls_time(load->session);
	load->is_raw = wants_net && !arg_raw && session_is_raw(load->session);
	if (arg_sampled && !(load->session->net.is_net &
			     (NET_SAMPLED | NET_REFERENCE))) {
		err_add("--sampled needs net times, and these need samples of "
			"the program: %s", arg_raw ? "leave out --raw" :
			wants_net ? "weft info says why there are none, or too "
			"few" : "here times are as recorded");
		return CMD_USAGE;
	}
	group_find_starts(load->session);
	sampled_calls_add(load->session, load->names, arg_sampled);
	other_waits_add(load->session);
	return CMD_OK;
}

/* Filters by time and coroutine need records; a profile has only their sums. */
static enum cmd_exit open_profile(struct load *load)
{
	const enum cmd_exit status = read_profile(load);

	if (status == CMD_OK && arg_sampled)
		return load_need_trace(load, "single samples");
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
	load->is_watched = watch && !load->is_part && !profile_is(path);
	status = profile_is(path) ? open_profile(load) : open_trace(load);
	if (status == CMD_OK && !load->is_profile) {
		note_absent(load->session, &load->in);
		left_out_apply(load->session);
	}
	/* A profile always tells Lua states apart. Filtering, be it by nothing,
	 * joins what differs in them alone. */
	if (status == CMD_OK &&
	    (load->is_part || (load->is_profile && !want->vm)))
		load->found = filter_args_apply(load->session, want->vm,
						&load->part);
	return status;
}

/* Add a session to the sum. Its ticks become nanoseconds there. */
static enum cmd_exit add_session(struct merge *sum, struct load *all,
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
	return merge_add(sum, one->session) == 0 ? CMD_OK : CMD_UNREADABLE;
}

/* All operands are open now: a name that none of them has is a mistake. */
static enum cmd_exit require_found(const struct load *load)
{
	assert(load->session);
	assert((load->found & ~(unsigned)FILTER_ALL) == 0);
	return !load->is_part ||
	       filter_args_require(load->session, load->found) == 0 ?
	       CMD_OK : CMD_UNREADABLE;
}

/* Of a snapshot or a piece, or a profile of one: its recording; others may have
 * the same calls. 0: it is neither. */
static uint64_t share_of(const struct session *s)
{
	const bool is_share = session_note(s, "snapshot") ||
			      session_note(s, "pieces");

	if (!is_share)
		return 0;
	if (s->part_count > 0)
		return s->parts[0].recording;
	return s->process_count > 0 ? s->processes[0].recording : 0;
}

/* shares: of those before operand i, and of this one after it. */
static enum cmd_exit check_share(const struct session *s, char **paths, int i,
				 uint64_t *shares)
{
	shares[i] = share_of(s);
	for (int k = 0; k < i && shares[i] != 0; k++) {
		if (shares[k] != shares[i])
			continue;
		err_add("\"%s\" and \"%s\" are of one recording and have "
			"calls in common, which would be counted twice: name "
			"one snapshot; for pieces, name the folder that they "
			"are in", paths[k], paths[i]);
		return CMD_USAGE;
	}
	return CMD_OK;
}

static enum cmd_exit open_several(struct load *load,
				  const struct replay_collect *want, int count,
				  char **paths)
{
	struct merge *const sum = merge_new();
	uint64_t *const shares = mem_alloc((size_t)count * sizeof(*shares));
	enum cmd_exit status = CMD_OK;

	watch = NULL;
	memset(load, 0, sizeof(*load));
	load->want = *want;
	load->is_part = filter_args_has(FILTER_ALL);
	for (int i = 0; i < count && status == CMD_OK; i++) {
		struct load one;

		status = open_one(&one, want, paths[i]);
		if (status == CMD_OK)
			status = check_share(one.session, paths, i, shares);
		if (status == CMD_OK)
			status = add_session(sum, load, &one);
		load_close(&one);
	}
	mem_free(shares);
	load->session = merge_end(sum);
	load->path = count == 1 ? paths[0] : "several sessions";
	if (status != CMD_OK)
		return status;
	take_session(load, "weft, merged");
	return require_found(load);
}

enum cmd_exit load_open_merged(struct load *load,
			       const struct replay_collect *want, int count,
			       char **operands)
{
	char **paths = NULL;

	memset(load, 0, sizeof(*load));
	if (count == 0) {
		err_add("no traces or profiles given; give folders that weft "
			"record made, or profiles");
		return CMD_USAGE;
	}
	count = operands_find(count, operands, &paths);
	return open_several(load, want, count, paths);
}

enum cmd_exit load_open_with(struct load *load,
			     const struct replay_collect *want, int count,
			     char **operands)
{
	enum cmd_exit status = CMD_USAGE;
	char **paths = NULL;

	memset(load, 0, sizeof(*load));
	count = operands_find(count, operands, &paths);
	if (count > 1)
		return open_several(load, want, count, paths);
	if (count == 1)
		status = open_one(load, want, paths[0]);
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
	struct target t = { .seen = load->seen, .is_again = true };
	struct session *again;
	struct in_summary in;
	int status;

	if (load_need_trace(load, "single records") != CMD_OK)
		return -1;
	again = session_new(arg_max_nodes);
	t.replay = replay_new(again, sink, ctx);
	replay_number_as(t.replay, load->session);
	/* The functions are the same ones, and have their names already. */
	func_table_free(again->funcs);
	again->funcs = load->session->funcs;
	if (cct_has_cpu(load->session->cct))
		cct_collect_cpu(again->cct);
	cct_set_deeper(again->cct, func_special(again->funcs, "(deeper)"));
	status = read_events(&t, load->path, &only_events, &in);
	again->funcs = NULL;
	session_free(again);
	return status;
}

void load_close(struct load *load)
{
	arena_free(load->names);
	session_free(load->session);
	map_free(load->seen);
}
