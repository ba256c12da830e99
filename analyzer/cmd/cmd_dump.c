/* cmd_dump.c - "weft dump": the records of a trace as lines of text, one line
 * an event with the fields that filter.weft.explode gives it; or the chunks as
 * they are (dump_raw.c).
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/dump_raw.h"
#include "analyzer/load/load.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>

static bool arg_raw;

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "raw", .to = &arg_raw,
	  .help = "print chunks as they are: header, items, dictionary, "
	  "words" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct filter_refusal refused[] = {
	{ FILTER_FUNCTIONS, "weft dump prints single events, not stacks; give "
	  "it to weft tree or weft report" },
	{ 0, NULL }
};

/* ---- which events are shown --------------------------------------------- */

struct dump {
	const struct load *load;
	uint8_t *threads;        /* by index: 1 if it is shown */
	/* By thread and serial: the chosen coroutine, and those that it
	 * resumed, while they run there. */
	struct map *running;
};

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

/* Is an event in this coroutine (0: the thread itself) shown? */
static bool is_shown(const struct dump *d, const struct replay_event *e,
		     uint64_t coroutine)
{
	const struct replay_collect *const want = &d->load->want;

	return d->threads && d->threads[e->thread] &&
	       (want->to == 0 ||
		(e->tick >= want->from && e->tick < want->to)) &&
	       has_coroutine(d, e, coroutine);
}

/* ---- events ------------------------------------------------------------- */

static void print_text(const char *key, const char *value)
{
	char *const text = out_escape_terminal(value);

	printf(" %s=\"", key);
	for (const char *at = text; *at; at++)
		printf(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
	putchar('"');
	mem_free(text);
}

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

static const struct func *func_of(const struct dump *d,
				  const struct replay_event *e)
{
	return func_get(d->load->session->funcs, e->func);
}

static const char *unwind_name(uint32_t reason)
{
	/* As enum unwind. */
	static const char *const names[] = {
		"?", "longjmp", "skipped", "lua_error", "tail_call", "yield",
		"closed", "reset"
	};

	return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "?";
}

static void print_why(const struct replay_event *e)
{
	switch (e->why) {
	case REPLAY_SEEN:
		break;
	case REPLAY_OPEN_BEFORE:
		fputs(" why=open_before", stdout);
		break;
	case REPLAY_UNWOUND:
		printf(" why=%s", unwind_name(e->reason));
		break;
	case REPLAY_DIED:
		fputs(" why=died", stdout);
		break;
	case REPLAY_CUT:
		fputs(" why=cut", stdout);
		break;
	case REPLAY_OPEN_AT_END:
		fputs(" why=open_at_end", stdout);
		break;
	}
}

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

static void enter(void *ctx, const struct replay_event *e)
{
	print_call(ctx, e, "native_enter", "lua_call");
}

static void leave(void *ctx, const struct replay_event *e)
{
	print_call(ctx, e, "native_exit", "lua_return");
}

static void resume(void *ctx, const struct replay_event *e)
{
	struct dump *const d = ctx;

	if (d->load->want.serial && has_coroutine(d, e, e->in))
		*map_put(d->running, e->thread, e->coroutine) = 1;
	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, "coroutine_resume", e);
	printf(" in=%" PRIu64 " slept=%" PRIu64 "%s\n", e->in,
	       session_ns(d->load->session, e->slept),
	       e->inferred ? " inferred=1" : "");
}

static void suspend(void *ctx, const struct replay_event *e)
{
	struct dump *const d = ctx;

	if (is_shown(d, e, e->coroutine)) {
		print_event(d, "coroutine_suspend", e);
		printf(" in=%" PRIu64 " why=%s%s\n", e->in,
		       e->reason == SUSPEND_YIELD ? "yield" :
		       e->reason == SUSPEND_RETURN ? "return" :
		       e->reason == SUSPEND_ERROR ? "error" : "?",
		       e->inferred ? " inferred=1" : "");
	}
	map_remove(d->running, e->thread, e->coroutine);
}

static void create(void *ctx, const struct replay_event *e)
{
	const struct dump *const d = ctx;

	if (!is_shown(d, e, e->coroutine) && !is_shown(d, e, e->in))
		return;
	print_event(d, "coroutine_create", e);
	printf(" in=%" PRIu64 " vm=%" PRIu64 "\n", e->in, e->vm);
}

static void mark(void *ctx, const struct replay_event *e)
{
	const struct dump *const d = ctx;

	if (!is_shown(d, e, e->coroutine))
		return;
	print_event(d, "mark", e);
	print_text("name", func_of(d, e)->name);
	putchar('\n');
}

/* ---- the command -------------------------------------------------------- */

static enum cmd_exit dump_raw(const char *path)
{
	if (filter_args_refuse(FILTER_ALL, "--raw prints all chunks as they "
			       "are; leave --raw out to see a part") != 0)
		return CMD_USAGE;
	if (profile_is(path)) {
		err_add("\"%s\" is a profile, which holds no single records; "
			"give the trace itself", path);
		return CMD_UNREADABLE;
	}
	return dump_raw_trace(path) == 0 ? CMD_OK : CMD_UNREADABLE;
}

static enum cmd_exit dump_events(struct load *load)
{
	static const struct replay_sink sink = {
		.enter = enter, .leave = leave, .resume = resume,
		.suspend = suspend, .create = create, .mark = mark,
	};
	struct dump d = { load, filter_args_threads(load->session),
			  map_new() };
	const int status = load_again(load, &sink, &d);

	mem_free(d.threads);
	map_free(d.running);
	return status == 0 ? CMD_OK : CMD_UNREADABLE;
}

static enum cmd_exit run(int count, char **operands)
{
	const char *const path = load_operand(count, operands);
	struct load load;
	enum cmd_exit status;

	if (!path)
		return CMD_USAGE;
	if (arg_raw)
		return dump_raw(path);
	/* The trace is read twice: functions get their names when all that
	 * occur are known. */
	status = load_open(&load, count, operands);
	if (status == CMD_OK)
		status = load_need_trace(&load, "single records");
	if (status == CMD_OK)
		status = dump_events(&load);
	load_close(&load);
	return status;
}

const struct cmd cmd_dump = {
	.name = "dump",
	.args = "DIR",
	.summary = "print the records as text",
	.about =
	"Reads the trace in the folder DIR and prints one line an event: time\n"
	"(ns since 1970), kind, pid, tid, coroutine (0: the thread itself),\n"
	"depth (open calls below it), then what the kind has: the function,\n"
	"with module and offset if it is native, file and line; the coroutine\n"
	"that resumes or that is returned to (in), and how many ns the other\n"
	"one slept; why a call ended otherwise than by its return. Kinds are\n"
	"those of filter.weft.explode: native_enter, native_exit, lua_call,\n"
	"lua_return, coroutine_resume, coroutine_suspend, and\n"
	"coroutine_create and mark.\n"
	"\n"
	"Lines of one thread are in order; \"sort -sn\" orders all threads.",
	.opts = opts,
	.refused = refused,
	.run = run,
};
