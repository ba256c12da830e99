/* cmd_dump.c - "weft dump": the records of a trace as lines of text, one line
 * an event with the fields that filter.weft.explode gives it. Events come from
 * the replay; dump_chunk prints chunks without one.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/operands.h"
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/dump/dump_chunk.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/in/in.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>

/* Print chunks instead of events. */
static bool arg_raw;

/* The filters choose events; with --raw all of them are refused. */
static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "raw", .to = &arg_raw,
	  .help = "print chunks as they are: header, items, dictionary, "
	  "words" },
	{ .type = OPT_END }
};

/* Filters by function need a tree, which single events do not have. */
static const struct filter_refusal refused[] = {
	{ FILTER_FUNCTIONS, "weft dump prints single events, not stacks; give "
	  "it to weft tree or weft report" },
	{ 0, NULL }
};

/* ---- which events are shown --------------------------------------------- */

/* The context of the events. The filters are applied here, event by event:
 * load_again gives all records, whatever the filters are. */
struct dump {
	const struct load *load;
	/* NULL if --thread and --process include no thread: nothing is shown
	 * then. */
	uint8_t *threads;        /* by index: 1 if it is shown */
	/* By thread and serial: the chosen coroutine, and those that it
	 * resumed, while they run there. */
	struct map *running;
};

/* Is the coroutine (0: the thread) the chosen one, or did that resume it on
 * this thread? Without --coroutine every one is. pid 0: of any process. */
static bool has_coroutine(const struct dump *d, const struct replay_event *e,
			  uint64_t serial)
{
	const struct replay_collect *const want = &d->load->want;

	if (want->serial == 0)
		return true;
	if (serial == want->serial && (want->pid == 0 || want->pid == e->pid))
		return true;
	return map_find(d->running, e->thread, serial);
}

/* Is an event in this coroutine (0: the thread itself) shown? The range is half
 * open, as for all commands: from `from` until before `to`. */
static bool is_shown(const struct dump *d, const struct replay_event *e,
		     uint64_t coroutine)
{
	const struct replay_collect *const want = &d->load->want;

	return d->threads[e->thread] &&
	       (want->to == 0 ||
		(e->tick >= want->from && e->tick < want->to)) &&
	       has_coroutine(d, e, coroutine);
}

/* ---- events ------------------------------------------------------------- */

/* Values are quoted, so that a name with spaces stays one word. */
static void print_text(const char *key, const char *value)
{
	char *const text = out_escape_terminal(value);

	printf(" %s=\"", key);
	for (const char *at = text; *at; at++)
		printf(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
	putchar('"');
	mem_free(text);
}

/* What every line begins with: time in ns since 1970, kind and place. level is
 * there only in signal handlers. */
static void print_event(const struct dump *d, const char *kind,
			const struct replay_event *e)
{
	printf("%" PRIu64 " %s pid=%" PRIu32 " tid=%" PRIu32
	       " coroutine=%" PRIu64 " depth=%" PRIu32,
	       session_real(d->load->session, e->tick), kind, e->pid, e->tid,
	       e->coroutine, e->depth);
	if (e->level > 0)
		printf(" level=%" PRIu32, e->level);
}

/* The function of an enter, a leave or a mark. Its name is there already, from
 * the first reading. */
static const struct func *func_of(const struct dump *d,
				  const struct replay_event *e)
{
	return func_get(d->load->session->funcs, e->func);
}

/* A word each, so that lines split at spaces; "?" for a reason of a newer
 * tracer. */
static const char *unwind_name(uint32_t reason)
{
	/* As enum unwind. */
	static const char *const names[] = {
		"?", "longjmp", "skipped", "lua_error", "tail_call", "yield",
		"closed", "reset", "borrowed"
	};

	return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "?";
}

/* Why the call began or ended, unless it was recorded as such. */
static void print_why(const struct replay_event *e)
{
	static const char *const names[] = {
		[REPLAY_OPEN_BEFORE] = "open_before", [REPLAY_DIED] = "died",
		[REPLAY_CUT] = "cut", [REPLAY_OPEN_AT_END] = "open_at_end",
		[REPLAY_BORROWED] = "borrowed",
	};

	if (e->why != REPLAY_SEEN)
		printf(" why=%s", e->why == REPLAY_UNWOUND ?
		       unwind_name(e->reason) : names[e->why]);
}

/* An entry or exit. The kind's name depends on the language of the function,
 * which the event does not say. Code without a module counts as native. */
static void print_call(const struct dump *d, const struct replay_event *e,
		       const char *native, const char *lua)
{
	struct func_table *const funcs = d->load->session->funcs;
	const struct func *const f = func_of(d, e);

	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, f->kind == FUNC_LUA ? lua : native, e);
	print_text("function", f->name);
	if (f->kind == FUNC_NATIVE) {
		print_text("module", func_elf(funcs, f->module)->path);
		printf(" offset=0x%" PRIx64, f->offset);
	}
	if (f->file[0]) {
		print_text("file", f->file);
		printf(" line=%" PRIu32, f->file_line);
	}
	print_why(e);
	putchar('\n');
}

/* The sink's functions: one for each kind of event. ctx is the dump. */
static void enter(void *ctx, const struct replay_event *e)
{
	print_call(ctx, e, "native_enter", "lua_call");
}

/* An exit is told even where none was recorded; print_why says what took its
 * place. */
static void leave(void *ctx, const struct replay_event *e)
{
	print_call(ctx, e, "native_exit", "lua_return");
}

/* What the chosen coroutine resumes runs for it, and what that resumes in turn.
 * Remember it even if the event itself is out of the range. */
static void resume(void *ctx, const struct replay_event *e)
{
	struct dump *const d = ctx;

	/* The key has the thread: what runs elsewhere was not resumed from
	 * here. */
	if (d->load->want.serial && has_coroutine(d, e, e->in))
		*map_put(d->running, e->thread, e->coroutine) = 1;
	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, "coroutine_resume", e);
	printf(" in=%" PRIu64 " slept=%" PRIu64 "%s%s\n", e->in,
	       session_ns(d->load->session, e->slept),
	       e->reason == SUSPEND_CLOSED ? " why=closes" : "",
	       e->inferred ? " inferred=1" : "");
}

/* The event still belongs to the coroutine, so it is shown before the coroutine
 * is forgotten. */
static void suspend(void *ctx, const struct replay_event *e)
{
	struct dump *const d = ctx;

	if (is_shown(d, e, e->coroutine)) {
		print_event(d, "coroutine_suspend", e);
		printf(" in=%" PRIu64 " why=%s%s\n", e->in,
		       e->reason == SUSPEND_YIELD ? "yield" :
		       e->reason == SUSPEND_RETURN ? "return" :
		       e->reason == SUSPEND_ERROR ? "error" :
		       e->reason == SUSPEND_CLOSED ? "closed" : "?",
		       e->inferred ? " inferred=1" : "");
	}
	map_remove(d->running, e->thread, e->coroutine);
}

/* A coroutine is made by another one: it belongs to both. */
static void create(void *ctx, const struct replay_event *e)
{
	const struct dump *const d = ctx;

	if (!is_shown(d, e, e->coroutine) && !is_shown(d, e, e->in))
		return;
	print_event(d, "coroutine_create", e);
	printf(" in=%" PRIu64 " vm=%" PRIu64 "\n", e->in, e->vm);
}

/* A mark belongs to whatever runs when the program leaves it. */
static void mark(void *ctx, const struct replay_event *e)
{
	const struct dump *const d = ctx;

	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, "mark", e);
	print_text("name", func_of(d, e)->name);
	putchar('\n');
}

/* A call that waits, or that ends waits of others. */
static void wait_for(void *ctx, const struct replay_event *e)
{
	static const char *const kinds[WAIT_KIND + 1] = {
		[WAIT_MUTEX] = "mutex", [WAIT_READ] = "read",
		[WAIT_WRITE] = "write", [WAIT_SEMAPHORE] = "semaphore",
		[WAIT_CONDITION] = "condition", [WAIT_BARRIER] = "barrier",
		[WAIT_JOIN] = "join", [WAIT_THREAD] = "thread",
	};
	const struct dump *const d = ctx;
	const char *const kind = kinds[e->reason & WAIT_KIND];

	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, e->reason & WAIT_ENDS ? "wait_end" : "wait", e);
	printf(" for=%s object=0x%" PRIx64 " owner=%" PRIu32 "\n",
	       kind ? kind : "?", e->object, e->owner);
}

/* Memory is taken, given back, or moved. */
static void heap(void *ctx, const struct replay_event *e)
{
	const struct dump *const d = ctx;

	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, e->reason == HEAP_TAKE ? "heap_take" :
		    e->reason == HEAP_FREE ? "heap_free" : "heap_move", e);
	printf(" block=0x%" PRIx64, e->object);
	if (e->reason != HEAP_FREE)
		printf(" size=%" PRIu64, e->size);
	if (e->reason == HEAP_MOVE)
		printf(" old=0x%" PRIx64, e->old);
	putchar('\n');
}

static void collected(void *ctx, const struct replay_event *e)
{
	const struct dump *const d = ctx;

	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, "collected", e);
	printf(" vm=%" PRIu64 "\n", e->vm);
}

/* ---- the command -------------------------------------------------------- */

/* Chunks are not interpreted; damaged ones are left out by the reader. Filters
 * are refused, because a chunk is shown whole or not at all. */
static enum cmd_exit dump_raw(const char *path)
{
	struct in_summary summary;

	if (filter_args_refuse(FILTER_ALL, "--raw prints all chunks as they "
			       "are; leave --raw out to see a part") != 0)
		return CMD_USAGE;
	if (profile_is(path)) {
		err_add("\"%s\" is a profile, which holds no single records; "
			"give the trace itself", path);
		return CMD_UNREADABLE;
	}
	return in_read(path, dump_chunk, NULL, &summary) == 0 ? CMD_OK :
	       CMD_UNREADABLE;
}

/* Prints while the trace is replayed: no event is kept, so a trace of any size
 * can be dumped. Events come stream by stream, so only those of one thread are
 * in the order of time. */
static enum cmd_exit dump_print(struct reading *r)
{
	static const struct replay_sink sink = {
		.enter = enter, .leave = leave, .resume = resume,
		.suspend = suspend, .create = create, .mark = mark,
		.wait = wait_for, .heap = heap,
		.collected = collected,
	};
	struct dump d = { &r->load, filter_args_threads(r->load.session),
			  map_new() };
	int status;

	header_print_losses(&r->load);
	status = load_again(&r->load, &sink, &d);
	mem_free(d.threads);
	map_free(d.running);
	return status == 0 ? CMD_OK : CMD_UNREADABLE;
}

/* One trace only: records of several have no common order. */
static enum cmd_exit dump_run(int count, char **operands)
{
	char *path = operands_one(count, operands);

	/* Events are read twice: functions get their names when all that occur
	 * are known. */
	return !path ? CMD_USAGE :
	       arg_raw ? dump_raw(path) : reading_run(&cmd_dump, 1, &path);
}

const struct cmd cmd_dump = {
	.name = "dump",
	.args = "DIR",
	.summary = "print the records as text",
	.about =
	"Reads the trace in the folder DIR and prints one line per event:\n"
	"time (ns since 1970), kind, pid, tid, coroutine (0: the thread\n"
	"itself) and depth (open calls below it). What follows depends on the\n"
	"kind: the function with its file and line, and if it is native with\n"
	"module and offset; the coroutine that resumes, or to which control\n"
	"returns (in), and how many ns the other coroutine slept; the reason,\n"
	"if a call ended without returning. The kinds are those of\n"
	"filter.weft.explode (native_enter, native_exit, lua_call,\n"
	"lua_return, coroutine_resume, coroutine_suspend),\n"
	"coroutine_create, mark, wait and wait_end (what the call waits for,\n"
	"or lets others go on with, and which thread held it), heap_take,\n"
	"heap_free and heap_move (with block, size, and where it was), and\n"
	"collected (the collector of a Lua state has ended a cycle).\n"
	"\n"
	"Each thread's lines are in order of time; \"sort -sn\" puts those\n"
	"of all threads in order.",
	.opts = opts,
	.refused = refused,
	.print = dump_print,
	.needs = "single records",
	.run = dump_run,
};
