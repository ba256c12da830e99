/* slow_print.c - how long a function's calls took, and the slowest of them one
 * by one.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/slow_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/load/header.h"
#include "analyzer/cmd/hot_path_print.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/base/vec.h"

#include <inttypes.h>
#include <string.h>

enum { BAR = 40, OCTAVES = HIST_STEPS / 8 };

/* As enum slow_end. */
static const char *const ends[] = {
	"returned", "unwound", "died", "cut", "open"
};

static double ns_of(const struct load *load, ticks t)
{
	return (double)session_ns(load->session, t);
}

/* --- histogram --------------------------------------------------------- */

static ticks octave_begin(size_t i)
{
	return i == 0 ? 0 : (ticks)8 << (i - 1);
}

static void print_octave(const struct load *load, size_t i, uint64_t count,
			 uint64_t most)
{
	static const char bar[] = "########################################";
	char low[OUT_NUMBER], high[OUT_NUMBER], many[OUT_NUMBER];
	const double share = (double)count / (double)most;
	const int length = count == 0 ? 0 : 1 + (int)(share * (BAR - 1));

	printf("%10s ..%10s %12s  %.*s\n",
	       out_number_time(low, ns_of(load, octave_begin(i))),
	       out_number_time(high, ns_of(load, octave_begin(i + 1))),
	       out_number_count(many, count), length, bar);
}

static void print_octaves(const struct load *load,
			  const struct slow_found *found)
{
	uint64_t count[OCTAVES] = { 0 }, most = 1;
	size_t first = OCTAVES, last = 0;

	for (size_t i = 0; i < HIST_STEPS; i++)
		count[i / 8] += found->steps[i];
	for (size_t i = 0; i < OCTAVES; i++) {
		if (count[i] == 0)
			continue;
		first = first == OCTAVES ? i : first;
		last = i;
		most = count[i] > most ? count[i] : most;
	}
	for (size_t i = first; i <= last && i + 1 < OCTAVES; i++)
		print_octave(load, i, count[i], most);
}

static const char *quantile(const struct load *load,
			    const struct slow_found *f, unsigned part,
			    char *to)
{
	return out_number_time(to, ns_of(load, hist_quantile(f->steps,
			       f->ended, part, f->least, f->most)));
}

static void print_all(const struct load *load, const struct slow_found *f,
		      const struct slow_print *how)
{
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER], d[OUT_NUMBER];
	char *const pattern = out_escape_terminal(how->pattern);

	printf("%s: %s", pattern, out_number_many(a, f->ended, "calls"));
	mem_free(pattern);
	if (how->functions > 1)
		printf(" of %s", out_number_many(a, how->functions,
						 "functions"));
	if (f->ended > 0)
		printf(", average %s", out_number_time(a,
		       (double)f->sum * 1e9 / (double)load->session->tick_hz /
		       (double)f->ended));
	putchar('\n');
	if (f->ended > 0) {
		printf("p50 %s, p95 %s, p99 %s (within 6%%), max %s\n\n",
		       quantile(load, f, 500, a), quantile(load, f, 950, b),
		       quantile(load, f, 990, c),
		       out_number_time(d, ns_of(load, f->most)));
		print_octaves(load, f);
	}
	if (f->open > 0)
		printf("%s open at the end or where records are missing: in "
		       "the list below, not above\n",
		       out_number_many(a, f->open, "calls"));
	if (f->unknown > 0)
		printf("%s open since before the recording saw it: in "
		       "neither\n", out_number_many(a, f->unknown, "calls"));
}

/* --- one call ---------------------------------------------------------- */

static stack_id *frames_of(const struct slow_found *found,
			   const struct slow_call *c, size_t *n)
{
	stack_id *ids, id = c->stack;

	*n = stack_table_depth(found->stacks, id);
	ids = mem_alloc((*n + 1) * sizeof(*ids));
	for (size_t i = *n; i-- > 0; id = stack_table_get(found->stacks,
							  id)->below)
		ids[i] = id;
	return ids;
}

static const char *frame_name(const struct load *load,
			      const struct stack_frame *f, char room[48])
{
	if (f->flags & STACK_OMITTED) {
		snprintf(room, 48, "[%" PRIu32 " frames]", f->func);
		return room;
	}
	return f->func == 0 ? "[open before start]" :
	       func_get(load->session->funcs, f->func)->name;
}

static const struct func *func_of(const struct load *load,
				  const struct stack_frame *f)
{
	return f->func == 0 || (f->flags & STACK_OMITTED) ? NULL :
	       func_get(load->session->funcs, f->func);
}

/* A native frame with Lua's directly on top. */
static int enters_lua(const struct func *f, const struct func *on_top)
{
	return f && on_top && on_top->kind == FUNC_LUA &&
	       (f->kind == FUNC_NATIVE || f->kind == FUNC_CODE);
}

static void print_stack(const struct load *load,
			const struct slow_found *found,
			const struct slow_call *c, size_t most)
{
	size_t n, from = 0;
	stack_id *const ids = frames_of(found, c, &n);

	if (most != 0 && n > most) {
		from = n - most;
		printf("      ... %zu frames (--depth 0 shows all)\n", from);
	}
	for (size_t i = from; i < n; i++) {
		const struct stack_frame *const f =
			stack_table_get(found->stacks,
							      ids[i]);
		const struct stack_frame *const above = i + 1 < n ?
			stack_table_get(found->stacks, ids[i + 1]) : NULL;
		char place[512] = "", room[48], *name, *file;

		if (func_of(load, f))
			cells_place(place, sizeof(place), func_of(load, f));
		name = out_escape_terminal(frame_name(load, f, room));
		file = out_escape_terminal(place);
		printf("    %s %s%s%s\n", f->flags & STACK_BODY ? "~" :
		       above && enters_lua(func_of(load, f),
			       func_of(load, above)) ? ">" : " ",
		       name, file[0] != '\0' ? "  " : "", file);
		mem_free(name);
		mem_free(file);
	}
	mem_free(ids);
}

/* A trace that grows may show more the second time. */
static uint32_t tid_of(const struct session *s, uint32_t i)
{
	return i < s->thread_count ? s->threads[i].tid : 0;
}

static uint32_t pid_of(const struct session *s, uint32_t i)
{
	return i < s->process_count ? s->processes[i].pid : 0;
}

static uint64_t begin_ns(const struct session *s, const struct slow_call *c)
{
	const ticks first = session_first_tick(s);

	return c->begin > first ? session_ns(s, c->begin - first) : 0;
}

static void print_call(const struct load *load, const struct slow_found *found,
		       size_t i, const struct slow_print *how)
{
	const struct slow_call *const c = &found->calls[i];
	const struct session *const s = load->session;
	char a[OUT_NUMBER];

	printf("\n%zu. %s", i + 1, out_number_time(a, ns_of(load, c->total)));
	printf(", self %s", out_number_time(a, ns_of(load, c->self)));
	if (c->suspended > 0)
		printf(", suspended %s",
		       out_number_time(a, ns_of(load, c->suspended)));
	printf("; began at %s on thread %" PRIu32,
	       out_number_time(a, (double)begin_ns(s, c)),
	       tid_of(s, c->thread));
	if (s->process_count > 1)
		printf(" of process %" PRIu32, pid_of(s, c->process));
	if (c->coroutine != 0)
		printf(", coroutine %" PRIu64, c->coroutine);
	if (c->level > 0)
		fputs(", in a signal handler", stdout);
	if (c->end != SLOW_RETURNED)
		printf(", %s", c->end == SLOW_CUT ?
		       "cut: records are missing" : c->end == SLOW_OPEN ?
		       "open at the end" : ends[c->end]);
	puts(c->is_partial ? " (self at least)" : "");
	print_stack(load, found, c, how->frames);
	if (how->hot_path)
		hot_path_print(load, how->hot_path, i, c, how->key);
}

static void csv_call(const struct load *load, const struct slow_found *found,
		     size_t at, const struct slow_print *how)
{
	const struct slow_call *const c = &found->calls[at];
	struct out_csv csv = { stdout, 0 };
	struct session *const s = load->session;
	char *text = NULL, room[48];
	size_t n, used = 0, size = 0;
	stack_id *const ids = frames_of(found, c, &n);

	for (size_t i = 0; i < n; i++) {
		const char *const name = frame_name(load,
			stack_table_get(found->stacks, ids[i]), room);
		const size_t length = strlen(name);

		vec_need(&text, &size, used + length + 2);
		if (i > 0)
			text[used++] = ';';
		memcpy(text + used, name, length + 1);
		used += length;
	}
	out_csv_number(&csv, pid_of(s, c->process));
	out_csv_number(&csv, tid_of(s, c->thread));
	out_csv_number(&csv, c->coroutine);
	cells_csv_func(&csv, s, c->func);
	out_csv_number(&csv, c->level);
	out_csv_number(&csv, begin_ns(s, c));
	out_csv_number(&csv, session_ns(s, c->total));
	out_csv_number(&csv, session_ns(s, c->self));
	out_csv_number(&csv, session_ns(s, c->suspended));
	out_csv_number(&csv, session_ns(s, c->total + c->suspended));
	out_csv_text(&csv, ends[c->end]);
	out_csv_number(&csv, (uint64_t)c->is_partial);
	out_csv_text(&csv, !text ? "" : text);
	if (how->hot_path)
		hot_path_print_csv(&csv, load, how->hot_path, at, how->key);
	out_csv_end(&csv);
	mem_free(text);
	mem_free(ids);
}

void slow_print(const struct load *load, const struct slow_found *found,
		const struct slow_print *how)
{
	if (how->csv) {
		header_print_losses(load);
		printf("pid,tid,coroutine," CELLS_FUNC_COLUMNS ",level,start_ns,"
		       "total_ns,self_ns,suspended_ns,wall_ns,end,is_partial,"
		       "stack%s\n",
		       how->hot_path ? ",callees,callees_ns" : "");
		for (size_t i = 0; i < found->count; i++)
			csv_call(load, found, i, how);
		return;
	}
	header_print(stdout, load);
	print_all(load, found, how);
	for (size_t i = 0; i < found->count; i++)
		print_call(load, found, i, how);
}
