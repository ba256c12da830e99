/* cmd_dump.c - "weft dump": the records of a trace as lines of text, one line
 * an event with the fields that filter.weft.explode gives it; or the chunks as
 * they are, word by word. Events come from the replay; with --raw none runs, so
 * that a fault of the replay can be told from one of the trace.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/chunk/decode.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/in/in.h"
#include "analyzer/load/load.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Print chunks instead of events. */
static bool arg_raw;

/* The filters choose events; with --raw all of them are refused. */
static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "raw", .to = &arg_raw,
	  .help = "print chunks as they are: header, items, dictionary, "
	  "words" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
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
		"closed", "reset"
	};

	return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "?";
}

/* Why the call began or ended, unless it was recorded as such. */
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

/* ---- chunks as they are -------------------------------------------------- */

/* For those who doubt the replay, or write a reader: words get their names, no
 * stack is kept. */

/* Long strings are stored cut, with their length and hash: both are shown,
 * since two of them may begin alike. */
static void print_string(const struct chunk_string *string)
{
	char bytes[CHUNK_STRING_MAX + 1] = "";
	char *text;

	/* The bytes in a chunk do not end with a 0. */
	memcpy(bytes, string->bytes, string->stored);
	text = out_escape_terminal(bytes);
	printf(" \"%s\"", text);
	if (string->length > string->stored)
		printf(" of %" PRIu64 " bytes, hash %016" PRIx64,
		       string->length, string->hash);
	mem_free(text);
}

/* The header as it is, in four lines. Times are left as ticks: the clock pair
 * that would turn them into ns is among them. */
static void print_header(const struct chunk_header *h)
{
	printf("chunk %" PRIu64 " process=%" PRIu32 " thread=%" PRIu32
	       " level=%" PRIu32 " pid=%" PRIu32 " tid=%" PRIu32
	       " flags=0x%" PRIx32 " words=%" PRIu64 "\n", h->number,
	       h->process, h->thread, h->level, h->pid, h->tid, h->flags,
	       h->total_words);
	printf("  records=%" PRIu32 " items=%" PRIu32 " funcs=%" PRIu32
	       " recording=%016" PRIx64 "\n", h->records, h->items, h->funcs,
	       h->recording);
	printf("  ticks %" PRIu64 " to %" PRIu64 ", %" PRIu64 " a second, pair"
	       " %" PRIu64 " = mono %" PRIu64 " = real %" PRIu64
	       " width %" PRIu64 "\n", h->tick_begin, h->tick_end, h->tick_hz,
	       h->pair_tick, h->pair_mono, h->pair_real, h->pair_width);
	printf("  cpu %" PRIu64 " to %" PRIu64 " ns, lost", h->cpu_begin,
	       h->cpu_end);
	for (int i = 0; i < LOST_REASONS; i++)
		printf(" %" PRIu64, h->lost[i]);
	if (h->level > 0)
		printf(", interrupted record %" PRIu32 " of chunk %" PRIu64,
		       h->interrupted_record, h->interrupted_chunk);
	putchar('\n');
}

/* Items of each type have a function of their own; what it prints follows the
 * type's name. A chunk was checked as a whole before it comes here, so its
 * items are sound. */
static void print_module(const struct chunk_item *item)
{
	struct chunk_module module;

	decode_module(item, &module);
	printf(" %" PRIu32 " bias=0x%" PRIx64 " size=%" PRIu64 " build-id=",
	       module.number, module.bias, module.size);
	for (size_t i = 0; i < module.build_id_size; i++)
		printf("%02x", module.build_id[i]);
	print_string(&module.path);
}

/* A Lua function: its lines and ordinal, then its source and its name. */
static void print_lua(const struct chunk_item *item)
{
	struct chunk_lua lua;

	decode_lua(item, &lua);
	printf(" lines %" PRIu32 " to %" PRIu32, lua.line, lua.last_line);
	if (lua.ordinal != 0)
		printf(" ordinal %" PRIu32, lua.ordinal);
	print_string(&lua.source);
	print_string(&lua.name);
}

/* A label or a note: a key and a value. */
static void print_pair(const struct chunk_item *item)
{
	struct chunk_string key, value;

	decode_pair(item, &key, &value);
	print_string(&key);
	print_string(&value);
}

/* Spans in which the thread was off the CPU, as pairs of ticks. */
static void print_offcpu(const struct chunk_item *item)
{
	const uint64_t *pair;
	const size_t count = decode_offcpu(item, &pair);

	for (size_t i = 0; i < count; i++)
		printf(" %" PRIu64 "-%" PRIu64, pair[2 * i], pair[2 * i + 1]);
}

/* A Lua state: how its frames are read follows from the flags. fiber: the
 * native coroutine in which it runs, if any. */
static void print_vm(const struct chunk_item *item)
{
	struct chunk_vm vm;

	decode_vm(item, &vm);
	printf(" %" PRIu64 " abi=%" PRIu32 " flags=0x%" PRIx32
	       " address=0x%" PRIx64, vm.serial, vm.abi, vm.flags, vm.address);
	if (vm.fiber != 0)
		printf(" in=%" PRIu64, vm.fiber);
}

/* A frame of a stack: its function's index in the dictionary and its age in
 * ticks, "?" if its entry was not seen; or how many frames were left out. */
static void print_frame(uint64_t word)
{
	const uint64_t age = rec_gap(word);

	if (rec_func(word) == REC_FUNC_OMITTED)
		printf(" [%" PRIu64 " frames]", age);
	else if (age == REC_AGE_UNKNOWN)
		printf(" f%" PRIu32 "@?", rec_func(word));
	else
		printf(" f%" PRIu32 "@%" PRIu64, rec_func(word), age);
}

/* The stitched stack at the chunk's start, segment by segment. It needs the
 * chunk, because segments are decoded from there. */
static void print_stack(const struct chunk *chunk)
{
	struct chunk_segment segment = { 0 };

	while (decode_next_segment(chunk, &segment)) {
		printf(" coroutine=%" PRIu64 ":", segment.serial);
		if (segment.body) {
			printf(" body");
			print_frame(*segment.body);
		}
		for (size_t i = 0; i < segment.frames; i++)
			print_frame(segment.frame[i]);
	}
}

/* How Lua calls a C function: the function's index, then the name. */
static void print_hint(const struct chunk_item *item)
{
	struct chunk_string hint;
	const uint32_t func = decode_hint(item, &hint);

	printf(" f%" PRIu32, func);
	print_string(&hint);
}

/* A function whose return LuaJIT does not tell; only its index. */
static void print_late(const struct chunk_item *item)
{
	printf(" f%" PRIu32, decode_untold_return(item));
}

/* A name that records refer to, of a mark for example. */
static void print_name(const struct chunk_item *item)
{
	struct chunk_string name;

	decode_name(item, &name);
	print_string(&name);
}

/* Counted calls: each node's number, its parent, and what is counted. */
static void print_counted(const struct chunk_item *item)
{
	const uint64_t *word = item->word + 1;

	for (size_t i = 1; i <= item->n / COUNTED_WORDS;
	     i++, word += COUNTED_WORDS) {
		printf("\n    %zu: by=%" PRIu64, i, rec_gap(word[0]));
		if (rec_kind(word[0]) == (enum rec_kind)COUNTED_CALL)
			printf(" f%" PRIu32 " calls=%" PRIu64 " ticks=%" PRIu64,
			       rec_func(word[0]), word[1], word[2]);
		else
			printf(" %s=%" PRIu64, rec_kind(word[0]) ==
			       (enum rec_kind)COUNTED_COROUTINE ? "co" :
			       "omitted", word[1]);
	}
}

/* The process: its parent's serial and its program. */
static void print_process(const struct chunk_item *item)
{
	struct chunk_string path;
	const uint32_t parent = decode_process(item, &path);

	printf(" parent=%" PRIu32, parent);
	print_string(&path);
}

/* A place in code: a word of the dictionary's form. */
static void print_place(uint64_t word)
{
	if (dict_kind(word) == DICT_NATIVE)
		printf("module %" PRIu32 " + 0x%" PRIx64, dict_module(word),
		       dict_offset(word));
	else
		printf("code 0x%" PRIx64, dict_offset(word));
}

/* Where the program counter was: after the period and the ticks between which
 * it is known, a line for each sample. Other items than this one are one line
 * each. */
static void print_samples(const struct chunk *chunk)
{
	struct chunk_samples s;

	if (!decode_samples(chunk, &s))
		return;
	printf("samples period=%" PRIu64 " %" PRIu64 "-%" PRIu64, s.period,
	       s.from, s.to);
	for (size_t i = 0; i < s.n; i++) {
		printf("\n    @%" PRIu64 " ", s.pair[2 * i]);
		print_place(s.pair[2 * i + 1]);
	}
}

/* The items that are printed by themselves. */
static const struct {
	enum item_type type;
	const char *name;
	void (*print)(const struct chunk_item *);
} items[] = {
	{ ITEM_MODULE, "module", print_module },
	{ ITEM_LUA, "lua", print_lua },
	{ ITEM_NAME, "name", print_name },
	{ ITEM_HINT, "hint", print_hint },
	{ ITEM_LABEL, "label", print_pair },
	{ ITEM_PROCESS, "process", print_process },
	{ ITEM_VM, "vm", print_vm },
	{ ITEM_OFFCPU, "offcpu", print_offcpu },
	{ ITEM_NOTE, "note", print_pair },
	{ ITEM_UNTOLD_RETURN, "late", print_late },
	{ ITEM_COUNTED, "counted", print_counted },
};

/* One item: where it begins in the items, by words, since records and the
 * dictionary refer to it so. Items of unknown types are shown by their number:
 * newer tracers may have more. */
static void print_item(const struct chunk *chunk,
		       const struct chunk_item *item)
{
	printf("  item @%zu ", (size_t)(item->word - chunk->items));
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		if (items[i].type != item->type)
			continue;
		fputs(items[i].name, stdout);
		items[i].print(item);
		putchar('\n');
		return;
	}
	/* These are no rows above, because they take the chunk. */
	if (item->type == ITEM_STACK) {
		fputs("stack", stdout);
		print_stack(chunk);
	} else if (item->type == ITEM_SAMPLES) {
		print_samples(chunk);
	} else {
		printf("type %d, %zu words", (int)item->type, item->n);
	}
	putchar('\n');
}

/* The dictionary: which function each index in the records means. Native ones
 * are places in modules; Lua functions and names refer to an item by its
 * word. */
static void print_dict(const struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->header.funcs; i++) {
		const uint64_t word = chunk->dict[i];

		printf("  f%" PRIu32 " ", i);
		if (dict_kind(word) == DICT_NATIVE ||
		    dict_kind(word) == DICT_CODE)
			print_place(word);
		else
			printf("%s @%" PRIu64,
			       dict_kind(word) == DICT_LUA ? "lua" : "name",
			       dict_item(word));
		putchar('\n');
	}
}

/* The record's name in REC_LIST; "?" for a kind that is not in it. */
static const char *kind_name(enum rec_kind kind)
{
	switch (kind) {
#define X(name, number, operands, meaning) case REC_##name: return #name;
	REC_LIST(X)
#undef X
	}
	return "?";
}

/* One record with its operands; returns the words it takes. After the function
 * or flags, "+" is the gap in ticks since the record before. The operands of a
 * RESUME beyond the third are the frames that it brings back, the last of them
 * its body if RESUME_BODY says so. */
static size_t print_record(const struct chunk *chunk, size_t i)
{
	const uint64_t word = chunk->records[i];
	const enum rec_kind kind = rec_kind(word);
	const size_t words = decode_record_words(chunk, i);

	printf("  %zu %s", i, kind_name(kind));
	/* Kinds differ in the layout of their word: a LEAF has a duration, TIME
	 * has a value only, the others have a function or flags. */
	if (kind == REC_LEAF)
		printf(" f%" PRIu32 " +%" PRIu64 " for %" PRIu64,
		       rec_func(word), rec_leaf_gap(word),
		       rec_leaf_duration(word));
	else if (kind == REC_TIME || kind == REC_OPERAND)
		printf(" %" PRIu64, rec_value(word));
	else
		printf(" %s%" PRIu32 " +%" PRIu64,
		       kind == REC_ENTER || kind == REC_LEAVE ||
		       kind == REC_LEAVE_OLD || kind == REC_MARK ? "f" :
		       "flags=", rec_func(word), rec_gap(word));
	for (size_t k = 1; k < words; k++) {
		if (kind == REC_RESUME && (rec_func(word) & RESUME_BODY) &&
		    k == 4 + rec_value(chunk->records[i + 3]))
			printf(" body");
		if (kind == REC_RESUME && k > 3)
			print_frame(chunk->records[i + k]);
		else
			printf(" %" PRIu64, rec_value(chunk->records[i + k]));
	}
	putchar('\n');
	return words;
}

/* Header, items, dictionary, records: the order in which they lie in the chunk.
 * Stops the reading if nothing can be written any more, as when a pipe is
 * closed. */
static int print_chunk(void *ctx, const struct chunk *chunk)
{
	struct chunk_item item = { 0 };

	(void)ctx;
	print_header(&chunk->header);
	while (decode_next_item(chunk, &item))
		print_item(chunk, &item);
	print_dict(chunk);
	for (size_t i = 0; i < chunk->header.records; )
		i += print_record(chunk, i);
	return ferror(stdout) ? -1 : 0;
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
	return in_read(path, print_chunk, NULL, &summary) == 0 ? CMD_OK :
	       CMD_UNREADABLE;
}

/* Prints while the trace is replayed: no event is kept, so a trace of any size
 * can be dumped. Events come stream by stream, so only those of one thread are
 * in the order of time. */
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

/* One trace only: records of several have no common order. */
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
	"Reads the trace in the folder DIR and prints one line per event:\n"
	"time (ns since 1970), kind, pid, tid, coroutine (0: the thread\n"
	"itself) and depth (open calls below it). What follows depends on the\n"
	"kind: the function with its file and line, and if it is native with\n"
	"module and offset; the coroutine that resumes, or to which control\n"
	"returns (in), and how many ns the other coroutine slept; the reason,\n"
	"if a call ended without returning. The kinds are those of\n"
	"filter.weft.explode (native_enter, native_exit, lua_call,\n"
	"lua_return, coroutine_resume, coroutine_suspend), and\n"
	"coroutine_create and mark.\n"
	"\n"
	"Each thread's lines are in order of time; \"sort -sn\" puts those\n"
	"of all threads in order.",
	.opts = opts,
	.refused = refused,
	.run = run,
};
