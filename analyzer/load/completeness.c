/* completeness.c - what a trace lacks, in sentences: every way in which records can be
 * missing has one here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/completeness.h"

#include "analyzer/load/unnamed.h"
#include "analyzer/out/out_number.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct teller {
	completeness_fn fn;
	void *ctx;
	size_t count;
};

static void say(struct teller *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct teller *t, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	t->count++;
	if (t->fn)
		t->fn(t->ctx, text);
}

/* A number among the recorder's notes: "lost.full" and such. */
static uint64_t noted(const struct session *s, const char *key)
{
	const char *const value = session_note(s, key);

	return !value ? 0 : strtoull(value, NULL, 10);
}

/* The threads' own counts end with their last chunk; the recorder's total,
 * where there is one, does not. */
static void tell_reason(struct teller *t, const struct session *s, int reason,
			const char *name, const char *meaning,
			const char *unit)
{
	char key[40] = "lost.", text[OUT_NUMBER];
	uint64_t count = 0, total;

	for (size_t i = 0; name[i] != '\0' && i < 30; i++)
		key[5 + i] = (char)tolower((unsigned char)name[i]);
	total = noted(s, key);
	for (size_t i = 0; i < s->thread_count; i++)
		count += s->threads[i].lost[reason];
	if (total > count)
		count = total;
	if (count > 0)
		say(t, "%s: %s", out_number_many(text, count, unit),
		    meaning);
}

static void tell_chunks(struct teller *t, const struct load *load)
{
	const struct session *const s = load->session;
	const uint64_t bad = load->in.bad > s->bad_chunks ? load->in.bad :
			     s->bad_chunks;
	uint64_t missing = 0, records = 0;
	char text[OUT_NUMBER], many[OUT_NUMBER];

	for (size_t i = 0; i < s->thread_count; i++) {
		missing += s->threads[i].missing_chunks;
		records += s->threads[i].missing_records;
	}
	if (missing > 0)
		say(t, "%s missing: numbers that never came%s%s",
		    out_number_many(text, missing, "chunks"),
		    records > 0 ? ", with " : "", records > 0 ?
		    out_number_many(many, records, "records") : "");
	if (noted(s, "lost.overwritten") > 0)
		say(t, "%s overwritten by newer ones, as --on-full=overwrite "
		    "has it", out_number_many(text,
					      noted(s, "lost.overwritten"),
					      "chunks"));
	if (bad > 0)
		say(t, "%s damaged and not used",
		    out_number_many(text, bad, "chunks"));
	/* What left no hole behind: the ends of streams. */
	if (noted(s, "records") > s->records)
		say(t, "%s of those that the recorder wrote are not here",
		    out_number_many(text, noted(s, "records") - s->records,
				    "records"));
	if (noted(s, "lost.chunks") > 0)
		say(t, "%s could be written nowhere",
		    out_number_many(text, noted(s, "lost.chunks"), "chunks"));
}

static void tell_recorder(struct teller *t, const struct session *s)
{
	const char *const complete = session_note(s, "complete");
	const char *const trouble = session_note(s, "trouble");

	if (!session_note(s, "end"))
		say(t, "the recorder was ended before the recording was: what "
		    "it had not written is missing");
	if (!complete || strcmp(complete, "yes") == 0)
		return; /* its trouble is a note, then */
	if (trouble && trouble[0] != '\0')
		say(t, "the recorder says: %s", trouble);
	else
		say(t, "the recorder says that it is not complete");
}

/* How much time is missing in all, and before which threads' first chunks. */
static void tell_gaps(struct teller *t, const struct session *s)
{
	char places[OUT_NUMBER], time[OUT_NUMBER], threads[OUT_NUMBER];
	uint64_t heads = 0;
	ticks missing = 0;

	for (size_t i = 0; i < s->thread_count; i++) {
		missing += s->threads[i].missing;
		heads += s->threads[i].headless;
	}
	if (s->gap_total > heads && missing > 0)
		say(t, "%s of threads' time missing in %s, see weft check",
		    out_number_time(time, (double)session_ns(s, missing)),
		    out_number_many(places, s->gap_total - heads, "places"));
	if (heads > 0)
		say(t, "the beginning of %s", out_number_many(threads, heads,
							      "threads"));
}

void completeness_gap(const struct session *s, const struct gap *g,
		      completeness_fn fn,
	      void *ctx)
{
	const struct thread *const thread = &s->threads[g->thread];
	struct teller t = { fn, ctx, 0 };
	char chunks[OUT_NUMBER] = "", records[OUT_NUMBER] = "";
	char at[OUT_NUMBER], length[OUT_NUMBER];
	const ticks first = session_first_tick(s);

	if (g->chunks > 0)
		out_number_many(chunks, g->chunks, "chunks");
	if (g->records > 0)
		out_number_many(records, g->records, "records");
	out_number_time(at, (double)session_ns(s, (g->from ? g->from : g->to) -
					       first));
	out_number_time(length, (double)session_ns(s, g->to - g->from));
	say(&t, "thread %" PRIu32 " %s of process %" PRIu32 ": %s%s%s %s +%s%s%s",
	    thread->tid, thread->name, s->processes[thread->process].pid,
	    chunks, g->chunks > 0 && g->records > 0 ? " and " : "", records,
	    g->from ? "at" : "before", at, g->from ? " for " : "",
	    g->from ? length : "");
}

size_t completeness_each(const struct load *load, completeness_fn fn, void *ctx)
{
	const struct session *const s = load->session;
	struct teller t = { fn, ctx, 0 };
	char text[OUT_NUMBER];

#define X(name, number, meaning, unit)                                         \
	tell_reason(&t, s, number, #name, meaning, unit);
	LOST_LIST(X)
#undef X
	if (noted(s, "lost.late") > 0)
		say(&t, "%s of threads after their last destructor",
		    out_number_many(text, noted(s, "lost.late"), "calls"));
	tell_chunks(&t, load);
	tell_gaps(&t, s);
	tell_recorder(&t, s);
	if (s->unnested > 0)
		say(&t, "%s contradicting the stack, not used",
		    out_number_many(text, s->unnested, "records"));
	if (cct_deeper(s->cct) > 0)
		say(&t, "%s folded into \"(deeper)\": calls and self are exact,"
		    " see --max-nodes",
		    out_number_many(text, cct_deeper(s->cct),
			 "distinct stacks"));
	if (t.count == 0 && !session_complete(s))
		say(&t, "the trace is not complete");
	return t.count;
}

static void tell_jit(struct teller *t, const struct session *s)
{
	uint64_t off = 0;

	for (size_t i = 0; i < s->vm_count; i++)
		off += (s->vms[i].flags & VM_JIT_OFF) != 0;
	off += s->beyond.vms_jit_off;
	if (off > 0)
		say(t, "LuaJIT's compiler was off in %" PRIu64 " of %" PRIu64 " Lua states: "
		    "times are the interpreter's; counts are exact", off,
		    s->vm_count + s->beyond.vms);
}

/* Only of functions that are in the figures. */
static void tell_late(struct teller *t, const struct session *s)
{
	char text[OUT_NUMBER];
	uint64_t late = 0;

	for (func_id id = 1; id <= func_count(s->funcs); id++)
		late += func_get(s->funcs, id)->untold_return != 0;
	if (late > 0)
		say(t, "LuaJIT does not tell when %s return: their times, "
		    "marked ~ in weft report, last until the next Lua event",
		    out_number_many(text, late, "C functions"));
}

static void tell_open(struct teller *t, const struct session *s)
{
	uint64_t open = 0;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < s->thread_count; i++)
		open += s->threads[i].open;
	if (open > 0)
		say(t, "%s still open at the end: counted until then",
		    out_number_many(text, open, "calls"));
}

static void tell_unplaced(struct teller *t, const struct session *s)
{
	uint64_t unplaced = 0;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < s->thread_count; i++)
		unplaced += s->threads[i].unplaced;
	if (unplaced > 0)
		say(t, "%s of signal handlers stand under their thread: what "
		    "they interrupted is not known",
		    out_number_many(text, unplaced, "runs"));
}

static void tell_inferred(struct teller *t, const struct session *s)
{
	uint64_t inferred = s->beyond.inferred;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < s->coroutine_count; i++)
		inferred += s->coroutines[i].inferred;
	if (inferred > 0)
		say(t, "%s of coroutines seen at the next event only",
		    out_number_many(text, inferred, "switches"));
}

/* All was delivered, whatever the trouble was. */
static void tell_trouble(struct teller *t, const struct session *s)
{
	const char *const complete = session_note(s, "complete");
	const char *const trouble = session_note(s, "trouble");

	if (trouble && trouble[0] != '\0' &&
	    (!complete || strcmp(complete, "yes") == 0))
		say(t, "the recorder says: %s", trouble);
}

static void say_on(void *ctx, const char *sentence)
{
	say(ctx, "%s", sentence);
}

size_t completeness_notes(const struct load *load, completeness_fn fn,
			  void *ctx)
{
	struct teller t = { fn, ctx, 0 };

	tell_open(&t, load->session);
	tell_inferred(&t, load->session);
	tell_unplaced(&t, load->session);
	tell_jit(&t, load->session);
	tell_late(&t, load->session);
	tell_trouble(&t, load->session);
	unnamed_tell(load, say_on, &t);
	if (load->in.trouble[0] != '\0')
		say(&t, "%s", load->in.trouble);
	return t.count;
}
