/* plots_memory.c - memory in use over time, by the functions that took it, and
 * the cycles of Lua's collectors: from a second replay of the trace.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/out/out_number.h"
#include "analyzer/replay/tee.h"
#include "analyzer/watch/heap.h"
#include "analyzer/watch/vm_memory.h"

#include <math.h>

/* Moments that are looked at; and how many marks may stand side by side. */
enum { MOMENTS = 241, MARKS = 800, COLLECTED = 0x202020 };

/* By function: bytes in use at each moment; and their sum. */
struct use {
	func_id func;            /* 0: outside of all functions */
	double sum, at[MOMENTS];
};

struct memory {
	struct heap heap;
	struct vm_memory vms;
	struct session *session;
	ticks from, to;
	ticks moment[MOMENTS];   /* rising; one is when most is in use, */
	double most;             /* and that is how much */
	struct use **of;         /* by function; NULL: took none */
};

static void choose_moments(struct memory *m, const uint8_t *threads)
{
	const double step = (double)(m->to - m->from) / (MOMENTS - 1);
	struct heap_table t;

	for (size_t i = 0; i < MOMENTS; i++)
		m->moment[i] = m->from + (ticks)(step * (double)i);
	heap_sum_up(&m->heap, threads, m->from, m->to, &t);
	m->most = t.most.bytes;
	if (t.most_at > m->from && t.most_at < m->to)
		m->moment[(size_t)((double)(t.most_at - m->from) / step +
				   0.5)] = t.most_at;
	mem_free(t.rows);
}

/* The first moment at that tick or later. */
static size_t moment_at(const struct memory *m, ticks at)
{
	size_t from = 0, to = MOMENTS;

	while (from < to) {
		const size_t i = (from + to) / 2;

		if (m->moment[i] >= at)
			to = i;
		else
			from = i + 1;
	}
	return from;
}

static void add_life(void *ctx, const struct heap_life *life)
{
	const struct memory *const m = ctx;
	const func_id func = life->stack == 0 ? 0 :
		heap_taker(&m->heap, m->session->funcs, life->stack);
	const size_t end = moment_at(m, life->to);
	struct use *u = m->of[func];

	if (!u) {
		u = m->of[func] = mem_alloc(sizeof(*u));
		u->func = func;
	}
	for (size_t i = moment_at(m, life->from); i < end; i++) {
		u->at[i] += life->is.bytes;
		u->sum += life->is.bytes;
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

static double place(const struct plots *p, const struct memory *m, ticks at)
{
	return p->plot.x.from + (p->plot.x.to - p->plot.x.from) *
	       (double)(at - m->from) / (double)(m->to - m->from);
}

/* Uses [from, to) of the ranking, on top of what is there. */
static void add_area(struct plots *p, const struct memory *m, size_t from,
		     size_t to, double *below, double unit, size_t layer)
{
	for (size_t i = 0; i < MOMENTS; i++) {
		double top = below[i];

		for (size_t k = from; k < to; k++)
			top += m->of[k]->at[i] / unit;
		plots_row(p, layer, place(p, m, m->moment[i]), below[i], top,
			  0);
		below[i] = top;
	}
}

/* Above all that is in use: marks of cycles. Those that would be one are. */
static void mark_cycles(struct plots *p, const struct memory *m)
{
	const double wide = (p->plot.x.to - p->plot.x.from) / MARKS;
	bool marked[MARKS] = { false };
	size_t count = 0, layer;
	char many[OUT_NUMBER];

	for (size_t i = 0; i < m->vms.cycle_count; i++) {
		const ticks at = m->vms.cycles[i].at;

		if (at < m->from || at >= m->to)
			continue;
		marked[MIN((size_t)((double)(at - m->from) /
				    (double)(m->to - m->from) * MARKS),
			   (size_t)MARKS - 1)] = true;
		count++;
	}
	if (count == 0)
		return;
	layer = plots_layer(p, OUT_BOX, COLLECTED, plots_text(p,
		"a cycle of a Lua collector ends (%s seen)",
		out_number_count(many, count)));
	for (size_t i = 0; i < MARKS; i++)
		if (marked[i])
			plots_row(p, layer, p->plot.x.from + (double)i * wide,
				  p->plot.x.from + (double)(i + 1) * wide,
				  p->plot.y.to, p->plot.y.to * 1.03);
	p->plot.y.to *= 1.04;
}

static void stack(struct plots *p, const struct memory *m, size_t count)
{
	const size_t rows = plots_top(p, PLOTS_COLOURS, count);
	double below[MOMENTS] = { 0 };
	const char *name;
	const double unit = unit_of(m->most, &name);
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
	p->plot.y.to = fmax(m->most / unit, 1) * 1.02;
	p->plot.y.label = plots_text(p, "in use, %s", name);
	mark_cycles(p, m);
}

static int read_memory(struct memory *m, struct load *load)
{
	struct tee tee = { .count = 0 };

	heap_init(&m->heap, m->session);
	vm_memory_init(&m->vms);
	tee_add(&tee, &heap_sink, &m->heap);
	tee_add(&tee, &vm_memory_sink, &m->vms);
	return load_again(load, &tee.sink, &tee);
}

static void draw(struct plots *p, struct load *load, struct memory *m)
{
	struct session *const s = m->session;
	uint8_t *const threads = filter_args_threads(s);
	char most[OUT_NUMBER];
	size_t count;

	choose_moments(m, threads);
	heap_each(&m->heap, threads, add_life, m);
	count = rank(m, func_count(s->funcs) + 1);
	stack(p, m, count);
	plots_title(p, load, "Memory in use, by the function that took it",
		    plots_text(p, "at most %s; %s",
			       out_number_bytes(most,
						(uint64_t)fmin(m->most, 1e18)),
			       session_noted(s, "heap") == 0 ? "each block" :
			       "by samples of blocks"));
	for (size_t i = 0; i < count; i++)
		mem_free(m->of[i]);
	mem_free(threads);
}

enum cmd_exit plots_memory(struct plots *p, struct load *load)
{
	struct session *const s = load->session;
	enum cmd_exit status = CMD_UNREADABLE;
	struct memory m = { .session = s };

	if (!session_note(s, "heap")) {
		err_add("%s has no memory: record it with weft record --heap",
			load->path);
		return CMD_UNREADABLE;
	}
	plots_range(p, load, &m.from, &m.to);
	m.of = mem_alloc((func_count(s->funcs) + 1) * sizeof(struct use *));
	if (read_memory(&m, load) == 0) {
		draw(p, load, &m);
		status = CMD_OK;
	}
	heap_fini(&m.heap);
	vm_memory_fini(&m.vms);
	mem_free(m.of);
	return status;
}
