/* explain_seen.c - readings of the trace beside the usual one, for weft
 * explain: sleeps of coroutines, what threads wait for, and memory.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/explain/explain_seen.h"
#include "analyzer/cmd/shared/unseen.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/args/filter_args.h"
#include "analyzer/watch/waits/locks.h"
#include "analyzer/watch/waits/sleeps.h"
#include "analyzer/replay/tee.h"
#include "analyzer/watch/slow/slow.h"
#include "analyzer/watch/snapshots/snapshots.h"
#include "analyzer/watch/waits/threads.h"

#include <math.h>
#include <string.h>

/* Sleeps take another reading, of traces that have coroutines. 0, or -1. */
static int find_sleeps(struct load *load, struct explain_seen *to)
{
	struct explain_sleep *list;
	struct sleeps sleeps;

	if (load->session->coroutine_count == 0)
		return 0;
	sleeps_init(&sleeps, load->session);
	if (load_again(load, &sleeps_sink, &sleeps) != 0) {
		sleeps_fini(&sleeps);
		return -1;
	}
	to->sleeps = list = mem_alloc((sleeps.count + 1) * sizeof(*list));
	for (size_t i = 0; i < sleeps.count; i++) {
		const struct sleep *const s = &sleeps.list[i];

		list[to->sleep_count++] = (struct explain_sleep){
			s->where, s->body, s->count, s->sum, s->longest, s->at,
			s->no_core, s->coroutine, s->process };
	}
	to->second = sleeps.second;
	sleeps_fini(&sleeps);
	return 0;
}

/* ---- what threads wait for ---------------------------------------------- */

/* What called a function of libc: the program's own, if it is known. */
static stack_id caller_of(const struct waits *w, stack_id stack)
{
	const stack_id own = stack_table_own(w->stacks, w->session->funcs,
					     stack);

	return own || !stack ? own : stack_table_get(w->stacks, stack)->below;
}

static func_id func_of(const struct waits *w, stack_id stack)
{
	return stack ? stack_table_get(w->stacks, stack)->func : 0;
}

/* Of the calls that let waiting threads go on, that for which was waited
 * most. */
static stack_id holder_of(const struct waits *w, const struct locks_object *o,
			  ticks *because)
{
	size_t count;
	struct locks_stack *const stacks = locks_stacks(w, o, &count);
	stack_id holder = 0;

	for (size_t i = 0; i < count; i++) {
		if (stacks[i].role != LOCKS_HOLDS ||
		    stacks[i].waiting <= *because)
			continue;
		*because = stacks[i].waiting;
		holder = stacks[i].stack;
	}
	mem_free(stacks);
	return holder;
}

static bool is_lock(const struct locks_object *o)
{
	return o->of.kind == WAIT_MUTEX || o->of.kind == WAIT_READ;
}

static bool is_event(const struct locks_object *o)
{
	return o->of.kind == WAIT_CONDITION || o->of.kind == WAIT_SEMAPHORE ||
	       o->of.kind == WAIT_BARRIER;
}

/* What the thread that had the object did late in its longest turn. */
struct meanwhile {
	struct stack_table *stacks;
	uint32_t thread;
	stack_id stack;
};

static void take_stack(void *ctx, const struct snapshot_stack *s)
{
	struct meanwhile *const m = ctx;

	if (!s->is_thread || s->thread != m->thread)
		return;
	m->stack = 0;
	for (size_t i = 0; i < s->count; i++)
		m->stack = stack_table_push(m->stacks, m->stack,
			s->frames[i].func ? s->frames[i].func :
			s->frames[i].omitted, s->frames[i].flags |
			(s->frames[i].omitted ? STACK_OMITTED : 0));
}

static int see_meanwhile(struct load *load, struct waits *w,
			 const struct locks_turn *turn,
			 struct explain_told *told)
{
	const ticks at = locks_late(turn);
	struct meanwhile m = { w->stacks, turn->end->thread, 0 };
	struct snapshots *const s = snapshots_new(&at, 1);
	const int status = load_again(load, &snapshots_sink, s);

	if (status == 0)
		snapshots_each(s, load->session->funcs, take_stack, &m);
	snapshots_free(s);
	if (m.stack)
		told->meanwhile = stack_table_line(w->stacks,
			load->session->funcs, m.stack, told->shorten);
	return status;
}

/* Who has it, down to the last one of the chain. */
static int see_holder(struct load *load, struct waits *w,
		      const struct locks_object *o, stack_id holder,
		      struct explain_told *told)
{
	struct locks_turn chain[EXPLAIN_CHAIN];
	const size_t n = holder == 0 ? 0 :
			 locks_chain(w, o, holder, chain, EXPLAIN_CHAIN);

	for (size_t i = 0; i < n; i++) {
		told->chain[i].place = chain[i].end->of.place;
		told->chain[i].address = chain[i].end->of.address;
		told->chain[i].holder =
			func_of(w, caller_of(w, chain[i].end->stack));
	}
	told->chain_length = n;
	if (n == 0)
		return 0;
	told->held_by = stack_table_line(w->stacks, load->session->funcs,
		caller_of(w, chain[n - 1].end->stack), told->shorten);
	return see_meanwhile(load, w, &chain[n - 1], told);
}

/* Who made most of the threads that nobody joins. */
static void see_unjoined(const struct session *s, const struct waits *w,
			 struct explain_seen *to)
{
	const size_t funcs = func_count(s->funcs) + 1;
	uint64_t *const made = mem_alloc(funcs * sizeof(*made));
	size_t count;
	struct threads_row *const rows = threads_list(s, w, &count);

	for (size_t i = 0; i < count; i++)
		if (rows[i].fate == THREADS_ENDED && rows[i].owed)
			made[func_of(w, rows[i].made_by)]++;
	for (func_id f = 1; f < funcs; f++) {
		if (made[f] <= to->unjoined)
			continue;
		to->unjoined = made[f];
		to->maker = f;
	}
	mem_free_all(rows, made);
}

static int see_waits(struct load *load, struct waits *w,
		     struct explain_seen *to, struct explain_told *told)
{
	size_t count;
	struct locks_object *const list = locks_list(w, &count);
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		struct explain_lock *const of =
			is_lock(&list[i]) ? &to->lock :
			is_event(&list[i]) ? &to->event : NULL;

		stack_id holder;

		if (!of || of->func != 0)
			continue;
		*of = (struct explain_lock){ .func = func_of(w, list[i].first),
			.kind = list[i].of.kind, .place = list[i].of.place,
			.address = list[i].of.address, .waits = list[i].waits,
			.most = list[i].most, .waiting = list[i].waiting };
		holder = holder_of(w, &list[i], &of->because);
		of->holder = func_of(w, caller_of(w, holder));
		if (status == 0)
			status = see_holder(load, w, &list[i], holder,
					    &told[of == &to->event]);
	}
	see_unjoined(load->session, w, to);
	mem_free(list);
	return status;
}

/* Waits take another reading, of traces that have them. 0, or -1. */
static int find_waits(struct load *load, struct explain_seen *to,
		      struct explain_told *told)
{
	struct waits w;
	int status;

	if (!session_note(load->session, "waits"))
		return 0;
	waits_init(&w, load->session);
	status = load_again(load, &waits_times_sink, &w);
	if (status == 0) {
		waits_sort(&w);
		status = see_waits(load, &w, to, told);
	}
	waits_fini(&w);
	return status;
}

/* ---- memory ------------------------------------------------------------- */

#define LEAST_STAYS 0.05 /* of the growth tells who took what stays */
#define SECOND_SHARE 0.15 /* of the same: who took as much is named, too */
#define HALF (16. / 7)   /* of the time, as quarters of all but an eighth; */
#define OF_HALF 4        /* and as quarters of one half */
#define FEW_CYCLES 6     /* in one half: what lasts may be garbage */

/* Lua's own code takes memory for the Lua function that calls it. */
static bool is_lua_library(struct func_table *funcs, func_id id)
{
	const struct func *const f = func_get(funcs, id);

	return f->kind == FUNC_NATIVE && func_elf_is_lua(funcs, f->module);
}

static func_id asker_of(const struct heap *h, struct func_table *funcs,
			 stack_id stack)
{
	const func_id taker = heap_taker(h, funcs, stack);

	while (stack != 0 && is_lua_library(funcs, taker)) {
		const struct stack_frame *const f = stack_table_get(h->stacks,
								    stack);

		if (!(f->flags & STACK_OMITTED) &&
		    func_get(funcs, f->func)->kind == FUNC_LUA)
			return f->func;
		stack = f->below;
	}
	return taker;
}

static void add_rows(const struct explain_takers *by, const struct session *s,
		     const struct heap *h, const struct heap_table *t,
		     bool is_all)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct heap_row *const r = &t->rows[i];
		const func_id f = asker_of(h, s->funcs, r->stack);

		if (is_all) {
			by->early[f] += heap_lasting(r, 0, 1);
			by->late[f] += heap_lasting(r, 1, 2);
			continue;
		}
		by->grown[f] += r->grown;
		if (heap_is_luas(h, s->funcs, r->stack))
			by->lua[f] += r->grown;
	}
}

static bool is_luas(const struct explain_takers *by, func_id f)
{
	return by->lua[f] > fmax(by->grown[f], 0) / 2;
}

/* Then whoever took much, too, beside the one that took most; of what does not
 * last, it may not be Lua's either. */
static void choose_second(struct explain_heap *to, const double *took,
			  const struct explain_takers *by, double all)
{
	func_id second = 0;

	to->second = 0;
	for (func_id f = 1; f < by->funcs; f++)
		if (f != to->func && (to->steady > 0 || !is_luas(by, f)) &&
		    took[f] > (second ? took[second] : 0))
			second = f;
	if (to->func == 0 || all <= 0 || !second ||
	    took[second] < SECOND_SHARE * all)
		return;
	to->second = second;
	to->second_share = fmin(1, took[second] / all);
}

static func_id most_of(const double *by, size_t funcs, double *sum)
{
	func_id most = 0;

	*sum = 0;
	for (func_id f = 1; f < funcs; f++) {
		*sum += fmax(by[f], 0);
		if (by[f] > (most ? by[most] : 0))
			most = f;
	}
	return most;
}

/* What a collector has not looked at yet is in use, too, but does not last; and
 * what is taken at the start, or kept in a cache that is full, does not grow
 * late. So what a function keeps in half of the time follows from the less of
 * what it kept early and late. Is there little, as where the growth began late,
 * it counts what is kept late, and the growth itself; but not of Lua, because
 * that may be garbage. */
void explain_choose_taker(struct explain_heap *to,
			  const struct explain_takers *by)
{
	const double least = (to->end - to->half) * LEAST_STAYS;
	double *const keeps = mem_alloc(by->funcs * sizeof(*keeps));
	const double *took = keeps;
	double sum;
	func_id f;

	for (f = 0; f < by->funcs; f++)
		keeps[f] = fmin(by->early[f], by->late[f]) * by->part;
	f = most_of(keeps, by->funcs, &to->steady);
	to->stays = f ? keeps[f] / to->steady : 0;
	sum = to->steady;
	if (!f || to->steady < least) {
		f = most_of(took = by->late, by->funcs, &sum);
		to->stays = f && sum >= least ? by->late[f] / sum : 0;
		if (to->stays <= 0)
			f = most_of(took = by->grown, by->funcs, &sum);
		if (is_luas(by, f))
			f = 0;
		to->steady = 0;
	}
	to->func = f;
	to->grown = by->grown[f];
	to->is_lua = is_luas(by, f);
	choose_second(to, took, by,
		      to->stays > 0 ? sum : to->end - to->half);
	mem_free(keeps);
}

static void take_growth(struct explain_heap *to, const struct heap_table *t)
{
	to->half = t->all.before.bytes;
	to->end = t->all.is.in_use.bytes;
	/* Blocks that were there before have the same weight at both times. */
	to->error = to->end <= to->half ? 0 :
		sqrt(t->all.is.in_use.variance * (1 - to->half / to->end));
}

/* Before the program gives all back, as it does near its end: when it has most
 * in use, if that is late. */
static ticks end_of_growth(struct heap *h, const uint8_t *threads, ticks first,
			   ticks last)
{
	struct heap_table t;

	heap_sum_up(h, threads, first, last, &t);
	mem_free(t.rows);
	return t.most_at > last - (last - first) / 4 ? t.most_at + 1 :
	       last - (last - first) / 20;
}

/* Were the states' collectors seen to end cycles enough? */
static bool is_collected(struct vm_memory *m, const struct session *s,
			 ticks from, ticks to)
{
	size_t count, i = 0;
	struct vm_row *const rows = vm_memory_rows(m, s, from, to, &count);

	while (i < count && (rows[i].cycles >= FEW_CYCLES || rows[i].jump == 0))
		i++;
	mem_free(rows);
	return i == count;
}

/* Where the start took long, or the machine was busy, what grew steadily has
 * not grown so with the time, but with what the program did in the second half
 * of it: has a function kept more and more by that clock? */
static void choose_by_events(struct explain_heap *to, struct explain_takers by,
			     const struct session *s, struct unseen *u,
			     const uint8_t *threads, ticks from)
{
	const ticks since = from + to->since, end = from + to->until;
	struct explain_heap found = *to;
	struct heap_table t;

	if (!is_collected(&u->vms, s, since, end))
		return;
	by.part = OF_HALF;
	memset(by.early, 0, by.funcs * sizeof(*by.early));
	memset(by.late, 0, by.funcs * sizeof(*by.late));
	u->heap.is_by_events = true;
	heap_sum_up(&u->heap, threads, since, end, &t);
	u->heap.is_by_events = false;
	add_rows(&by, s, &u->heap, &t, true);
	mem_free(t.rows);
	explain_choose_taker(&found, &by);
	if (explain_keeps(&found))
		*to = found;
}

/* Up to end; since when is from. */
static void sum_takers(struct explain_heap *to, const struct session *s,
		       struct unseen *u, const uint8_t *threads, ticks from)
{
	struct heap *const h = &u->heap;
	const ticks end = from + to->until;
	const size_t funcs = func_count(s->funcs) + 1;
	double *const all = mem_alloc(4 * funcs * sizeof(*all));
	const struct explain_takers by = { all, all + funcs, all + 2 * funcs,
					   all + 3 * funcs, funcs, HALF };
	struct heap_table t;

	heap_sum_up(h, threads, from + to->since / 4, end, &t);
	add_rows(&by, s, h, &t, true);
	mem_free(t.rows);
	heap_sum_up(h, threads, from + to->since, end, &t);
	take_growth(to, &t);
	add_rows(&by, s, h, &t, false);
	mem_free(t.rows);
	heap_sum_up(h, threads, from + to->since / 2 * 3, end, &t);
	to->later = t.all.before.bytes;
	explain_choose_taker(to, &by);
	if (t.mean == 0 && !explain_keeps(to))
		choose_by_events(to, by, s, u, threads, from);
	mem_free_all(t.rows, all);
}

/* Memory, likewise. */
static int find_heap(struct load *load, struct explain_heap *to)
{
	struct session *const s = load->session;
	const ticks first = session_first_tick(s), last = session_last_tick(s);
	struct heap_table t;
	uint8_t *threads;
	struct unseen u;

	if (!session_note(s, "heap"))
		return 0;
	unseen_init(&u, s);
	if (unseen_read(&u, load) != 0) {
		unseen_fini(&u);
		return -1;
	}
	threads = filter_args_threads(s);
	to->until = end_of_growth(&u.heap, threads, first, last) - first;
	to->since = to->until / 2;
	sum_takers(to, s, &u, threads, first);
	heap_sum_up(&u.heap, threads, 0, UINT64_MAX, &t);
	to->unseen = unseen_text(&u, s, &t, 0, UINT64_MAX);
	mem_free_all(threads, t.rows);
	unseen_fini(&u);
	return 0;
}

/* ---- the slow call ------------------------------------------------------ */

/* The slowest calls of one function. */
struct slowest {
	uint8_t *wanted;
	struct slow *slow;
};

static void slowest_begin(struct slowest *s, struct tee *tee, size_t funcs,
			  func_id func, enum slow_key key, size_t top)
{
	s->wanted = mem_alloc(funcs);
	s->wanted[func] = 1;
	s->slow = slow_new(&(struct slow_options){
		.wanted = s->wanted, .funcs = funcs, .key = key, .top = top });
	tee_add(tee, &slow_sink, s->slow);
}

static void slowest_free(struct slowest *s)
{
	slow_free(s->slow);
	mem_free(s->wanted);
}

static void judge(const struct explain *e, struct explain_suspect *suspect,
		  const struct slow_found *found)
{
	struct explain_call call[EXPLAIN_LONGEST];
	size_t n = 0;

	for (size_t i = 0; i < found->count && i < EXPLAIN_LONGEST; i++) {
		const struct slow_call *const c = &found->calls[i];

		if (slow_knows_switches(c))
			call[n++] = (struct explain_call){ c->total,
				c->parts.off, c->parts.ready, c->suspended,
				0 };
	}
	explain_judge(e, suspect, call, n);
	if (n > 0)
		suspect->finding.collecting = found->calls[0].parts.collecting;
}

static int see_suspects(struct load *load, struct explain *e)
{
	const size_t funcs = func_count(load->session->funcs) + 1;
	struct slowest s[EXPLAIN_SUSPECTS];
	struct tee tee = { .count = 0 };
	int status;

	_Static_assert((int)EXPLAIN_SUSPECTS <= (int)TEE_PARTS, "parts");
	for (size_t i = 0; i < e->suspects; i++)
		slowest_begin(&s[i], &tee, funcs, e->suspect[i].finding.func,
			      explain_may_be_idle(&e->suspect[i]) ? SLOW_CPU :
			      SLOW_UNDELAYED, EXPLAIN_LONGEST);
	status = load_again(load, &tee.sink, &tee);
	for (size_t i = 0; i < e->suspects; i++) {
		slow_finish(s[i].slow);
		if (status == 0)
			judge(e, &e->suspect[i], slow_found(s[i].slow));
		slowest_free(&s[i]);
	}
	if (status == 0)
		explain_settle(e);
	return status;
}

static void take_parts(struct explain_finding *f, const struct slow_call *c)
{
	f->time = c->total;
	f->suspended = c->suspended;
	f->collecting = c->parts.collecting;
	if (!slow_knows_switches(c))
		return;
	f->on = c->total - MIN(c->parts.off, c->total);
	f->blocked = figures_blocked(c->parts.off, c->parts.ready);
	f->ready = c->parts.ready;
}

static int see_slow(struct load *load, struct explain_finding *f)
{
	const size_t funcs = func_count(load->session->funcs) + 1;
	struct tee tee = { .count = 0 };
	struct slowest s;
	int status;

	slowest_begin(&s, &tee, funcs, f->func, SLOW_TOTAL, 1);
	status = load_again(load, &tee.sink, &tee);
	slow_finish(s.slow);
	if (status == 0 && slow_found(s.slow)->count > 0)
		take_parts(f, slow_found(s.slow)->calls);
	slowest_free(&s);
	return status;
}

/* What is no whole trace has no single calls to be looked at. */
int explain_see_slow(struct load *load, struct explain *found)
{
	int status = 0;

	if (load->is_profile || load->is_part)
		return 0;
	if (found->suspects > 0)
		status = see_suspects(load, found);
	for (size_t i = 0; i < found->count && status == 0; i++)
		if (found->finding[i].kind == EXPLAIN_SLOW &&
		    found->finding[i].few == 0)
			status = see_slow(load, &found->finding[i]);
	return status;
}

/* ------------------------------------------------------------------------- */

int explain_see(struct load *load, struct explain_seen *seen,
		struct explain_told told[2])
{
	*seen = (struct explain_seen){ .sleeps = NULL };
	if (load->is_profile || load->is_part)
		return 0;
	return find_sleeps(load, seen) != 0 ||
	       find_waits(load, seen, told) != 0 ||
	       find_heap(load, &seen->heap) != 0 ? -1 : 0;
}

void explain_unsee(struct explain_seen *seen, struct explain_told told[2])
{
	mem_free_all((void *)seen->sleeps, seen->heap.unseen);
	for (int i = 0; i < 2; i++)
		mem_free_all(told[i].held_by, told[i].meanwhile);
}
