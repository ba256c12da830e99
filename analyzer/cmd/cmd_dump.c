/* cmd_dump.c - "weft dump": the records of a trace as lines of text, one an
 * event with the fields that filter.weft.explode gives it; or the chunks as
 * they are (dump_raw.c).
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/dump_raw.h"
#include "analyzer/load/load.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/profile/prof.h"

#include <inttypes.h>
#include <stdio.h>

static bool arg_raw;

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "raw", .to = &arg_raw,
	  .help = "chunks as they are: header, items, dictionary, words" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct filter_refusal refused[] = {
	{ FILTER_ALL, "weft dump prints the whole trace" },
	{ 0, NULL }
};

static void print_text(const char *key, const char *value)
{
	char *const text = out_escape_terminal(value);

	printf(" %s=\"", key);
	for (const char *at = text; *at != '\0'; at++)
		printf(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
	putchar('"');
	mem_free(text);
}

static void print_event(const struct load *load, const char *kind,
			const struct replay_event *e)
{
	printf("%" PRIu64 " %s pid=%" PRIu32 " tid=%" PRIu32
	       " coroutine=%" PRIu64 " depth=%" PRIu32,
	       session_real(load->session, e->tick), kind, e->pid, e->tid,
	       e->coroutine, e->depth);
	if (e->level > 0)
		printf(" level=%" PRIu32, e->level);
}

static void print_function(const struct load *load,
			   const struct replay_event *e)
{
	const struct func *const f = func_get(load->session->funcs, e->func);

	print_text("function", f->name);
	if (f->kind == FUNC_NATIVE) {
		print_text("module",
			   func_elf(load->session->funcs, f->module)->path);
		printf(" offset=0x%" PRIx64, f->offset);
	}
	if (f->file[0] != '\0') {
		print_text("file", f->file);
		printf(" line=%" PRIu32, f->file_line);
	}
}

static int is_lua(const struct load *load, func_id id)
{
	return func_get(load->session->funcs, id)->kind == FUNC_LUA;
}

/* As enum unwind. */
static const char *reason_name(uint32_t reason)
{
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
		printf(" why=%s", reason_name(e->reason));
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

static void enter(void *ctx, const struct replay_event *e)
{
	print_event(ctx, is_lua(ctx, e->func) ? "lua_call" : "native_enter", e);
	print_function(ctx, e);
	print_why(e);
	putchar('\n');
}

static void leave(void *ctx, const struct replay_event *e)
{
	print_event(ctx, is_lua(ctx, e->func) ? "lua_return" : "native_exit",
		    e);
	print_function(ctx, e);
	print_why(e);
	putchar('\n');
}

static void resume(void *ctx, const struct replay_event *e)
{
	const struct load *const load = ctx;

	print_event(load, "coroutine_resume", e);
	printf(" in=%" PRIu64 " slept=%" PRIu64 "%s\n", e->in,
	       session_ns(load->session, e->slept),
	       e->inferred ? " inferred=1" : "");
}

static void suspend(void *ctx, const struct replay_event *e)
{
	print_event(ctx, "coroutine_suspend", e);
	printf(" in=%" PRIu64 " why=%s%s\n", e->in,
	       e->reason == SUSPEND_YIELD ? "yield" :
	       e->reason == SUSPEND_RETURN ? "return" :
	       e->reason == SUSPEND_ERROR ? "error" : "?",
	       e->inferred ? " inferred=1" : "");
}

static void create(void *ctx, const struct replay_event *e)
{
	print_event(ctx, "coroutine_create", e);
	printf(" in=%" PRIu64 " vm=%" PRIu64 "\n", e->in, e->vm);
}

static void mark(void *ctx, const struct replay_event *e)
{
	print_event(ctx, "mark", e);
	print_text("name", func_get(((struct load *)ctx)->session->funcs,
				    e->func)->name);
	putchar('\n');
}

static enum cmd_exit run(int count, char **operands)
{
	static const struct replay_sink sink = {
		.enter = enter, .leave = leave, .resume = resume,
		.suspend = suspend, .create = create, .mark = mark,
	};
	const char *const path = load_operand(count, operands);
	struct load load;
	enum cmd_exit status;

	if (!path)
		return CMD_USAGE;
	if (arg_raw && prof_is(path)) {
		err_add("\"%s\" is a profile, which holds no single records; "
			"give the trace itself", path);
		return CMD_UNREADABLE;
	}
	if (arg_raw)
		return dump_raw_trace(path) == 0 ? CMD_OK : CMD_UNREADABLE;
	/* Twice: a function is named once all that occur are known. */
	status = load_open(&load, count, operands);
	if (status == CMD_OK)
		status = load_need_trace(&load, "single records");
	if (status == CMD_OK && load_again(&load, &sink, &load) != 0)
		status = CMD_UNREADABLE;
	load_close(&load);
	return status;
}

const struct cmd cmd_dump = {
	.name = "dump",
	.args = "DIR",
	.summary = "print the records as text",
	.about =
	"Reads the trace in the folder DIR and prints a line an event: time\n"
	"(ns since 1970), kind, pid, tid, coroutine (0: the thread itself),\n"
	"depth (open calls below it), then what the kind has: function,\n"
	"with module and offset for native ones, file and line; the\n"
	"coroutine that resumes or is gone back to (in) and how many ns it\n"
	"slept; why a call ended otherwise than by its return. Kinds are\n"
	"those of filter.weft.explode: native_enter, native_exit, lua_call,\n"
	"lua_return, coroutine_resume, coroutine_suspend, and\n"
	"coroutine_create and mark.\n"
	"\n"
	"Lines of one thread are in order; \"sort -sn\" orders all threads.",
	.opts = opts,
	.refused = refused,
	.run = run,
};
