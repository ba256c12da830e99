/* page_moments.c - arrays of small numbers: a page of 100,000 spans takes about
 * 4 MB.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_moments.h"

#include "analyzer/base/map.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>

/* ---- lanes --------------------------------------------------------------- */

/* Lanes by their numbers in the page, as page_moments_put_lanes has them; and
 * the session's coroutines: by process and serial, index + 1. */
struct lanes {
	const struct session *session;
	const struct chronicle_found *of;
	const uint32_t *number;
	struct map *coroutine_of;
};

/* A coroutine has its body's name and its number; a signal handler, the thread
 * that it interrupts. */
static void put_lane(FILE *to, const struct lanes *n, const struct track *k)
{
	const struct session *const s = n->session;
	const uint32_t i = map_find(n->coroutine_of, k->process, k->coroutine);
	const bool is_coroutine = k->coroutine != 0;
	const ticks begin = k->runs > 0 ? k->from - n->of->from : 0;
	char name[GROUP_NAME] = "[thread]", text[GROUP_NAME + 40];
	uint64_t calls = 0;

	for (size_t j = 0; j < k->count; j++)
		calls += k->spans[j].calls;
	if (!is_coroutine && k->thread < s->thread_count)
		group_name_thread(s, k->thread, name);
	if (is_coroutine)
		snprintf(text, sizeof(text), "%" PRIu64, k->coroutine);
	else
		snprintf(text, sizeof(text), "%s%s", name,
			 k->level > 0 ? " (signal handler)" : "");
	fputs("{\"name\":", to);
	out_json_text(to, text);
	fprintf(to, ",\"thread\":%" PRIu32 ",\"handler\":%s", k->thread,
		k->level > 0 ? "true" : "false");
	fprintf(to, ",\"coroutine\":%s,\"body\":%" PRIu32 ",\"begin\":%" PRIu64
		",\"end\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"calls\":%" PRIu64
		",\"active\":%" PRIu64 "}", is_coroutine ? "true" : "false",
		i > 0 ? s->coroutines[i - 1].body : 0, begin,
		k->runs > 0 ? k->to - n->of->from : 0, k->runs, calls,
		k->active);
}

/* A number of a span; `last`: the span before it in its lane. */
typedef uint64_t (*span_fn)(const struct lanes *, const struct span *,
			    const struct span *last);

#define SPAN(name, value) \
	static uint64_t span_##name(const struct lanes *n, \
				    const struct span *s, \
				    const struct span *last) \
	{ \
		(void)n; \
		(void)last; \
		return value; \
	}
SPAN(from, s->begin - last->begin)
SPAN(length, s->end - s->begin)
SPAN(calls, s->calls)
SPAN(folded, (s->flags & SPAN_FOLDED) != 0)
SPAN(func_id, s->func)
SPAN(depth, s->depth)
SPAN(kind, s->kind)
SPAN(to, (s->kind == SPAN_RUN || s->kind == SPAN_ACTIVE) &&
	 s->to < n->of->count ? n->number[s->to] : 0)
SPAN(back, (s->flags & SPAN_BACK) != 0)
SPAN(ready, s->kind == SPAN_READY)

/* A lane's spans, or when its thread waited. */
static const struct track *spans_of(const struct lanes *n, size_t lane,
				    bool is_waits)
{
	static const struct track none;
	const struct track *const k = &n->of->tracks[lane];

	return !is_waits ? k : k->waits ? k->waits : &none;
}

static void put_column(FILE *to, const struct lanes *n, bool is_waits,
		       const char *name, span_fn fn)
{
	const char *between = "";

	fprintf(to, ",\n\"%s\":[", name);
	for (size_t i = 0; i < n->of->count; i++) {
		const struct track *const k = spans_of(n, i, is_waits);
		const struct span begin = { .begin = n->of->from };

		for (size_t j = 0; n->number[i] && j < k->count; j++) {
			out_number_put(to, between, fn(n, &k->spans[j], j > 0 ?
				       &k->spans[j - 1] : &begin));
			between = ",";
		}
	}
	putc(']', to);
}

static void put_spans(FILE *to, const struct lanes *n, bool is_waits)
{
	size_t first = 0;

	fprintf(to, ",\n\"%s\":{\"first\":[0", is_waits ? "waits" : "spans");
	for (size_t i = 0; i < n->of->count; i++) {
		if (n->number[i] == 0)
			continue;
		first += spans_of(n, i, is_waits)->count;
		fprintf(to, ",%zu", first);
	}
	putc(']', to);
	put_column(to, n, is_waits, "from", span_from);
	put_column(to, n, is_waits, "length", span_length);
	if (is_waits) {
		put_column(to, n, is_waits, "ready", span_ready);
	} else {
		put_column(to, n, is_waits, "kind", span_kind);
		put_column(to, n, is_waits, "calls", span_calls);
		put_column(to, n, is_waits, "folded", span_folded);
		put_column(to, n, is_waits, "func", span_func_id);
		put_column(to, n, is_waits, "depth", span_depth);
		put_column(to, n, is_waits, "to", span_to);
		put_column(to, n, is_waits, "back", span_back);
	}
	putc('}', to);
}

/* What ran in lanes that are not here, and how many coroutines that are. */
static struct chronicle_rest rest_of(const struct lanes *n)
{
	struct chronicle_rest rest = n->of->rest;

	for (size_t i = 0; i < n->of->count; i++) {
		const struct track *const k = &n->of->tracks[i];

		if (n->number[i] > 0)
			continue;
		rest.coroutines += k->coroutine != 0 && k->runs > 0;
		rest.runs += k->coroutine != 0 ? k->runs : 0;
		for (size_t j = 0; j < k->count; j++)
			rest.calls += k->spans[j].calls;
	}
	return rest;
}

static void put_lanes(FILE *to, const struct lanes *n)
{
	const ticks start = session_first_tick(n->session);
	const struct chronicle_found *const f = n->of;
	const struct chronicle_rest rest = rest_of(n);
	const char *between = "";

	fprintf(to, "{\"offset\":%" PRIu64 ",\"length\":%" PRIu64
		",\"grain\":%" PRIu64 ",", f->from > start ? f->from - start :
		0, f->to - f->from, f->below);
	fprintf(to, "\"rest\":{\"coroutines\":%" PRIu64 ",\"runs\":%" PRIu64
		",\"calls\":%" PRIu64 "},\n\"lanes\":[", rest.coroutines,
		rest.runs, rest.calls);
	for (size_t i = 0; i < f->count; i++) {
		if (n->number[i] == 0)
			continue;
		fputs(between, to);
		put_lane(to, n, &f->tracks[i]);
		between = ",\n";
	}
	putc(']', to);
	put_spans(to, n, false);
	put_spans(to, n, true);
}

void page_moments_put_lanes(FILE *to, const struct session *s,
			    const struct chronicle_found *found,
			    const uint32_t *number)
{
	struct lanes n = { s, found, number, map_new() };

	for (size_t i = 0; i < s->coroutine_count; i++)
		*map_put(n.coroutine_of, s->coroutines[i].process,
			 s->coroutines[i].serial) = (uint32_t)i + 1;
	put_lanes(to, &n);
	map_free(n.coroutine_of);
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
		     const struct slow_found *f, const struct slow_call *c)
{
	static const char *const ends[] = {
		[SLOW_RETURNED] = "returned", [SLOW_UNWOUND] = "unwound",
		[SLOW_DIED] = "coroutine ended", [SLOW_CUT] = "cut off",
		[SLOW_OPEN] = "open at the end" };

	fprintf(to, "[%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",%" PRIu64 ",\"%s\",[", c->func, c->thread,
		c->begin < p->first ? 0 : c->begin - p->first, c->total,
		c->self, c->suspended, c->coroutine, ends[c->end]);
	put_stack(to, f->stacks, c->stack);
	fputs("]]", to);
}

static void put_list(FILE *to, const char *name, const struct page_calls *p,
		     const struct slow_found *f, size_t most)
{
	fprintf(to, "],\n\"%s\":[", name);
	for (size_t i = 0; f && i < most && i < f->count; i++) {
		fputs(i > 0 ? ",\n" : "", to);
		put_call(to, p, f, &f->calls[i]);
	}
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
	put_list(to, "calls", p, f, most);
	put_list(to, "requests", p, p->requests, most);
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
