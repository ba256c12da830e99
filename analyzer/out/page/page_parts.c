/* page_parts.c - all figures are there already; here they become arrays, in
 * which a tree of 200,000 stacks takes some 6 MB.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_parts.h"

#include "analyzer/base/mem.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/page/page_blame.h"
#include "analyzer/out/page/page_locks.h"
#include "analyzer/out/page/page_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of any text; and what parts have at most, however short it is. */
enum { TEXT = 1000, NAME = 5000, MOST_STACKS = 200000,
       MOST_COROUTINES = 50000 };

/* A long text is cut: a name so that what follows it stays, another one so that
 * its end stays. */
static void put_text(FILE *to, const char *text, size_t width, bool is_name)
{
	char *cut;

	if (strlen(text) <= width) {
		out_json_text(to, text);
		return;
	}
	cut = out_escape_terminal(text);
	cut = is_name ? out_escape_cut_name(cut, width) :
	      out_escape_cut(cut, width, true);
	out_json_text(to, cut);
	mem_free(cut);
}

/* ---- columns of numbers ------------------------------------------------- */

/* One number of element i, which counts from 0. */
typedef uint64_t (*number_fn)(const void *of, size_t i);

static void put_numbers(FILE *to, const char *before, const char *name,
			number_fn fn, const void *of, size_t count)
{
	fprintf(to, "%s\"%s\":[", before, name);
	for (size_t i = 0; i < count; i++)
		out_number_put(to, i > 0 ? "," : "", fn(of, i));
	putc(']', to);
}

/* ---- the tree ----------------------------------------------------------- */

/* The nodes of the session, and behind them those from before the change. */
static const struct fold *fold_of(const struct page_parts *s, size_t *i,
				  bool *gone)
{
	const size_t first = cct_count(s->fold->tree);

	*gone = *i >= first;
	if (!*gone)
		return s->fold;
	*i -= first;
	return s->fold_before;
}

static uint64_t whole(double bytes)
{
	return bytes > 0 ? (uint64_t)(fmin(bytes, 1e18) + 0.5) : 0;
}

/* A getter of a node's number: node_parent and so on. Its value is made from
 * the fold f, the node n with its id, and whether it is from before. */
#define NODE(name, value) \
	static uint64_t node_##name(const void *of, size_t i) \
	{ \
		const struct page_parts *const s = of; \
		bool gone; \
		const struct fold *const f = fold_of(s, &i, &gone); \
		const node_id id = (node_id)(i + 1); \
		const struct cct_node *const n = cct_get(f->tree, id); \
\
		(void)n; \
		return value; \
	}
NODE(parent, n->parent == 0 || !gone ? n->parent :
	     n->parent + cct_count(s->fold->tree))
/* A root has its thread's number in place of a function's. */
NODE(func, n->parent == 0 ? n->thread +
	   (gone ? s->page->session->thread_count + 1 : 0) :
	   gone ? s->numbers.of[n->func] : n->func)
NODE(flags, n->flags & CCT_SHAPE)
NODE(calls, gone ? 0 : n->calls)
NODE(self, gone ? 0 : n->self)
NODE(suspended, gone ? 0 : n->suspended)
NODE(off, gone ? 0 : cct_cpu_of(f->tree, id).off)
NODE(ready, gone ? 0 : cct_cpu_of(f->tree, id).ready)
NODE(unknown, gone ? 0 : cct_cpu_of(f->tree, id).unknown)
NODE(raw, gone ? 0 : cct_sampled_of(f->tree, id)->raw)
NODE(allocated, gone ? 0 : whole(cct_heap_of(f->tree, id).taken.bytes))
NODE(in_use, gone ? 0 : whole(cct_heap_of(f->tree, id).in_use.bytes))
NODE(stacks, f->stacks[id])
NODE(before, gone ? n->self : 0)
NODE(calls_before, gone ? n->calls : 0)

/* Stacks that are in an "(other)", of both sides. */
static size_t stacks_folded(const struct page_parts *s)
{
	return s->fold->folded + (s->fold_before ? s->fold_before->folded : 0);
}

/* Node i of the arrays has the number i + 1; 0 is above all roots. */
static void put_nodes(FILE *to, const struct page_parts *s)
{
	const struct cct *const t = s->fold->tree;
	const bool is_diff = s->fold_before != NULL;
	const size_t count = cct_count(t) +
		(is_diff ? cct_count(s->fold_before->tree) : 0);

	fputs(",\n\"nodes\":{", to);
	put_numbers(to, "", "parent", node_parent, s, count);
	put_numbers(to, ",\n", "func", node_func, s, count);
	put_numbers(to, ",\n", "flags", node_flags, s, count);
	put_numbers(to, ",\n", "calls", node_calls, s, count);
	put_numbers(to, ",\n", "self", node_self, s, count);
	put_numbers(to, ",\n", "suspended", node_suspended, s, count);
	if (cct_has_cpu(t)) {
		put_numbers(to, ",\n", "off", node_off, s, count);
		put_numbers(to, ",\n", "ready", node_ready, s, count);
		put_numbers(to, ",\n", "unknown", node_unknown, s, count);
	}
	if (cct_is_net(t))
		put_numbers(to, ",\n", "raw", node_raw, s, count);
	if (cct_has_heap(t)) {
		put_numbers(to, ",\n", "allocated", node_allocated, s, count);
		put_numbers(to, ",\n", "in_use", node_in_use, s, count);
	}
	if (stacks_folded(s) > 0)
		put_numbers(to, ",\n", "stacks", node_stacks, s, count);
	if (is_diff) {
		put_numbers(to, ",\n", "before", node_before, s, count);
		put_numbers(to, ",\n", "calls_before", node_calls_before, s,
			    count);
	}
	putc('}', to);
}

/* ---- functions, and who calls whom -------------------------------------- */

/* A function's text or number, by a metric of flat_views that takes no more
 * than its id; NULL: its name. The table's own name is that of its row's
 * group. */
static void put_function(FILE *to, struct session *s, const struct metric *m,
			 func_id id, size_t width)
{
	const struct metric_source source = { .session = s };
	const struct figures row = { .func = id };
	struct metric_value v;

	if (m)
		metric_get(m, &source, &row, &v);
	if (!m)
		put_text(to, func_get(s->funcs, id)->name, width, true);
	else if (m->unit == METRIC_TEXT)
		put_text(to, v.text, width, false);
	else
		out_number_put(to, "", v.count);
}

/* Those of the session, and behind them those that are only before. */
static size_t numbers_of(const struct page_parts *s)
{
	return func_count(s->page->session->funcs) + s->numbers.gone_count;
}

/* Does number i + 1 have a name? */
static bool is_named(const struct page_parts *s, size_t i)
{
	const size_t count = func_count(s->page->session->funcs);

	return !s->named || (i < count ? s->named[i + 1] : i - count +
			     s->page->flat->count < s->most[PAGE_FUNCTIONS]);
}

/* A column of the functions that have names. */
static void put_function_column(FILE *to, const struct page_parts *s,
				const struct metric *m)
{
	const struct page *const p = s->page;
	const size_t count = func_count(p->session->funcs);
	const char *between = "";

	for (size_t i = 0; i < numbers_of(s); i++) {
		if (!is_named(s, i))
			continue;
		fputs(between, to);
		if (i < count)
			put_function(to, p->session, m, (func_id)(i + 1),
				     s->width);
		else
			put_function(to, p->before->session, m,
				     s->numbers.gone[i - count], s->width);
		between = ",";
	}
}

/* Which functions have names, if not all: each one's distance to the one
 * before. */
static void put_named(FILE *to, const struct page_parts *s)
{
	const char *between = "";
	size_t last = 0;

	if (!s->named)
		return;
	fputs("\"steps\":[", to);
	for (size_t i = 0; i < numbers_of(s); i++) {
		if (!is_named(s, i))
			continue;
		out_number_put(to, between, i + 1 - last);
		last = i + 1;
		between = ",";
	}
	fputs("],\n", to);
}

/* Function i of the arrays has the number i + 1, or that of the steps; 0 is
 * none. */
static void put_functions(FILE *to, const struct page_parts *p)
{
	static const char *const names[] = { "name", "language", "module",
					     "file", "line" };

	fprintf(to, ",\n\"functions\":{\"count\":%zu,\n", numbers_of(p));
	put_named(to, p);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fprintf(to, "%s\"%s\":[", i > 0 ? ",\n" : "", names[i]);
		put_function_column(to, p, i == 0 ? NULL :
			metric_find(&flat_views[METRIC_BY_TIME], names[i]));
		putc(']', to);
	}
	putc('}', to);
}

#define ARC(name, value) \
	static uint64_t arc_##name(const void *of, size_t i) \
	{ \
		const struct page_parts *const s = of; \
		const struct callers_arc *const a = \
			&s->page->callers->arcs[s->arcs[i]]; \
\
		return value; \
	}
ARC(from, a->from)
ARC(to, a->of.func)
ARC(resumes, a->resumes)
ARC(calls, a->of.calls)
ARC(self, a->of.self)
ARC(total, a->of.total)
ARC(total_of, a->there.total)
ARC(suspended, a->of.suspended)

/* As struct callers_arc says: total is the callee's, total_of the caller's. */
static void put_arcs(FILE *to, const struct page_parts *p)
{
	const size_t n = p->most[PAGE_ARCS];

	fputs(",\n\"arcs\":{", to);
	put_numbers(to, "", "from", arc_from, p, n);
	put_numbers(to, ",\n", "to", arc_to, p, n);
	put_numbers(to, ",\n", "resumes", arc_resumes, p, n);
	put_numbers(to, ",\n", "calls", arc_calls, p, n);
	put_numbers(to, ",\n", "self", arc_self, p, n);
	put_numbers(to, ",\n", "total", arc_total, p, n);
	put_numbers(to, ",\n", "total_of", arc_total_of, p, n);
	put_numbers(to, ",\n", "suspended", arc_suspended, p, n);
	putc('}', to);
}

/* ---- tables -------------------------------------------------------------- */

static void put_rows(FILE *to, const struct page_parts *s)
{
	const struct page *const p = s->page;
	const unsigned lacks = METRIC_OF_THREAD |
		(p->flat->has_switches ? 0u : METRIC_SWITCHES) |
		(p->flat->has_quantiles ? 0u : METRIC_QUANTILE) |
		(cct_is_net(p->session->cct) ? 0u : METRIC_NET) |
		(cct_has_heap(p->session->cct) ? 0u : METRIC_HEAP);

	fputs(",\n\"table\":", to);
	page_table_put(to, &(struct page_table){
		flat_views[METRIC_BY_TIME].metrics, {
			p->session, p->flat, p->flat->has_switches }, lacks,
		p->flat->rows, s->most[PAGE_ROWS], sizeof(*p->flat->rows) });
}

static void put_coroutines(FILE *to, const struct page_parts *s)
{
	fputs(",\n\"coroutines\":", to);
	page_table_put(to, &(struct page_table){
		coroutine_view.metrics, { s->page->session, NULL, false },
		METRIC_REREAD | METRIC_HEAP, s->page->coroutines,
		s->most[PAGE_COROUTINES], sizeof(*s->page->coroutines) });
}

static void put_bodies(FILE *to, const struct page_parts *s)
{
	fputs(",\n\"bodies\":", to);
	page_table_put(to, &(struct page_table){
		coroutine_group_view.metrics, { s->page->session, NULL, false },
		0, s->page->bodies, s->most[PAGE_BODIES],
		sizeof(*s->page->bodies) });
}

/* ---- what stands on top -------------------------------------------------- */

/* Texts with commas between them, one for each line. */
static void put_lines(FILE *to, const char *lines)
{
	for (const char *line = lines, *end; *line != '\0'; line = end) {
		const size_t length = strcspn(line, "\n");
		char text[2200];

		end = line + length + (line[length] == '\n');
		snprintf(text, sizeof(text), "%.*s", (int)length, line);
		if (line != lines)
			putc(',', to);
		out_json_text(to, text);
	}
}

/* What is missing on the page, but for stacks and coroutines, whose parts of
 * the page say it themselves. */
static void put_lacks(FILE *to, const struct page_parts *s)
{
	static const char *const nouns[PAGE_PARTS] = {
		[PAGE_FUNCTIONS] = "names of functions",
		[PAGE_ROWS] = "rows of the table of functions",
		[PAGE_BODIES] = "bodies of coroutines",
		[PAGE_ARCS] = "callers and callees",
		[PAGE_LANES] = "lanes of the time line",
		[PAGE_CALLS] = "slow calls",
		[PAGE_SLEEPS] = "places where coroutines sleep",
		[PAGE_CHANGES] = "changes"
	};
	const char *between = "";
	char of[OUT_NUMBER], lacks[OUT_NUMBER], text[4 * OUT_NUMBER];

	for (enum page_part i = 0; i < PAGE_PARTS; i++) {
		if (!nouns[i] || s->most[i] >= s->has[i])
			continue;
		snprintf(text, sizeof(text), "%s of %s", out_number_count(lacks,
			s->has[i] - s->most[i]),
			out_number_many(of, s->has[i], nouns[i]));
		fputs(between, to);
		out_json_text(to, text);
		between = ",";
	}
}

static void put_meta(FILE *to, const struct page_parts *parts)
{
	const struct page *const p = parts->page;
	const struct session *const s = p->session;
	const char *const command = session_note(s, "command");

	fputs("{\"meta\":{\"title\":", to);
	put_text(to, p->title, TEXT, true);
	fputs(",\"command\":", to);
	put_text(to, command ? command : "", TEXT, false);
	fprintf(to, ",\"tick_hz\":%" PRIu64 ",\"net\":%s,\"switches\":%s,"
		"\"times\":%s,\"folded\":%zu,\"coroutines\":%zu,\"head\":[",
		s->tick_hz, cct_is_net(s->cct) ? "true" : "false",
		p->flat->has_switches ? "true" : "false",
		session_has_times(s) ? "true" : "false",
		stacks_folded(parts), s->coroutine_count);
	put_lines(to, p->head);
	fputs("],\"before\":[", to);
	put_lines(to, p->before ? p->before->head : "");
	fputs("],\"lacks\":[", to);
	put_lacks(to, parts);
	fputs("]}", to);
}

/* The names of threads that have stacks, and of what stands for the rest. */
static void put_threads_of(FILE *to, const struct session *s,
			   const struct fold *f)
{
	char name[GROUP_NAME];

	for (uint32_t i = 0; i < s->thread_count; i++) {
		put_text(to, f->has_thread[i] ?
			 group_name_thread(s, i, name) : "", TEXT, true);
		putc(',', to);
	}
	fputs("\"(other threads)\"", to);
}

static void put_threads(FILE *to, const struct page_parts *s)
{
	fputs(",\n\"threads\":[", to);
	put_threads_of(to, s->page->session, s->fold);
	if (s->page->before) {
		putc(',', to);
		put_threads_of(to, s->page->before->session, s->fold_before);
	}
	putc(']', to);
}

/* ---- the parts ----------------------------------------------------------- */

static void put_rest(FILE *to, const struct page_parts *s)
{
	put_meta(to, s);
	put_threads(to, s);
}

static uint64_t memory_of(const void *of, size_t i)
{
	return whole(((const struct page_memory *)of)->most[i]);
}

static void put_lanes(FILE *to, const struct page_parts *s)
{
	const struct page_memory *const m = s->page->memory;

	if (!s->page->moments)
		return;
	fputs(",\n\"timeline\":", to);
	page_moments_put_lanes(to, s->page->session, s->page->moments,
			       s->lane_number);
	page_blame_put(to, s->page, s->lane_number);
	if (m) {
		fprintf(to, ",\n\"mean\":%" PRIu64, m->mean);
		put_numbers(to, ",\n", "memory", memory_of, m, m->parts);
	}
	putc('}', to);
}

static void put_calls(FILE *to, const struct page_parts *s)
{
	if (!s->page->calls)
		return;
	fputs(",\n\"calls\":", to);
	page_moments_put_calls(to, s->page->calls, s->most[PAGE_CALLS]);
}

static void put_sleeps(FILE *to, const struct page_parts *s)
{
	if (!s->page->sleeps)
		return;
	fputs(",\n\"sleeps\":", to);
	page_moments_put_sleeps(to, s->page->sleeps, s->sleeps,
				s->most[PAGE_SLEEPS], s->page->moments->from);
}

static void put_locks(FILE *to, const struct page_parts *s)
{
	if (!s->page->locks || s->page->locks->count == 0)
		return;
	fputs(",\n\"locks\":", to);
	page_locks_put(to, s->page->locks, s->page->session,
		       s->most[PAGE_LOCKS], s->page->moments->from);
}

static void put_changes(FILE *to, const struct page_parts *s)
{
	if (!s->page->before)
		return;
	fputs(",\n\"diff\":", to);
	page_diff_put(to, s->page->before, s->page->session, &s->numbers,
		      s->most[PAGE_CHANGES]);
}

void page_parts_put(FILE *to, const struct page_parts *s, enum page_part part)
{
	static void (*const put[PAGE_PARTS])(FILE *,
					     const struct page_parts *) = {
		[PAGE_REST] = put_rest, [PAGE_FUNCTIONS] = put_functions,
		[PAGE_STACKS] = put_nodes, [PAGE_ROWS] = put_rows,
		[PAGE_COROUTINES] = put_coroutines, [PAGE_BODIES] = put_bodies,
		[PAGE_ARCS] = put_arcs, [PAGE_LANES] = put_lanes,
		[PAGE_CALLS] = put_calls, [PAGE_SLEEPS] = put_sleeps,
		[PAGE_LOCKS] = put_locks, [PAGE_CHANGES] = put_changes
	};

	put[part](to, s);
}

/* ---- limits -------------------------------------------------------------- */

/* Those of the first rows of the table, then those that are only before; and
 * what is no function of the program's, such as "(other)". */
static void name_functions(struct page_parts *s)
{
	const struct flat *const flat = s->page->flat;
	struct func_table *const funcs = s->page->session->funcs;
	const size_t most = s->most[PAGE_FUNCTIONS];

	mem_free(s->named);
	s->named = NULL;
	if (most >= s->has[PAGE_FUNCTIONS])
		return;
	s->named = mem_alloc(func_count(funcs) + 1);
	for (func_id id = 1; id <= func_count(funcs); id++)
		s->named[id] = func_get(funcs, id)->kind == FUNC_SPECIAL;
	for (size_t i = 0; i < flat->count && i < most; i++)
		s->named[flat->rows[i].f.func] = 1;
}

static void fold_stacks(struct page_parts *s)
{
	const struct page_before *const before = s->page->before;

	fold_free(s->fold);
	fold_free(s->fold_before);
	s->fold = fold_new(s->page->session, s->most[PAGE_STACKS]);
	s->fold_before = !before ? NULL :
		fold_new(before->session, s->most[PAGE_STACKS]);
}

/* Those that are written have numbers in the time line's own order. */
static void number_lanes(struct page_parts *s)
{
	uint32_t number = 0;

	for (size_t i = 0; i < s->has[PAGE_LANES]; i++)
		s->lane_number[s->lanes[i]] = i < s->most[PAGE_LANES];
	for (size_t i = 0; i < s->has[PAGE_LANES]; i++)
		if (s->lane_number[i] != 0)
			s->lane_number[i] = ++number;
}

void page_parts_limit(struct page_parts *s, enum page_part part, size_t most)
{
	s->most[part] = most;
	if (part == PAGE_FUNCTIONS)
		name_functions(s);
	else if (part == PAGE_STACKS)
		fold_stacks(s);
	else if (part == PAGE_LANES)
		number_lanes(s);
}

/* For qsort_r: by falling weight, then by index. ctx: the struct page. */
typedef ticks (*weight_fn)(const struct page *, uint32_t index);
struct order { const struct page *page; weight_fn weight; };

static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *const o = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const ticks left = o->weight(o->page, x);
	const ticks right = o->weight(o->page, y);

	return left != right ? (left > right ? -1 : 1) : x < y ? -1 : x > y;
}

/* The indices of `count` elements; the caller frees them. */
static uint32_t *sorted(const struct page *p, size_t count, weight_fn weight)
{
	uint32_t *const to = mem_alloc((count + 1) * sizeof(*to));

	for (size_t i = 0; i < count; i++)
		to[i] = (uint32_t)i;
	qsort_r(to, count, sizeof(*to), compare, &(struct order){ p, weight });
	return to;
}

static ticks weigh_arc(const struct page *p, uint32_t i)
{
	const struct figures *const of = &p->callers->arcs[i].of;

	return session_has_times(p->session) ? of->total : of->calls;
}
static ticks weigh_lane(const struct page *p, uint32_t i)
{
	return p->moments->tracks[i].active;
}
static ticks weigh_sleep(const struct page *p, uint32_t i)
{
	return p->sleeps->list[i].sum;
}

void page_parts_init(struct page_parts *s, const struct page *p)
{
	const size_t stacks = cct_count(p->session->cct) +
		(p->before ? cct_count(p->before->session->cct) : 0);

	*s = (struct page_parts){ .page = p, .width = NAME };
	page_numbers_init(&s->numbers, p->session, p->before);
	memcpy(s->has, (size_t[PAGE_PARTS]){
		[PAGE_FUNCTIONS] = p->flat->count + s->numbers.gone_count,
		[PAGE_STACKS] = stacks, [PAGE_ROWS] = p->flat->count,
		[PAGE_COROUTINES] = p->coroutine_count,
		[PAGE_BODIES] = p->body_count,
		[PAGE_ARCS] = p->callers->arc_count,
		[PAGE_LANES] = p->moments ? p->moments->count : 0,
		[PAGE_CALLS] = p->calls ? p->calls->found->count : 0,
		[PAGE_SLEEPS] = p->sleeps ? p->sleeps->count : 0,
		[PAGE_LOCKS] = p->locks ? p->locks->count : 0,
		[PAGE_CHANGES] = p->before ? p->before->diff->count : 0 },
	       sizeof(s->has));
	s->arcs = sorted(p, s->has[PAGE_ARCS], weigh_arc);
	s->lanes = sorted(p, s->has[PAGE_LANES], weigh_lane);
	s->sleeps = sorted(p, s->has[PAGE_SLEEPS], weigh_sleep);
	s->lane_number = mem_alloc((s->has[PAGE_LANES] + 1) *
				   sizeof(*s->lane_number));
	for (enum page_part i = 0; i < PAGE_PARTS; i++)
		page_parts_limit(s, i, i == PAGE_STACKS ? MOST_STACKS :
			i == PAGE_COROUTINES && s->has[i] > MOST_COROUTINES ?
			MOST_COROUTINES : s->has[i]);
}

void page_parts_fini(struct page_parts *s)
{
	page_numbers_fini(&s->numbers);
	fold_free(s->fold);
	fold_free(s->fold_before);
	mem_free(s->named);
	mem_free(s->arcs);
	mem_free(s->sleeps);
	mem_free(s->lanes);
	mem_free(s->lane_number);
}
