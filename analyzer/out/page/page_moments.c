/* page_moments.c - arrays of small numbers: a page of 100,000 spans takes about
 * 4 MB.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_moments.h"

#include "analyzer/model/group.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>

/* ---- lanes --------------------------------------------------------------- */

/* A coroutine has its body's name and its number; a signal handler, the thread
 * that it interrupts. */
static void put_lane(FILE *to, const struct session *s, ticks from,
		     const struct timeline_lane *l)
{
	char name[GROUP_NAME] = "[thread]", text[GROUP_NAME + 40];
	const struct coroutine *const c = l->is_coroutine ?
		&s->coroutines[l->coroutine] : NULL;

	if (!c && l->thread < s->thread_count)
		group_name_thread(s, l->thread, name);
	if (c)
		snprintf(text, sizeof(text), "%" PRIu64, c->serial);
	else
		snprintf(text, sizeof(text), "%s%s", name,
			 l->level > 0 ? " (signal handler)" : "");
	fputs("{\"name\":", to);
	out_json_text(to, text);
	fprintf(to, ",\"coroutine\":%s,\"body\":%" PRIu32 ",\"begin\":%" PRIu64
		",\"end\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"calls\":%" PRIu64
		",\"active\":%" PRIu64 "}", c ? "true" : "false",
		c ? c->body : 0, l->runs > 0 ? l->begin - from : 0,
		l->runs > 0 ? l->end - from : 0, l->runs, l->calls, l->active);
}

/* Lanes by their numbers in the page, as page_moments_put_lanes has them. */
struct lanes { const struct timeline *of; const uint32_t *number; };

static uint32_t lane_number(const struct lanes *n, uint32_t lane)
{
	return lane == TIMELINE_NONE || lane == TIMELINE_SEVERAL ? 0 :
	       n->number[lane];
}

/* A number of a span; `last`: the span before it in its lane. */
typedef uint64_t (*span_fn)(const struct lanes *, const struct timeline_span *,
			    const struct timeline_span *last);

#define SPAN(name, value) \
	static uint64_t span_##name(const struct lanes *n, \
				    const struct timeline_span *s, \
				    const struct timeline_span *last) \
	{ \
		(void)n; \
		(void)last; \
		return value; \
	}
SPAN(from, s->from - last->from)
SPAN(length, s->to - s->from)
/* 0: all of it; else what is missing to that, so that most are short. Joined
 * spans of two threads may overlap, as their clocks may differ. */
SPAN(idle, s->busy < s->to - s->from ? s->to - s->from - s->busy : 0)
SPAN(calls, s->calls)
SPAN(parts, s->parts)
SPAN(func, s->func)
SPAN(depth, s->depth)
SPAN(kind, s->kind)
SPAN(by, lane_number(n, s->by))
SPAN(back, lane_number(n, s->back))
SPAN(who, lane_number(n, s->who))

/* What a lane has lists of. */
enum list { SPANS, GAPS, WAITS };

static const struct timeline_spans *spans_of(const struct timeline_lane *l,
					     enum list list)
{
	return list == SPANS ? &l->spans : list == GAPS ? &l->gaps : &l->waits;
}

static void put_column(FILE *to, const struct lanes *n, enum list list,
		       const char *name, span_fn fn)
{
	const struct timeline *const t = n->of;
	const char *between = "";

	fprintf(to, ",\n\"%s\":[", name);
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct timeline_spans *const spans =
			spans_of(&t->lanes[i], list);
		const struct timeline_span begin = { .from = t->from };

		for (size_t k = 0; n->number[i] && k < spans->count; k++) {
			out_number_put(to, between, fn(n, &spans->at[k],
				k > 0 ? &spans->at[k - 1] : &begin));
			between = ",";
		}
	}
	putc(']', to);
}

static void put_spans(FILE *to, const struct lanes *n, enum list list)
{
	static const char *const names[] = { "spans", "gaps", "waits" };
	const struct timeline *const t = n->of;
	size_t first = 0;

	fprintf(to, ",\n\"%s\":{\"first\":[0", names[list]);
	for (size_t i = 0; i < t->lane_count; i++) {
		first += spans_of(&t->lanes[i], list)->count *
			 (n->number[i] > 0);
		if (n->number[i] > 0)
			fprintf(to, ",%zu", first);
	}
	putc(']', to);
	put_column(to, n, list, "from", span_from);
	put_column(to, n, list, "length", span_length);
	if (list == GAPS)
		put_column(to, n, list, "kind", span_kind);
	else
		put_column(to, n, list, "idle", span_idle);
	if (list == SPANS) {
		put_column(to, n, list, "kind", span_kind);
		put_column(to, n, list, "calls", span_calls);
		put_column(to, n, list, "parts", span_parts);
		put_column(to, n, list, "func", span_func);
		put_column(to, n, list, "depth", span_depth);
		put_column(to, n, list, "by", span_by);
		put_column(to, n, list, "back", span_back);
		put_column(to, n, list, "who", span_who);
	}
	putc('}', to);
}

/* What ran in lanes that are not here, and how many coroutines that are. */
static struct timeline_rest rest_of(const struct lanes *n)
{
	struct timeline_rest rest = n->of->rest;

	for (size_t i = 0; i < n->of->lane_count; i++) {
		const struct timeline_lane *const l = &n->of->lanes[i];

		if (n->number[i] > 0)
			continue;
		rest.coroutines += l->is_coroutine && l->runs > 0;
		rest.runs += l->is_coroutine ? l->runs : 0;
		rest.calls += l->calls;
	}
	return rest;
}

void page_moments_put_lanes(FILE *to, const struct session *s,
			    const struct timeline *t, const uint32_t *number)
{
	const ticks start = session_first_tick(s);
	const struct lanes n = { t, number };
	const struct timeline_rest rest = rest_of(&n);
	const char *between = "";

	fprintf(to, "{\"offset\":%" PRIu64 ",\"length\":%" PRIu64
		",\"grain\":%" PRIu64 ",\"depths\":%u,",
		t->from > start ? t->from - start : 0, t->to - t->from,
		t->grain, (unsigned)t->depths);
	fprintf(to, "\"rest\":{\"coroutines\":%" PRIu64 ",\"runs\":%" PRIu64
		",\"calls\":%" PRIu64 "},\n\"lanes\":[", rest.coroutines,
		rest.runs, rest.calls);
	for (size_t i = 0; i < t->lane_count; i++) {
		if (number[i] == 0)
			continue;
		fputs(between, to);
		put_lane(to, s, t->from, &t->lanes[i]);
		between = ",\n";
	}
	putc(']', to);
	put_spans(to, &n, SPANS);
	put_spans(to, &n, GAPS);
	put_spans(to, &n, WAITS);
	putc('}', to);
}

/* ---- single calls -------------------------------------------------------- */

/* Frames of a call that are shown: of a deep stack the innermost ones and the
 * outermost ones. */
enum { INNER = 60, OUTER = 20 };

/* Functions, innermost first. */
static void put_stack(FILE *to, const struct stack_table *stacks, stack_id top)
{
	const struct stack_frame *frame;
	size_t depth = 0, at = 0;

	for (stack_id id = top; id != 0; id = frame->below) {
		frame = stack_table_get(stacks, id);
		depth++;
	}
	for (stack_id id = top; id != 0; id = frame->below, at++) {
		const bool is_left_out = at >= INNER && at + OUTER < depth;

		frame = stack_table_get(stacks, id);
		if (!is_left_out || at == INNER)
			out_number_put(to, at > 0 ? "," : "", is_left_out ||
				frame->flags & STACK_OMITTED ? 0 : frame->func);
	}
}

static void put_call(FILE *to, const struct page_calls *p,
		     const struct slow_call *c)
{
	static const char *const ends[] = {
		[SLOW_RETURNED] = "returned", [SLOW_UNWOUND] = "unwound",
		[SLOW_DIED] = "coroutine ended", [SLOW_CUT] = "cut off",
		[SLOW_OPEN] = "open at the end" };

	fprintf(to, "[%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",%" PRIu64 ",\"%s\",[", c->func, c->thread,
		c->begin < p->first ? 0 : c->begin - p->first, c->total,
		c->self, c->suspended, c->coroutine, ends[c->end]);
	put_stack(to, p->found->stacks, c->stack);
	fputs("]]", to);
}

void page_moments_put_calls(FILE *to, const struct page_calls *p, size_t most)
{
	const struct slow_found *const f = p->found;
	const size_t cells = f->over_time ? p->columns * HIST_OCTAVES : 0;

	fputs("{\"pattern\":", to);
	out_json_text(to, p->pattern ? p->pattern : "");
	fprintf(to, ",\"columns\":%zu,\"length\":%" PRIu64 ",\"ended\":%" PRIu64
		",\"least\":[", cells > 0 ? p->columns : 0, p->last - p->first,
		f->ended);
	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		fprintf(to, i > 0 ? ",%" PRIu64 : "%" PRIu64,
			hist_least(i * HIST_OCTAVE));
	fputs("],\n\"cells\":[", to);
	for (size_t i = 0; i < cells; i++)
		out_number_put(to, i > 0 ? "," : "", f->over_time[i]);
	fputs("],\n\"calls\":[", to);
	for (size_t i = 0; i < most; i++) {
		fputs(i > 0 ? ",\n" : "", to);
		put_call(to, p, &f->calls[i]);
	}
	fputs("]}", to);
}

/* ---- suspensions --------------------------------------------------------- */

void page_moments_put_sleeps(FILE *to, const struct sleeps *s,
			     const uint32_t *order, size_t most, ticks first)
{
	putc('[', to);
	for (size_t i = 0; i < most; i++) {
		const struct sleep *const p = &s->list[order[i]];

		fprintf(to, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			i > 0 ? ",\n" : "", p->where, p->body, p->count,
			p->sum, p->longest, p->coroutine,
			p->at < first ? 0 : p->at - first);
	}
	putc(']', to);
}
