/* run_replay.c - reads a replay text: what threads did, as chunks; and what
 * must come of it. Prints what differs. tests/replay/README says the language.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/replay/replay.h"
#include "analyzer/watch/chronicle.h"
#include "tests/replay/outcome.h"
#include "tests/unit/chunk_build.h"

#include <inttypes.h>
#include <stdio.h>

static struct chunk_build chunk;
static int chunk_is_open;
static struct session *session;
static struct replay *replay;
/* A second replay, which collects spans. */
static struct session *told_session;
static struct replay *told;
static struct chronicle *chronicle;
static uint8_t all_threads[64];
static int line_number;
static const char *file_name;

static _Noreturn void fail(const char *what, const char *word)
{
	fprintf(stderr, "%s:%d: %s%s%s\n", file_name, line_number, what,
		word ? " " : "", word ? word : "");
	exit(1);
}

static char *next_word(void)
{
	return strtok(NULL, " \t\n");
}

static char *want_word(const char *what)
{
	char *const w = next_word();

	if (!w)
		fail("missing:", what);
	return w;
}

static uint64_t number(const char *text)
{
	char *end;
	const uint64_t n = strtoull(text, &end, 0);

	if (*end)
		fail("not a number:", text);
	return n;
}

static uint64_t want_number(const char *what)
{
	return number(want_word(what));
}

static uint32_t choice(const char *word, const char *const names[],
		       uint32_t first)
{
	for (uint32_t i = 0; names[i]; i++)
		if (!strcmp(word, names[i]))
			return first + i;
	fail("unknown word:", word);
}

static uint32_t unwind_why(const char *word)
{
	static const char *const names[] = { "jump", "skipped", "error",
		"tail", "yield", "closed", "reset", "borrowed", NULL };

	return choice(word, names, UNWIND_JUMP);
}

static void chunk_option(char *w)
{
	static const char *const names[] = { "partial", "unknown", "stepped",
		"meta", "last", "gap", NULL };
	char *const value = strchr(w, '=');

	if (!value) {
		chunk.header.flags |= 1u << choice(w, names, 0);
		return;
	}
	*value = '\0';
	if (!strcmp(w, "level"))
		chunk.header.level = (uint32_t)number(value + 1);
	else if (!strcmp(w, "process"))
		chunk.header.process = (uint32_t)number(value + 1);
	else if (!strcmp(w, "over"))
		chunk.header.interrupted_chunk = number(value + 1);
	else if (!strcmp(w, "at"))
		chunk.header.interrupted_record = (uint32_t)number(value + 1);
	else if (!strcmp(w, "lost"))
		chunk.header.lost[LOST_FULL] = number(value + 1);
	else
		fail("unknown option", w);
}

/* chunk THREAD NUMBER TICK [options] */
static void begin_chunk(void)
{
	const char *const thread = want_word("thread");
	const uint64_t n = want_number("number");

	cb_begin(&chunk, 1, (uint32_t)number(thread + (*thread == 'T')), n,
		 want_number("tick"));
	for (char *w = next_word(); w; w = next_word())
		chunk_option(w);
	chunk_is_open = 1;
}

static void end_chunk(void)
{
	struct chunk v;

	cb_end(&chunk, want_number("tick"));
	chunk_is_open = 0;
	if (decode_chunk(&v, chunk.words, chunk.n) < 0) {
		err_print(stderr, file_name);
		fail("the chunk is refused", NULL);
	}
	replay_chunk(replay, &v);
	if (told)
		replay_chunk(told, &v);
}

/* spans stacks|tracks MAX BELOW */
static void collect_spans(void)
{
	static const char *const names[] = { "stacks", "tracks", NULL };
	struct chronicle_options options = {
		.threads = all_threads, .thread_count = sizeof(all_threads) };

	options.by_coroutine = choice(want_word("what"), names, 0);
	options.max_spans = want_number("most spans");
	options.below = want_number("shortest span");
	memset(all_threads, 1, sizeof(all_threads));
	told_session = session_new(0);
	chronicle = chronicle_new(&options);
	told = replay_new(told_session, &chronicle_sink, chronicle);
}

static void end_spans(struct outcome *o)
{
	if (!told)
		return;
	replay_finish(told);
	chronicle_finish(chronicle);
	outcome_spans(o, chronicle_found(chronicle));
	replay_free(told);
	chronicle_free(chronicle);
	session_free(told_session);
}

/* The frames of a stack: NAME:AGE, [N] for N left out; AGE "?" is unknown, "~"
 * that of a borrowed one with which a coroutine begins. */
static void frame(char *w, void put(struct chunk_build *, const char *,
				    uint64_t))
{
	char *const colon = strrchr(w, ':');

	if (*w == '[') {
		put(&chunk, NULL, strtoull(w + 1, NULL, 0));
		return;
	}
	if (!colon)
		fail("no age:", w);
	*colon = '\0';
	put(&chunk, w, !strcmp(colon + 1, "?") ? REC_AGE_UNKNOWN :
	    !strcmp(colon + 1, "~") ? REC_AGE_BODY :
	    number(colon + 1));
}

static void put_body(struct chunk_build *b, const char *f, uint64_t age)
{
	cb_body(b, rec_put(REC_OPERAND, f ? cb_func(b, f) : REC_FUNC_OMITTED,
			   age));
}

static void open_segment(void)
{
	cb_segment(&chunk, want_number("serial"));
	for (char *w = next_word(); w; w = next_word())
		if (!strcmp(w, "body"))
			frame(want_word("body"), put_body);
		else
			frame(w, cb_open);
}

/* The frames of a RESUME at this index, with its third operand. */
static void given(size_t at)
{
	char *w = next_word();

	while (w && strcmp(w, "body") != 0) {
		frame(w, cb_frame);
		w = next_word();
	}
	chunk.record[at + 3] = rec_put_value(REC_OPERAND,
					     chunk.header.records - at - 4);
	if (w) {
		chunk.record[at] |= RESUME_BODY << REC_FUNC_SHIFT;
		frame(want_word("body"), cb_frame);
	}
}

/* resume SERIAL SLEPT [inferred|closes|borrowed] [stack FRAME... [body FRAME]]
 */
static void resume(uint64_t gap)
{
	static const char *const names[] = { "inferred", "closes", "borrowed",
					     NULL };
	static const uint32_t kinds[] = { RESUME_INFERRED, RESUME_CLOSES,
					  RESUME_BORROWED };
	const uint64_t serial = want_number("serial");
	const uint64_t slept = want_number("ticks slept");
	char *w = next_word();
	uint32_t flags = 0;
	size_t at;

	if (w && strcmp(w, "stack") != 0) {
		flags |= kinds[choice(w, names, 0)];
		w = next_word();
	}
	flags |= w ? RESUME_STACK : 0;
	at = chunk.header.records;
	cb_resume(&chunk, serial, flags, slept, 0, gap);
	if (w)
		given(at);
}

static void suspend(uint64_t gap)
{
	static const char *const names[] = { "yield", "return", "error",
					     "closed", NULL };
	const uint64_t serial = want_number("serial");
	uint32_t flags = choice(want_word("reason"), names, SUSPEND_YIELD);
	const char *const w = next_word();

	if (w && !strcmp(w, "inferred"))
		flags |= SUSPEND_INFERRED;
	cb_suspend(&chunk, serial, flags, gap);
}

/* noted runs|collects|compiles NS MISSED [NAME:LINE | [N]]... */
static void noted(uint64_t gap)
{
	static const char *const names[] = { "runs", "collects", "compiles",
					     NULL };
	static const enum noted states[] = { NOTED_COMPILED, NOTED_COLLECTOR,
					     NOTED_COMPILER };
	const enum noted state = states[choice(want_word("state"), names, 0)];
	const size_t at = chunk.header.records;
	const uint64_t ns = want_number("ns");

	cb_noted(&chunk, state, ns, want_number("missed"), 0, gap);
	for (char *w = next_word(); w; w = next_word())
		frame(w, cb_frame);
	chunk.record[at + 4] = rec_put_value(REC_OPERAND,
					     chunk.header.records - at - 5);
}

static void wait_for(uint64_t gap)
{
	const uint32_t flags = (uint32_t)want_number("flags");
	const uint64_t object = want_number("object");

	cb_wait(&chunk, flags, object, want_number("owner"), gap);
}

static void heap(uint64_t gap)
{
	const uint32_t flags = (uint32_t)want_number("flags");
	const uint64_t block = want_number("block");
	const uint64_t size = want_number("size");
	const uint64_t old = want_number("old");

	cb_heap(&chunk, flags, block, size, REC_FUNC_OMITTED, old,
		want_number("ago"), gap);
}

static void other_record(uint64_t gap, const char *kind)
{
	if (!strcmp(kind, "wait"))
		wait_for(gap);
	else if (!strcmp(kind, "heap"))
		heap(gap);
	else if (!strcmp(kind, "noted"))
		noted(gap);
	else
		fail("unknown record", kind);
}

/* +GAP RECORD */
static void record(uint64_t gap, const char *kind)
{
	const char *f;
	uint64_t n;

	if (!strcmp(kind, "enter")) {
		cb_enter(&chunk, want_word("function"), gap);
	} else if (!strcmp(kind, "leave")) {
		cb_leave(&chunk, want_word("function"), gap);
	} else if (!strcmp(kind, "leaf")) {
		f = want_word("function");
		cb_leaf(&chunk, f, gap, want_number("duration"));
	} else if (!strcmp(kind, "unwind")) {
		n = want_number("frames");
		cb_unwind(&chunk, n, unwind_why(want_word("why")), gap);
	} else if (!strcmp(kind, "resume")) {
		resume(gap);
	} else if (!strcmp(kind, "suspend")) {
		suspend(gap);
	} else if (!strcmp(kind, "create")) {
		n = want_number("serial");
		cb_create(&chunk, n, want_number("vm"), gap);
	} else if (!strcmp(kind, "interrupt")) {
		n = want_number("chunk");
		cb_interrupt(&chunk, n, want_number("records"), gap);
	} else if (!strcmp(kind, "mark")) {
		cb_mark(&chunk, want_word("name"), gap);
	} else if (!strcmp(kind, "old")) {
		cb_old(&chunk, want_word("function"), gap);
	} else if (!strcmp(kind, "time")) {
		cb_time(&chunk, gap);
	} else {
		other_record(gap, kind);
	}
}

/* samples PERIOD FROM TO TICK@OFFSET... */
static void samples(void)
{
	uint64_t word[64];
	size_t n = 0, at;

	for (char *w = next_word(); w && n < 60; w = next_word()) {
		char *const place = strchr(w, '@');

		if (place)
			*place = '\0';
		word[n++] = number(w);
		if (place)
			word[n++] = cb_place(&chunk, number(place + 1));
	}
	at = cb_item(&chunk);
	for (size_t i = 0; i < n; i++)
		cb_item_word(&chunk, word[i]);
	cb_item_end(&chunk, at, ITEM_SAMPLES);
}

/* counted NAME CALLS: by the thread's own start. */
static void counted(void)
{
	const uint32_t f = cb_func(&chunk, want_word("name"));
	const size_t at = cb_item(&chunk);

	cb_item_word(&chunk, rec_put((enum rec_kind)COUNTED_CALL, f, 0));
	cb_item_word(&chunk, want_number("calls"));
	cb_item_word(&chunk, 0);
	cb_item_end(&chunk, at, ITEM_COUNTED);
}

static int is_event_line(const char *word)
{
	if (!strcmp(word, "chunk"))
		begin_chunk();
	else if (!strcmp(word, "spans"))
		collect_spans();
	else if (!chunk_is_open)
		return 0;
	else if (!strcmp(word, "end"))
		end_chunk();
	else if (!strcmp(word, "segment"))
		open_segment();
	else if (!strcmp(word, "samples"))
		samples();
	else if (!strcmp(word, "counted"))
		counted();
	else if (*word == '+')
		record(number(word + 1), want_word("record"));
	else
		return 0;
	if (next_word())
		fail("words too many after", word);
	return 1;
}

int main(int argc, char **argv)
{
	struct outcome *const o = outcome_new();
	char line[4096], copy[4096];
	FILE *in;

	if (argc != 2 || !(in = fopen(argv[1], "r")))
		return fprintf(stderr, "usage: run_replay FILE\n"), 1;
	file_name = argv[1];
	session = session_new(0);
	replay = replay_new(session, &outcome_sink, o);
	outcome_set_session(o, session);
	while (fgets(line, sizeof(line), in)) {
		const char *word;

		line_number++;
		memcpy(copy, line, sizeof(copy));
		word = strtok(copy, " \t\n");
		if (!word || *word == '#' || is_event_line(word))
			continue;
		if (!outcome_expect(o, line))
			fail("unknown line:", word);
	}
	fclose(in);
	replay_finish(replay);
	end_spans(o);
	const int bad = outcome_compare(o, file_name);
	replay_free(replay);
	outcome_free(o);
	session_free(session);
	return bad;
}
