/* trim.c - which functions a recording could do without, from the flat table.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/trim.h"

#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/findings/gcc_name.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the choice --------------------------------------------------------- */

/* 1: Lua's hooks, which cost another price than those of native code; 0: any
 * other function. */
static int kind_of(struct session *s, func_id id)
{
	return func_get(s->funcs, id)->kind == FUNC_LUA;
}

/* The shortest finished call of each kind, which is the part of a recording's
 * cost that lies between entry and exit. 0 if none has finished. */
static void find_costs(struct trim *t, const struct flat *flat)
{
	bool is_known[2] = { false, false };

	for (size_t i = 0; i < flat->count; i++) {
		const struct flat_row *const r = &flat->rows[i];
		const int kind = kind_of(t->session, r->f.func);

		if (r->max == 0 || (is_known[kind] && r->min >= t->cost[kind]))
			continue;
		t->cost[kind] = r->min;
		is_known[kind] = true;
	}
}

static ticks less(ticks time, uint64_t calls, ticks cost)
{
	const double off = (double)calls * (double)cost;

	return (double)time > off ? time - (ticks)off : 0;
}

/* Is it a function of the program, native or Lua, that no recording needs? */
static bool is_spare(const struct trim *t, const struct trim_row *r,
		     const struct trim_options *o)
{
	const struct func *const f = func_get(t->session->funcs, r->f.func);

	return (f->kind == FUNC_NATIVE || f->kind == FUNC_LUA) &&
	       (double)session_ns(t->session, (ticks)r->mean) <= o->below &&
	       r->share >= o->min_share;
}

static struct trim_row row_of(const struct trim *t, const struct flat_row *from)
{
	const struct figures *const f = &from->f;
	const ticks cost = t->cost[kind_of(t->session, f->func)];
	const ticks total = less(f->total, f->calls - f->recursive, cost);

	return (struct trim_row){
		.f = *f, .net = less(f->self, f->calls, cost),
		.mean = (double)total / (double)f->calls,
		.share = (double)f->calls / (double)t->all_calls };
}

ORDER_BY(by_calls, struct trim_row, DOWN(f.calls) ?: UP(f.func))

struct trim *trim_new(struct session *session, const struct trim_options *o)
{
	struct trim *const t = mem_alloc(sizeof(*t));
	struct flat *const flat = flat_new(session, NULL);

	t->session = session;
	find_costs(t, flat);
	t->all_calls = flat->calls;
	t->rows = mem_grow(NULL, flat->count + 1, sizeof(*t->rows));
	t->kept = mem_grow(NULL, flat->count + 1, sizeof(*t->kept));
	for (size_t i = 0; i < flat->count; i++) {
		struct trim_row *const r = &t->rows[t->count];

		if (flat->rows[i].f.calls == 0)
			continue;
		*r = row_of(t, &flat->rows[i]);
		t->all_net += r->net;
		if (!is_spare(t, r, o)) {
			t->kept[t->kept_count++] = *r;
			continue;
		}
		t->calls += r->f.calls;
		t->net += r->net;
		t->count++;
	}
	flat_free(flat);
	qsort(t->rows, t->count, sizeof(*t->rows), by_calls);
	assert(t->calls <= t->all_calls && t->net <= t->all_net);
	return t;
}

void trim_free(struct trim *t)
{
	if (!t)
		return;
	mem_free_all(t->rows, t->kept, t);
}

/* ---- the list for gcc --------------------------------------------------- */

/* A text of which gcc leaves out what has it in its name. */
struct text {
	const char *text;
	size_t row, row_count;   /* the rows that it is made for: in `named` */
	size_t hit, hit_count;   /* the functions in which gcc finds it */
	uint64_t calls;          /* of its rows */
	double loss;             /* the time of what goes with it alone */
};

struct named {
	const char *text;
	struct trim_row *row;
};

struct hit {
	size_t text;
	struct trim_row *row;    /* one of trim's, or of those it keeps */
	bool is_sure;
};

/* Rows, texts and hits that belong together lie side by side. */
struct list {
	struct trim *trim;
	struct arena *arena;
	struct named *named;
	struct text *texts;
	struct hit *hits;
	size_t named_count, count, hit_count, hit_room;
};

static const struct func *func_of(const struct trim *t,
				  const struct trim_row *r)
{
	return func_get(t->session->funcs, r->f.func);
}

bool trim_gcc_name(const struct func *f, char *to, size_t size)
{
	return f->kind == FUNC_NATIVE && gcc_name_text(f->name, to, size);
}

ORDER_BY(by_text, struct named, strcmp(x->text, y->text) ?: UP(row))
ORDER_BY(by_hit, struct hit, UP(text) ?: UP(row))

static void name_rows(struct list *l)
{
	struct trim *const t = l->trim;
	char name[TRIM_NAME];

	for (size_t i = 0; i < t->count; i++) {
		struct trim_row *const r = &t->rows[i];

		r->gcc = TRIM_UNNAMED;
		if (!trim_gcc_name(func_of(t, r), name, sizeof(name)))
			continue;
		r->gcc = TRIM_COSTLY;
		l->named[l->named_count++] = (struct named){
			arena_copy(l->arena, name, strlen(name)), r };
	}
	order_sort(l->named, l->named_count, by_text);
	for (size_t i = 0; i < l->named_count; i++) {
		const struct named *const n = &l->named[i];

		if (i == 0 || strcmp(n[-1].text, n->text) != 0)
			l->texts[l->count++] = (struct text){
				.text = n->text, .row = i };
		l->texts[l->count - 1].row_count++;
		l->texts[l->count - 1].calls += n->row->f.calls;
	}
}

static void find_hits(struct list *l, struct gcc_texts *texts,
		      struct trim_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct func *const f = func_of(l->trim, &rows[i]);
		const struct gcc_hit *hits;
		size_t found = 0;

		if (f->kind != FUNC_NATIVE)
			continue;
		hits = gcc_texts_find(texts, f->name, &found);
		for (size_t j = 0; j < found; j++)
			*vec_add(&l->hits, &l->hit_room, &l->hit_count) =
				(struct hit){ hits[j].text, &rows[i],
					      hits[j].is_sure };
	}
}

static void find_all_hits(struct list *l)
{
	struct trim *const t = l->trim;
	const char **const texts = mem_grow(NULL, l->count + 1, sizeof(*texts));
	struct gcc_texts *found;

	for (size_t i = 0; i < l->count; i++)
		texts[i] = l->texts[i].text;
	found = gcc_texts_new(texts, l->count);
	find_hits(l, found, t->rows, t->count);
	find_hits(l, found, t->kept, t->kept_count);
	gcc_texts_free(found);
	mem_free(texts);
	order_sort(l->hits, l->hit_count, by_hit);
	for (size_t i = 0; i < l->hit_count; i++) {
		struct text *const text = &l->texts[l->hits[i].text];

		if (text->hit_count++ == 0)
			text->hit = i;
	}
}

static bool is_kept(const struct trim *t, const struct trim_row *r)
{
	return r >= t->kept && r < t->kept + t->kept_count;
}

/* The ticks of the kept functions that gcc would find, and that do not go
 * already: with their callees, since their place in the tree is lost. Infinite
 * if it is not known what gcc finds. *other: the one that took most. */
static double loss_of(const struct list *l, const struct text *text,
		      func_id *other)
{
	double sum = 0, most = -1;

	for (size_t i = text->hit; i < text->hit + text->hit_count; i++) {
		const struct hit *const h = &l->hits[i];
		const double total = h->is_sure ?
			h->row->mean * (double)h->row->f.calls : INFINITY;

		if (!is_kept(l->trim, h->row) || h->row->gcc == TRIM_FOUND)
			continue;
		sum += total;
		if (total > most) {
			most = total;
			*other = h->row->f.func;
		}
	}
	return sum;
}

/* Those that save most calls for what goes with them come first. */
static int by_worth(const void *a, const void *b)
{
	const struct text *const x = a, *const y = b;
	const double for_x = x->loss / (double)x->calls;
	const double for_y = y->loss / (double)y->calls;

	return ORDER(for_x, for_y) ?: ORDER(x->row, y->row);
}

static void choose(struct list *l, double room)
{
	for (struct text *t = l->texts; t < l->texts + l->count; t++) {
		struct trim_row *const first = l->named[t->row].row;
		func_id other = 0;
		double loss;

		if (first->gcc == TRIM_FOUND)
			continue;
		loss = loss_of(l, t, &other);
		for (size_t i = t->row; i < t->row + t->row_count; i++)
			l->named[i].row->other = other;
		if (loss > 0 && loss > room)
			continue;
		room -= loss;
		for (size_t i = t->hit; i < t->hit + t->hit_count; i++)
			if (l->hits[i].is_sure)
				l->hits[i].row->gcc = TRIM_FOUND;
		first->gcc = TRIM_LISTED;
	}
}

/* Rows in which gcc may find a text of the list. */
static void mark_doubtful(struct list *l)
{
	for (const struct text *t = l->texts; t < l->texts + l->count; t++) {
		if (l->named[t->row].row->gcc != TRIM_LISTED)
			continue;
		for (size_t i = t->hit; i < t->hit + t->hit_count; i++) {
			struct trim_row *const r = l->hits[i].row;

			if (r->gcc == TRIM_UNNAMED || r->gcc == TRIM_COSTLY)
				r->gcc = TRIM_DOUBTFUL;
		}
	}
}

void trim_choose_gcc(struct trim *t, double most)
{
	struct list l = { .trim = t, .arena = arena_new() };
	func_id other;

	l.named = mem_grow(NULL, t->count + 1, sizeof(*l.named));
	l.texts = mem_grow(NULL, t->count + 1, sizeof(*l.texts));
	name_rows(&l);
	find_all_hits(&l);
	for (size_t i = 0; i < l.count; i++)
		l.texts[i].loss = loss_of(&l, &l.texts[i], &other);
	order_sort(l.texts, l.count, by_worth);
	choose(&l, most * (double)t->all_net);
	mark_doubtful(&l);
	mem_free_all(l.named, l.texts, l.hits);
	arena_free(l.arena);
}

/* ---- columns ------------------------------------------------------------ */

static METRIC_GETTER(get_calls_share)
{
	const struct trim *const t = s->table;

	v->count = ((const struct figures *)row)->calls;
	v->whole = t->all_calls;
}

static METRIC_GETTER(get_net_share)
{
	const struct trim *const t = s->table;

	v->count = ((const struct trim_row *)row)->net;
	v->whole = t->all_net;
}

static METRIC_GETTER(get_mean)
{
	v->real = ((const struct trim_row *)row)->mean;
	v->count = (uint64_t)v->real;
}

static const struct metric metrics[] = {
	METRIC_CALLS,
	{ "calls-share", METRIC_SHARE, .title = "of all",
	  .get = get_calls_share },
	{ "net", METRIC_TIME, METRIC_AT(struct trim_row, net) },
	{ "net-share", METRIC_SHARE, .title = "of all",
	  .get = get_net_share },
	{ "mean", METRIC_MEAN, .get = get_mean },
	METRIC_PLACE(struct trim_row, f.func, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  .at = offsetof(struct trim_row, f.func), .size = sizeof(func_id),
	  .get = metric_function, .shrink = 24 },
	{ .name = NULL }
};

const struct metric_view trim_view = {
	metrics,
	"calls,calls-share,net,net-share,mean,language,file,name",
	"name,language,module,file,line,calls,calls-share,net,net-share,mean"
};
