/* trim.c - which functions a recording could do without, from the flat table.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/trim.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"

#include <assert.h>
#include <ctype.h>
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
	for (size_t i = 0; i < flat->count; i++) {
		struct trim_row *const r = &t->rows[t->count];

		if (flat->rows[i].f.calls == 0)
			continue;
		*r = row_of(t, &flat->rows[i]);
		t->all_net += r->net;
		if (!is_spare(t, r, o))
			continue;
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
	mem_free_all(t->rows, t);
}

/* ---- the list for gcc --------------------------------------------------- */

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_:~", c));
}

static const char unnamed[] = "(anonymous namespace)::";

/* Past a part of a name that has no place in the list. *from: where the name
 * goes on after it, if all before is not to be in the list either. NULL: it
 * cannot be told how gcc writes what is here. */
static const char *skip_part(const char *at, const char **from)
{
	if (text_begins(at, unnamed))
		return *from = at + sizeof(unnamed) - 1;
	if (*at == ' ' || *at == '*' || *at == '&')
		return *from = at + 1;
	if (*at != '<' && *at != '[')
		return NULL;
	at = text_past_bracket(at);
	if (at && text_begins(at, "::"))
		*from = at + 2;
	return at;
}

/* Parameters and what was appended to the linker's name end the text. */
static bool is_end(const char *at)
{
	return *at == '.' || *at == '@' ||
	       (*at == '(' && !text_begins(at, unnamed));
}

bool trim_gcc_name(const struct func *f, char *to, size_t size)
{
	const char *const name = f->name;
	const char *at = name, *from = name, *end = name;

	if (f->kind != FUNC_NATIVE || text_name_next(name) ||
	    text_begins(name, "_Z"))
		return false;
	while (at && *at && !is_end(at)) {
		if (text_operator_in(name, at) > 0)
			return false;
		at = is_of_name(*at) ? (end = at + 1) : skip_part(at, &from);
	}
	/* A function in another one. */
	if (at && *at == '(' && (at = text_past_bracket(at)) &&
	    strstr(at, "::"))
		return false;
	if (!at || end <= from || (size_t)(end - from) >= size)
		return false;
	memcpy(to, from, (size_t)(end - from));
	to[end - from] = '\0';
	return true;
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
