/* export_callgrind.c - the graph of callers, function by function. A file or
 * name is written in full where it first occurs and is known by its function's
 * number from then on.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/tables/callers.h"

#include <inttypes.h>
#include <string.h>

/* The figures, in the order of the columns. */
enum event { TIME, RAW, CPU, OFF_CPU, SUSPENDED, CALLS, EVENTS };
static const struct { const char *name, *about; } events[EVENTS] = {
	[TIME] = { "Time", "Time in ns" },
	[RAW] = { "Raw", "Time in ns, with weft's share" },
	[CPU] = { "Cpu", "Time on the CPU in ns" },
	[OFF_CPU] = { "OffCpu", "Time off the CPU in ns" },
	[SUSPENDED] = { "Suspended", "Time suspended in ns" },
	[CALLS] = { "Calls", "Calls" },
};
struct costs { uint64_t of[EVENTS]; };

struct writer {
	FILE *to;
	struct session *s;
	struct callers *c;
	bool has[EVENTS];        /* what is known */
	bool *is_named;          /* by func_id */
	struct costs sum;        /* of all functions */
};

/* ---- the head ----------------------------------------------------------- */

/* "KEY: text", made safe: one line. */
static void put_line(FILE *to, const char *key, const char *text)
{
	char *const safe = out_escape_terminal(text);

	fprintf(to, "%s: %s\n", key, safe);
	mem_free(safe);
}

static void put_head(struct writer *w, const struct export_from *from)
{
	const char *const command = session_note(w->s, "command");

	fputs("# callgrind format\nversion: 1\ncreator: weft\n", w->to);
	put_line(w->to, "cmd", command ? command : "a recording");
	for (size_t i = 0; i < from->lost_count; i++)
		put_line(w->to, "desc: lost", from->lost[i]);
	if (from->lost_count == 0)
		fputs("desc: lost: nothing\n", w->to);
	for (size_t i = 0; i < from->note_count; i++)
		put_line(w->to, "desc: note", from->notes[i]);
	fputs("positions: line\n", w->to);
	for (int e = 0; e < EVENTS; e++)
		fprintf(w->to, "event: %s : %s\n", events[e].name,
			events[e].about);
	fputs("events:", w->to);
	for (int e = 0; e < EVENTS; e++)
		if (w->has[e])
			fprintf(w->to, " %s", events[e].name);
	fputc('\n', w->to);
}

/* ---- functions ---------------------------------------------------------- */

/* "KEY=(ID) text", or without the text. */
static void put_name(struct writer *w, const char *key, func_id id,
		     const char *text, const char *more)
{
	char *safe;

	fprintf(w->to, "%s=(%u)", key, id);
	if (!w->is_named[id]) {
		safe = out_escape_terminal(text[0] != '\0' ? text : "???");
		fprintf(w->to, " %s%s", safe, more);
		mem_free(safe);
	}
	fputc('\n', w->to);
}

/* The lines that say which function is meant: their keys are those of a
 * caller, or those of a callee. */
static void put_place(struct writer *w, func_id id, bool is_callee)
{
	const struct func *const f = func_get(w->s->funcs, id);
	const char *const object = f->module == 0 ? "" :
		func_elf(w->s->funcs, f->module)->path;

	put_name(w, is_callee ? "cob" : "ob", id, object, "");
	put_name(w, is_callee ? "cfi" : "fl", id, f->file, "");
	put_name(w, is_callee ? "cfn" : "fn", id, f->name,
		 !strcmp(func_language(f), "lua") ? " [lua]" :
		 f->kind == FUNC_NAME ? " [zone]" : "");
	w->is_named[id] = true;
}

/* The end of a line of costs. */
static void put_costs(struct writer *w, const struct costs *c)
{
	for (int e = 0; e < EVENTS; e++)
		if (w->has[e])
			fprintf(w->to, " %" PRIu64, c->of[e]);
	fputc('\n', w->to);
}

/* What a function did itself. */
static struct costs self_of(struct writer *w, func_id id)
{
	const struct figures *const f = &w->c->of[id];

	return (struct costs){ {
		[TIME] = session_ns(w->s, f->self),
		[RAW] = session_ns(w->s, f->raw_self),
		[CPU] = session_ns(w->s, f->cpu),
		[OFF_CPU] = session_ns(w->s, f->off),
		[SUSPENDED] = session_ns(w->s, w->c->slept[id]),
		[CALLS] = f->calls } };
}

/* What it did when it was called so, with all below it. */
static struct costs inclusive_of(struct writer *w, const struct figures *f)
{
	return (struct costs){ {
		[TIME] = session_ns(w->s, f->total),
		[RAW] = session_ns(w->s, f->raw_total),
		[CPU] = session_ns(w->s, f->total_cpu),
		[OFF_CPU] = session_ns(w->s, f->total_off),
		[SUSPENDED] = session_ns(w->s, f->suspended) } };
}

/* What a function calls, with the callee's inclusive costs. Calls that began
 * before the recording are none; for 0 calls, callgrind_annotate would take the
 * costs for the caller's own. */
static void put_calls(struct writer *w, func_id from)
{
	const uint32_t line = func_get(w->s->funcs, from)->file_line;
	const struct callers *const c = w->c;

	for (size_t i = c->first_out[from]; i < c->first_out[from + 1]; i++) {
		const struct figures *const f = &c->arcs[c->out_of[i]].of;
		const struct costs costs = inclusive_of(w, f);

		put_place(w, f->func, true);
		fprintf(w->to, "calls=%" PRIu64 " %u\n",
			f->calls > 0 ? f->calls : 1,
			func_get(w->s->funcs, f->func)->file_line);
		fprintf(w->to, "%u", line);
		put_costs(w, &costs);
	}
}

static void put_function(struct writer *w, func_id id)
{
	const struct costs self = self_of(w, id);

	fputc('\n', w->to);
	put_place(w, id, false);
	fprintf(w->to, "%u", func_get(w->s->funcs, id)->file_line);
	put_costs(w, &self);
	put_calls(w, id);
	for (int e = 0; e < EVENTS; e++)
		w->sum.of[e] += self.of[e];
}

int export_callgrind_write(FILE *to, const struct export_from *from)
{
	struct session *const s = from->session;
	const size_t count = func_count(s->funcs);
	uint64_t time, unknown;
	const bool times = session_has_times(s);
	const bool knows = cct_knows_switches(s->cct, &time, &unknown) && times;
	struct writer w = {
		.to = to, .s = s, .c = callers_new(s->cct, count),
		.has = { [TIME] = times, [RAW] = cct_is_net(s->cct),
			 [CPU] = knows, [OFF_CPU] = knows,
			 [SUSPENDED] = times, [CALLS] = true },
		.is_named = mem_alloc(count + 1) };

	put_head(&w, from);
	fputs("\nob=(0) ???\nfl=(0) ???\nfn=(0) [outside]\n0", to);
	put_costs(&w, &(struct costs){ { 0 } });
	put_calls(&w, 0);
	for (func_id id = 1; id <= count; id++)
		if (callers_has(w.c, id))
			put_function(&w, id);
	fputs("\ntotals:", to);
	put_costs(&w, &w.sum);
	mem_free(w.is_named);
	callers_free(w.c);
	return 0;
}
