/* plots_memory.c - memory in use over time, by the functions that took it: from
 * a second replay of the trace. SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/heap.h"

#include <math.h>

/* Moments that are looked at. */
enum { MOMENTS = 241 };

/* By function: bytes in use at each moment; and their sum. */
struct use {
	func_id func;            /* 0: outside of all functions */
	double sum, at[MOMENTS];
};

struct memory {
	struct heap heap;
	struct session *session;
	ticks from, to;
	struct use **of;         /* by function; NULL: took none */
};

static double moment(const struct memory *m, size_t i)
{
	return (double)m->from + (double)(m->to - m->from) * (double)i /
				 (MOMENTS - 1);
}

/* The first moment at that tick or later. */
static size_t moment_at(const struct memory *m, ticks at)
{
	const double part = at <= m->from ? 0 : (double)(at - m->from) /
				      (double)(m->to - m->from);

	return (size_t)ceil(fmin(part, 1.001) * (MOMENTS - 1));
}

static void add_life(void *ctx, const struct heap_life *life)
{
	const struct memory *const m = ctx;
	const func_id func = life->stack == 0 ? 0 :
		heap_taker(&m->heap, m->session->funcs, life->stack);
	const size_t end = MIN(moment_at(m, life->to), (size_t)MOMENTS);
	struct use *u = m->of[func];

	if (!u) {
		u = m->of[func] = mem_alloc(sizeof(*u));
		u->func = func;
	}
	for (size_t i = moment_at(m, life->from); i < end; i++) {
		u->at[i] += life->bytes;
		u->sum += life->bytes;
	}
}

static int compare_uses(const void *a, const void *b)
{
	const struct use *const x = *(struct use *const *)a;
	const struct use *const y = *(struct use *const *)b;

	return ORDER(y->sum, x->sum) ?: UP(func);
}

/* The functions that took memory, the largest first, at the beginning of
 * m->of. Returns how many there are. */
static size_t rank(struct memory *m, size_t funcs)
{
	size_t n = 0;

	for (size_t i = 0; i < funcs; i++)
		if (m->of[i])
			m->of[n++] = m->of[i];
	order_sort(m->of, n, compare_uses);
	return n;
}

/* One unit: the largest of which `most` has at least one. */
static double unit_of(double most, const char **name)
{
	static const char *const names[] = { "bytes", "kB", "MB", "GB", "TB" };
	double unit = 1;
	size_t i = 0;

	for (; most >= 1000 * unit && i + 1 < sizeof(names) / sizeof(*names);
	     i++)
		unit *= 1000;
	*name = names[i];
	return unit;
}

/* Uses [from, to) of the ranking, on top of what is there. */
static void add_area(struct plots *p, const struct memory *m, size_t from,
		     size_t to, double *below, double unit, size_t layer)
{
	const double tick = (p->plot.x.to - p->plot.x.from) /
			    (double)(m->to - m->from);

	for (size_t i = 0; i < MOMENTS; i++) {
		double top = below[i];

		for (size_t k = from; k < to; k++)
			top += m->of[k]->at[i] / unit;
		plots_row(p, layer, p->plot.x.from +
			  (moment(m, i) - (double)m->from) * tick, below[i],
			  top, 0);
		below[i] = top;
	}
}

static double highest(const struct memory *m, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < MOMENTS; i++) {
		double all = 0;

		for (size_t k = 0; k < count; k++)
			all += m->of[k]->at[i];
		most = fmax(most, all);
	}
	return most;
}

static void stack(struct plots *p, const struct memory *m, size_t count)
{
	const size_t rows = plots_top(p, PLOTS_COLOURS, count);
	double below[MOMENTS] = { 0 };
	const double most = highest(m, count);
	const char *name;
	const double unit = unit_of(most, &name);
	char many[OUT_NUMBER];

	for (size_t i = 0; i < rows && i < count; i++)
		add_area(p, m, i, i + 1, below, unit,
			 plots_layer(p, OUT_AREA, plots_colour(i),
				     m->of[i]->func == 0 ? "[thread]" :
				     func_get(m->session->funcs,
					      m->of[i]->func)->name));
	if (count > rows)
		add_area(p, m, rows, count, below, unit,
			 plots_layer(p, OUT_AREA, PLOTS_GREY,
				     plots_text(p, "%s more", out_number_many(
					many, count - rows, "functions"))));
	p->plot.y.to = fmax(most / unit, 1) * 1.02;
	p->plot.y.label = plots_text(p, "in use, %s", name);
}

enum cmd_exit plots_memory(struct plots *p, struct load *load)
{
	struct session *const s = load->session;
	const size_t funcs = func_count(s->funcs) + 1;
	struct memory m = { .session = s };
	uint8_t *threads;
	size_t count;

	if (!session_note(s, "heap")) {
		err_add("%s has no memory: record it with weft record --heap",
			load->path);
		return CMD_UNREADABLE;
	}
	plots_range(p, load, &m.from, &m.to);
	heap_init(&m.heap, s);
	m.of = mem_alloc(funcs * sizeof(struct use *));
	threads = filter_args_threads(s);
	if (load_again(load, &heap_sink, &m.heap) != 0) {
		heap_fini(&m.heap);
		mem_free_all(m.of, threads);
		return CMD_UNREADABLE;
	}
	heap_each(&m.heap, threads, add_life, &m);
	count = rank(&m, funcs);
	stack(p, &m, count);
	plots_title(p, load, "Memory in use, by the function that took it",
		    session_noted(s, "heap") == 0 ? "each block" :
		    "by samples of blocks");
	for (size_t i = 0; i < count; i++)
		mem_free(m.of[i]);
	heap_fini(&m.heap);
	mem_free_all(m.of, threads);
	return CMD_OK;
}
