/* trim.c - which functions a recording could do without, from the flat table.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/trim.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"

#include <assert.h>
#include <ctype.h>
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

/* ---- names for gcc ------------------------------------------------------ */

/* May the character be in a name with its scopes? A part after a dot is what
 * gcc itself appends: "f.part.0". */
static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_:~", c));
}

/* Where the template's values before `end` begin, or end if there are none. */
static size_t before_values(const char *name, size_t end)
{
	size_t depth = 0, i = end;

	if (end == 0 || name[end - 1] != '>')
		return end;
	do {
		i--;
		if (name[i] == '>')
			depth++;
		else if (name[i] == '<')
			depth--;
	} while (i > 0 && depth > 0);
	return i;
}

/* Where the name with its scopes begins, for the last parts of which gcc has
 * the same text, and ends: gcc writes {anonymous}. */
static const char *in_unnamed_space(const char *name, size_t *end)
{
	static const char unnamed[] = "(anonymous namespace)";

	for (;;) {
		*end = strcspn(name, "(");
		if (strncmp(name + *end, unnamed, sizeof(unnamed) - 1) != 0)
			return name;
		name += *end + sizeof(unnamed) - 1;
		name += strspn(name, ":");
	}
}

/* gcc compares with the name and its scopes, without parameters. Of a template
 * it has the parameters' names where we have their values: only the last part
 * is the same in both. All operators of a class would be found by the text
 * before their "(". */
bool trim_gcc_name(const struct func *f, char *to, size_t size)
{
	size_t begin = 0, end;
	const char *const name = in_unnamed_space(f->name, &end);

	if (f->kind != FUNC_NATIVE)
		return false;
	if (end > strcspn(name, "."))
		end = strcspn(name, ".");
	if (memchr(name, '<', end)) {
		end = before_values(name, end);
		for (begin = end; begin > 0 && name[begin - 1] != ':' &&
		     is_of_name(name[begin - 1]); )
			begin--;
	}
	for (size_t i = begin; i < end; i++)
		if (!is_of_name(name[i]))
			return false;
	if (begin == end || end - begin >= size)
		return false;
	memcpy(to, name + begin, end - begin);
	to[end - begin] = '\0';
	return !strstr(to, "operator");
}

/* Does gcc find the text in this function's name? */
enum found { NOT_FOUND, PERHAPS_FOUND, FOUND };

/* It has no values of templates, and no type before the name. */
static enum found found_in(const struct func *f, const char *text)
{
	size_t depth = 0, end, size = strlen(text);
	const char *const last = in_unnamed_space(f->name, &end);
	enum found found = NOT_FOUND;

	if (f->kind != FUNC_NATIVE || !strstr(f->name, text))
		return NOT_FOUND;
	for (const char *at = f->name; at + size <= last + end; at++) {
		if (strncmp(at, text, size) == 0 && found == NOT_FOUND)
			found = depth == 0 ? FOUND : PERHAPS_FOUND;
		else if (strncmp(at, text, size) == 0 && depth == 0)
			found = FOUND;
		depth += *at == '<';
		depth -= *at == '>' && depth > 0;
		if (*at == ' ' && depth == 0 && found != NOT_FOUND)
			found = PERHAPS_FOUND;
	}
	return found == FOUND && strstr(f->name, "operator") ? PERHAPS_FOUND :
	       found;
}

/* ---- the list for gcc --------------------------------------------------- */

/* A name that may be listed, and the time of what goes with it alone. */
struct choice {
	struct trim_row *row;
	double loss;
};

static const struct func *func_of(const struct trim *t,
				  const struct trim_row *r)
{
	return func_get(t->session->funcs, r->f.func);
}

/* The ticks of the kept functions that gcc would find, and that do not go
 * already: with their callees, since their place in the tree is lost. Infinite
 * if it is not known what gcc finds. *other: the one that took most. */
static double loss_of(const struct trim *t, const char *text, func_id *other)
{
	double sum = 0, most = -1;

	for (size_t i = 0; i < t->kept_count; i++) {
		const struct trim_row *const k = &t->kept[i];
		const enum found found = k->gcc == TRIM_FOUND ? NOT_FOUND :
					 found_in(func_of(t, k), text);
		const double total = found == PERHAPS_FOUND ? INFINITY :
				     k->mean * (double)k->f.calls;

		if (found == NOT_FOUND)
			continue;
		sum += total;
		if (total > most) {
			most = total;
			*other = k->f.func;
		}
	}
	return sum;
}

/* Those that save most calls for what goes with them come first. */
static int by_worth(const void *a, const void *b)
{
	const struct choice *const x = a, *const y = b;
	const double for_x = x->loss / (double)x->row->f.calls;
	const double for_y = y->loss / (double)y->row->f.calls;

	if (for_x < for_y || for_x > for_y)
		return for_x < for_y ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void mark_found(const struct trim *t, struct trim_row *rows,
		       size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (found_in(func_of(t, &rows[i]), text) == FOUND)
			rows[i].gcc = TRIM_FOUND;
}

static size_t find_choices(struct trim *t, struct choice *to)
{
	char name[TRIM_NAME];
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct trim_row *const r = &t->rows[i];

		r->gcc = TRIM_UNNAMED;
		if (trim_gcc_name(func_of(t, r), name, sizeof(name)))
			to[count++] = (struct choice){
				r, loss_of(t, name, &r->other) };
	}
	qsort(to, count, sizeof(*to), by_worth);
	return count;
}

void trim_choose_gcc(struct trim *t, double most)
{
	struct choice *const choices = mem_grow(NULL, t->count + 1,
						sizeof(*choices));
	const size_t count = find_choices(t, choices);
	double room = most * (double)t->all_net;
	char name[TRIM_NAME];

	for (size_t i = 0; i < count; i++) {
		struct trim_row *const r = choices[i].row;
		double loss;

		if (r->gcc == TRIM_FOUND)
			continue;
		trim_gcc_name(func_of(t, r), name, sizeof(name));
		loss = loss_of(t, name, &r->other);
		r->gcc = TRIM_COSTLY;
		if (loss > 0 && loss > room)
			continue;
		room -= loss;
		mark_found(t, t->kept, t->kept_count, name);
		mark_found(t, t->rows, t->count, name);
		r->gcc = TRIM_LISTED;
	}
	mem_free(choices);
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
