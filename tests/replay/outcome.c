/* outcome.c - see outcome.h. Lines are compared as text, with one space between
 * words.
 * SPDX-License-Identifier: MIT */
#include "tests/replay/outcome.h"
#include "analyzer/base/vec.h"
#include "analyzer/correct/correct.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines { char **line; size_t count, room; };

enum { KINDS = 7 };
static const char *const kind_name[KINDS] = { "stack", "thread", "coroutine",
					      "event", "sampled", "span",
					      "noted" };

struct outcome {
	struct session *session;
	struct lines want[KINDS], got[KINDS];
	long long *balance;      /* entries less exits, by function */
	size_t balance_room;
};

static void add(struct lines *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct lines *l, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	*vec_add(&l->line, &l->room, &l->count) = mem_copy(text);
}

struct outcome *outcome_new(void)
{
	return mem_alloc(sizeof(struct outcome));
}

static void free_lines(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->line[i]);
	mem_free(l->line);
}

void outcome_free(struct outcome *o)
{
	for (int k = 0; k < KINDS; k++) {
		free_lines(&o->want[k]);
		free_lines(&o->got[k]);
	}
	mem_free(o->balance);
	mem_free(o);
}

void outcome_set_session(struct outcome *o, struct session *s)
{
	o->session = s;
}

int outcome_expect(struct outcome *o, const char *line)
{
	char text[4096], copy[4096];
	char *word;

	snprintf(copy, sizeof(copy), "%s", line);
	text[0] = '\0';
	for (word = strtok(copy, " \t\n"); word; word = strtok(NULL, " \t\n")) {
		if (*text)
			strcat(text, " ");
		strcat(text, word);
	}
	for (int k = 0; k < KINDS; k++)
		if (!strncmp(text, kind_name[k], strlen(kind_name[k]))) {
			add(&o->want[k], "%s", text);
			return 1;
		}
	return 0;
}

static const char *name_of(struct session *s, func_id id)
{
	static char names[4][128];
	static int turn;
	const struct func *const f = func_get(s->funcs, id);
	char *const out = names[turn = (turn + 1) % 4];
	const char *const name = f->kind == FUNC_LUA ? f->source + 1 : f->name;

	if (f->kind == FUNC_NATIVE)
		snprintf(out, sizeof(names[0]), "0x%" PRIx64, f->offset);
	else
		snprintf(out, sizeof(names[0]), "%s", *name ? name : "-");
	for (char *c = out; *c; c++)
		if (*c == ' ')
			*c = '_';
	return out;
}

static void event_line(struct outcome *o, const struct replay_event *e,
		       const char *what, const char *name, const char *more)
{
	static const char *const why[] = { "", " before", " unwound", " died",
					   " cut", " open",
					   " borrowed" };
	const struct thread *const t = &o->session->threads[e->thread];
	char level[16] = "";

	if (e->level)
		snprintf(level, sizeof(level), "/%u", e->level);
	add(&o->got[3], "event T%u%s %" PRIu64 " %u %s %s in %" PRIu64 "%s%s",
	    t->serial, level, e->tick, e->depth, what, name, e->in,
	    why[e->why], more);
}

static void count(struct outcome *o, func_id func, int by)
{
	size_t before = o->balance_room;

	vec_need(&o->balance, &o->balance_room, (size_t)func + 1);
	while (before < o->balance_room)
		o->balance[before++] = 0;
	o->balance[func] += by;
}

static void on_enter(void *ctx, const struct replay_event *e)
{
	struct outcome *const o = ctx;

	count(o, e->func, 1);
	event_line(o, e, "enter", name_of(o->session, e->func), "");
}

static void on_leave(void *ctx, const struct replay_event *e)
{
	struct outcome *const o = ctx;

	count(o, e->func, -1);
	event_line(o, e, "leave", name_of(o->session, e->func), "");
}

static void switch_line(struct outcome *o, const struct replay_event *e,
			const char *what, const char *more)
{
	char serial[24];

	snprintf(serial, sizeof(serial), "%" PRIu64, e->coroutine);
	event_line(o, e, what, serial, more);
}

static void on_resume(void *ctx, const struct replay_event *e)
{
	char more[48];

	snprintf(more, sizeof(more), " slept %" PRIu64 "%s%s", e->slept,
		 e->inferred ? " inferred" : "",
		 e->reason == SUSPEND_CLOSED ? " closes" : "");
	switch_line(ctx, e, "resume", more);
}

static void on_suspend(void *ctx, const struct replay_event *e)
{
	static const char *const reason[SUSPEND_REASON + 1] = {
		"", " yield", " return", " error", " closed", "", "", "" };

	switch_line(ctx, e, "suspend", reason[e->reason]);
}

static void on_create(void *ctx, const struct replay_event *e)
{
	switch_line(ctx, e, "create", "");
}

static void on_mark(void *ctx, const struct replay_event *e)
{
	struct outcome *const o = ctx;

	event_line(o, e, "mark", name_of(o->session, e->func), "");
}

static void on_wait(void *ctx, const struct replay_event *e)
{
	struct outcome *const o = ctx;
	char more[80];

	snprintf(more, sizeof(more), " for %" PRIu64 " flags %" PRIu32
		 " owner %" PRIu32, e->object, e->reason, e->owner);
	event_line(o, e, "wait", name_of(o->session, e->func), more);
}

static void on_heap(void *ctx, const struct replay_event *e)
{
	struct outcome *const o = ctx;
	char more[160];

	snprintf(more, sizeof(more), " %" PRIu64 " flags %" PRIu32 " size %"
		 PRIu64 " old %" PRIu64 " since %" PRIu64, e->object, e->reason,
		 e->size, e->old, e->begin);
	event_line(o, e, "heap", "block", more);
}

const struct replay_sink outcome_sink = {
	.enter = on_enter, .leave = on_leave, .resume = on_resume,
	.suspend = on_suspend, .create = on_create, .mark = on_mark,
	.wait = on_wait, .heap = on_heap };

static void path_of(struct session *s, node_id id, char *out, size_t size)
{
	const struct cct_node *const n = cct_get(s->cct, id);
	size_t used;

	if (n->parent == 0) {
		snprintf(out, size, "T%u", s->threads[n->thread].serial);
		return;
	}
	path_of(s, n->parent, out, size);
	used = strlen(out);
	snprintf(out + used, size - used, ";%s%s",
		 n->flags & CCT_BODY ? "~" : "", name_of(s, n->func));
}

/* stack PATH CALLS SELF [susp N] [MIN..MAX] */
static void stack_lines(struct outcome *o)
{
	struct session *const s = o->session;
	char path[2048], susp[32], range[64];

	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const n = cct_get(s->cct, id);

		if (!n->calls && !n->self && !n->suspended)
			continue;
		path_of(s, id, path, sizeof(path));
		susp[0] = range[0] = '\0';
		if (n->suspended)
			snprintf(susp, sizeof(susp), " susp %" PRIu64,
				 n->suspended);
		if (n->flags & CCT_TIMED)
			snprintf(range, sizeof(range),
				 " %" PRIu64 "..%" PRIu64, n->min, n->max);
		add(&o->got[0], "stack %s %" PRIu64 " %" PRIu64 "%s%s", path,
		    n->calls, n->self, susp, range);
	}
}

/* The program as its symbols would tell: functions are 256 bytes long, what
 * lies from 0xf000 on is a probe, and of code below 0x1000 nothing is known.
 * Code from 0x8000 on has debug information: at odd addresses that of the
 * function 0x1000 is inlined. */
static void name_places(struct session *s)
{
	for (func_id id = 1; id <= func_count(s->funcs); id++)
		if (func_get(s->funcs, id)->offset == 0x1000)
			func_get(s->funcs, id)->name = "main";
	for (size_t i = 0; i < s->place_count; i++) {
		struct code_place *const p = &s->places[i];

		p->begin = p->offset & ~UINT64_C(255);
		p->name = p->offset < 0x1000 ? NULL : "symbol";
		if (p->offset >= 0x8000)
			p->inlined = p->offset % 2 ? "x\nmain\n" : "";
		if (p->offset >= 0xf000)
			p->kind = PLACE_PROBE;
	}
}

/* The node's samples at whose ticks calls may have no records. */
static unsigned hiding(const struct session *s, node_id id)
{
	const struct cct_sample *at = NULL;
	unsigned n = 0;

	while ((at = cct_sample_next(s->cct, id, at)))
		n += at->hides;
	return n;
}

/* sampled PATH own N other N probe N unsampled N [hide N]: nodes with any of
 * these */
static void sampled_lines(struct outcome *o)
{
	struct session *const s = o->session;
	char path[2048];

	if (!cct_has_samples(s->cct))
		return;
	name_places(s);
	net_place(s);
	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_sampled *const n = cct_sampled_of(s->cct, id);
		char hide[32] = "";

		if (!n->own && !n->other && !n->probe && !n->unsampled)
			continue;
		path_of(s, id, path, sizeof(path));
		if (hiding(s, id) > 0)
			snprintf(hide, sizeof(hide), " hide %u", hiding(s, id));
		add(&o->got[4], "sampled %s own %u other %u probe %u unsampled "
		    "%" PRIu64 "%s", path, n->own, n->other, n->probe,
		    n->unsampled, hide);
	}
}

static void noted_lines(struct outcome *o)
{
	struct cct *const t = o->session->cct;
	char path[2048];

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_counted n = cct_counted_of(t, id);

		if (n.noted == 0)
			continue;
		path_of(o->session, id, path, sizeof(path));
		add(&o->got[6], "noted %s %" PRIu64 " %" PRIu64, path, n.noted,
		    n.noted_ns);
	}
}

static void thread_lines(struct outcome *o)
{
	const struct session *const s = o->session;

	for (size_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		add(&o->got[1], "thread T%u traced %" PRIu64 " calls %" PRIu64
		    " open %" PRIu64 " unnested %" PRIu64 " missing %" PRIu64
		    " gaps %" PRIu64 " lost %" PRIu64, t->serial, t->traced,
		    t->calls, t->open, t->unnested, t->missing_chunks,
		    t->gaps, t->lost[LOST_FULL]);
	}
}

static void coroutine_lines(struct outcome *o)
{
	static const char *const state[] = { "new", "suspended", "running",
					     "returned", "error", "closed" };
	struct session *const s = o->session;

	for (size_t i = 0; i < s->coroutine_count; i++) {
		const struct coroutine *const c = &s->coroutines[i];

		add(&o->got[2], "coroutine %" PRIu64 " of %" PRIu64 " by %"
		    PRIu64 " body %s resumes %" PRIu64 " active %" PRIu64
		    " suspended %" PRIu64 " threads %u %s", c->serial, c->vm,
		    c->creator, name_of(s, c->body), c->resumes, c->active,
		    c->suspended, c->thread_count, state[c->state]);
	}
}

static void span_line(struct outcome *o, const struct chronicle_found *f,
		      const struct track *k, const struct span *s)
{
	const struct track *const to = &f->tracks[s->to];
	char track[48], what[160], calls[48] = "";

	snprintf(track, sizeof(track), k->coroutine ? "C%" PRIu64 :
		 k->level ? "T%" PRIu64 "/%u" : "T%" PRIu64, k->coroutine ?
		 k->coroutine : o->session->threads[k->thread].serial,
		 k->level);
	snprintf(what, sizeof(what), "%s", span_func(s) == 0 ?
		 "-" : name_of(o->session, span_func(s)));
	if (s->kind == SPAN_MISSING)
		snprintf(what, sizeof(what), "missing");
	if (s->kind == SPAN_RUN)
		snprintf(what, sizeof(what), "run of C%" PRIu64,
			 to->coroutine);
	if (s->calls != 1 && s->kind == SPAN_CALL)
		snprintf(calls, sizeof(calls), " calls %" PRIu64, s->calls);
	add(&o->got[5], "span %s %" PRIu64 " %" PRIu64 " %u %s%s%s%s%s", track,
	    s->begin, s->end, s->depth, what, calls,
	    s->flags & SPAN_FOLDED ? " folded" : "",
	    s->flags & SPAN_DEEP ? " deep" : "",
	    s->flags & SPAN_MIXED ? " mixed" : "");
}

void outcome_spans(struct outcome *o, const struct chronicle_found *f)
{
	for (size_t i = 0; i < f->count; i++)
		for (size_t j = 0; j < f->tracks[i].count; j++)
			span_line(o, f, &f->tracks[i], &f->tracks[i].spans[j]);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_kind(struct outcome *o, int k, const char *name)
{
	const struct lines *const w = &o->want[k], *const g = &o->got[k];
	size_t i = 0, j = 0;
	int bad = 0;

	if (w->count == 0)
		return 0;
	/* Events and spans come in an order that is part of what is
	 * expected. */
	if (k != 3 && k != 5) {
		qsort(w->line, w->count, sizeof(*w->line), by_text);
		qsort(g->line, g->count, sizeof(*g->line), by_text);
	}
	while (i < w->count || j < g->count) {
		int d = i == w->count ? 1 : j == g->count ? -1 :
			strcmp(w->line[i], g->line[j]);

		if (d == 0) {
			i++, j++;
			continue;
		}
		bad = 1;
		if (k == 3 || k == 5) {
			printf("%s: line %zu\n  want %s\n  got  %s\n", name,
			       i, i < w->count ? w->line[i] : "-",
			       j < g->count ? g->line[j] : "-");
			i += i < w->count, j += j < g->count;
		} else if (d < 0) {
			printf("%s: missing:  %s\n", name, w->line[i++]);
		} else {
			printf("%s: too much: %s\n", name, g->line[j++]);
		}
	}
	return bad;
}

/* Self times of a thread add up to its traced time. */
static int check_sums(struct outcome *o, const char *name)
{
	struct session *const s = o->session;
	const size_t n = cct_count(s->cct) + 1;
	uint64_t *const total = mem_grow(NULL, 2 * n, sizeof(*total));
	int bad = 0;

	cct_totals(s->cct, total, total + n);
	for (node_id r = cct_first_root(s->cct); r;
	     r = cct_get(s->cct, r)->sibling) {
		const uint32_t t = cct_get(s->cct, r)->thread;

		if (total[r] == s->threads[t].traced)
			continue;
		printf("%s: T%u: self adds up to %" PRIu64 " of %" PRIu64 "\n",
		       name, s->threads[t].serial, total[r],
		       s->threads[t].traced);
		bad = 1;
	}
	mem_free(total);
	return bad;
}

int outcome_compare(struct outcome *o, const char *name)
{
	int bad = check_sums(o, name);

	stack_lines(o);
	thread_lines(o);
	coroutine_lines(o);
	noted_lines(o);
	sampled_lines(o);
	for (int k = 0; k < KINDS; k++)
		bad |= compare_kind(o, k, name);
	for (size_t f = 0; f < o->balance_room; f++)
		if (o->balance[f]) {
			printf("%s: %s: entries less exits: %lld\n", name,
			       name_of(o->session, (func_id)f), o->balance[f]);
			bad = 1;
		}
	if (!cct_valid(o->session->cct)) {
		printf("%s: the tree is broken\n", name);
		bad = 1;
	}
	return bad;
}
