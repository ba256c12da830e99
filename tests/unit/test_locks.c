/* test_locks.c - each waiter's time goes to the holders in turn, and nothing of
 * it is lost. SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/waits/locks.h"
#include "tests/test.h"

static const struct waits_object lock = { 0, WAIT_MUTEX, 0x1000, 0 };

static struct waits_span span(ticks begin, ticks end, uint32_t thread)
{
	return (struct waits_span){ .of = lock, .begin = begin, .end = end,
		.thread = thread, .owner = 9, .stack = 1 };
}

static struct waits_end end(ticks at, uint32_t thread, stack_id stack)
{
	return (struct waits_end){ .of = lock, .at = at, .thread = thread,
		.stack = stack };
}

static const struct locks_stack *find(const struct locks_stack *list,
				      size_t count, enum locks_role role,
				      stack_id stack)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].role == role && list[i].stack == stack)
			return &list[i];
	return NULL;
}

/* Threads 1 and 2 come at 10 and 20; 0 lets the lock go at 40, 1 has it from 42
 * on, and lets it go at 70. */
void test_locks_turns(void)
{
	struct waits_span spans[] = { span(20, 73, 2), span(10, 42, 1) };
	struct waits_end ends[] = { end(70, 1, 3), end(40, 0, 2) };
	struct waits w = { .spans = spans, .span_count = 2,
			   .ends = ends, .end_count = 2 };
	const struct locks_stack *a, *b, *free_time;
	struct locks_object *list;
	struct locks_stack *stacks;
	size_t count;

	waits_sort(&w);
	list = locks_list(&w, &count);
	CHECK(count == 1);
	CHECK(list[0].waits == 2 && list[0].waiting == 32 + 53);
	CHECK(list[0].longest == 53 && list[0].most == 2);
	CHECK(list[0].held == 30 + 28);
	stacks = locks_stacks(&w, list, &count);
	a = find(stacks, count, LOCKS_HOLDS, 2);
	b = find(stacks, count, LOCKS_HOLDS, 3);
	free_time = find(stacks, count, LOCKS_FREE, 0);
	CHECK(a && a->waiting == 30 + 20 && a->held == 30);
	CHECK(b && b->waiting == 28 && b->held == 28);
	CHECK(free_time && free_time->waiting == 2 + 2 + 3);
	CHECK(!find(stacks, count, LOCKS_UNSEEN, 0));
	mem_free(stacks);
	mem_free(list);
}

/* The same of a part of the time: what lies in it, whoever ends it when. */
void test_locks_in_a_range(void)
{
	struct waits_span spans[] = { span(20, 73, 2), span(10, 42, 1),
				      span(80, 90, 3) };
	struct waits_end ends[] = { end(70, 1, 3), end(40, 0, 2) };
	struct waits w = { .spans = spans, .span_count = 3, .ends = ends,
			   .end_count = 2, .from = 15, .to = 60 };
	const struct locks_stack *a, *b, *own, *free_time;
	struct locks_object *list;
	struct locks_stack *stacks;
	size_t count;

	waits_sort(&w);
	list = locks_list(&w, &count);
	CHECK(count == 1 && w.span_count == 2);
	CHECK(list[0].waits == 1 && list[0].waiting == 27 + 40);
	CHECK(list[0].longest == 40 && list[0].most == 2);
	CHECK(list[0].held == 25 + 18);
	stacks = locks_stacks(&w, list, &count);
	a = find(stacks, count, LOCKS_HOLDS, 2);
	b = find(stacks, count, LOCKS_HOLDS, 3);
	own = find(stacks, count, LOCKS_WAITS, 1);
	free_time = find(stacks, count, LOCKS_FREE, 0);
	CHECK(a && a->waiting == 25 + 20 && a->held == 25);
	CHECK(b && b->waiting == 18 && b->held == 18);
	CHECK(own && own->waiting == 67 && own->count == 1);
	CHECK(free_time && free_time->waiting == 2 + 2);
	mem_free(stacks);
	mem_free(list);
}

/* Nobody was seen to let it go: it is the owner's time. */
void test_locks_unseen(void)
{
	struct waits_span spans[] = { span(10, 30, 1) };
	struct waits_end ends[] = { end(31, 1, 2) };
	struct waits w = { .spans = spans, .span_count = 1,
			   .ends = ends, .end_count = 1 };
	const struct locks_stack *unseen;
	struct locks_object *list;
	struct locks_stack *stacks;
	size_t count;

	waits_sort(&w);
	list = locks_list(&w, &count);
	CHECK(count == 1 && list[0].held == 0);
	stacks = locks_stacks(&w, list, &count);
	unseen = find(stacks, count, LOCKS_UNSEEN, 0);
	CHECK(unseen && unseen->waiting == 20 && unseen->owner == 9);
	CHECK(!find(stacks, count, LOCKS_HOLDS, 2));
	mem_free(stacks);
	mem_free(list);
}

/* Since when the thread of an end may have had the lock: it waited itself. */
static ticks had_since(const struct waits *w, size_t k)
{
	ticks since = 0;

	for (size_t i = 0; i < w->span_count; i++)
		if (w->spans[i].thread == w->ends[k].thread &&
		    w->spans[i].end < w->ends[k].at &&
		    (k == 0 || w->ends[k - 1].at <= w->spans[i].end))
			since = MAX(since, w->spans[i].end);
	return since;
}

/* What the ends in a wait explain, one after the other: by end, and since
 * when. */
static void explained(const struct waits *w, ticks *waiting, ticks *since)
{
	for (size_t i = 0; i < w->span_count; i++) {
		const struct waits_span *const s = &w->spans[i];
		ticks from = s->begin;

		for (size_t k = 0; k < w->end_count; k++) {
			const struct waits_end *const e = &w->ends[k];

			if (e->at <= s->begin || e->at > s->end)
				continue;
			from = MAX(from, had_since(w, k));
			if (e->at > from)
				since[e->stack] = MIN(since[e->stack], from);
			waiting[e->stack] += e->at - from;
			from = e->at;
		}
	}
}

enum { FEW = 12 };

static void at_random(struct waits *w)
{
	w->span_count = 1 + (size_t)rand() % FEW;
	w->end_count = (size_t)rand() % (FEW + 1);
	for (size_t i = 0; i < w->span_count; i++)
		w->spans[i] = span((ticks)rand() % 20, 20 + (ticks)rand() % 20,
				   (uint32_t)rand() % 4);
	for (size_t i = 0; i < w->end_count; i++)
		w->ends[i] = end((ticks)rand() % 41, (uint32_t)rand() % 4,
				 (stack_id)i + 1);
	waits_sort(w);
}

/* Waits that lie in one another. */
void test_locks_turns_at_random(void)
{
	struct waits_span spans[FEW];
	struct waits_end ends[FEW];

	srand(1);
	for (int round = 0; round < 2000; round++) {
		struct waits w = { .spans = spans, .ends = ends };
		ticks waiting[FEW + 1] = { 0 }, since[FEW + 1], sum = 0;
		struct locks_object *list;
		struct locks_stack *stacks;
		size_t count;

		at_random(&w);
		memset(since, 0xff, sizeof(since));
		explained(&w, waiting, since);
		list = locks_list(&w, &count);
		stacks = locks_stacks(&w, list, &count);
		for (size_t k = 0; k < w.end_count; k++) {
			const stack_id of = ends[k].stack;
			const struct locks_stack *const s =
				find(stacks, count, LOCKS_HOLDS, of);

			CHECK_EQ(s ? s->waiting : 0, waiting[of]);
			CHECK_EQ(s ? s->held : 0, waiting[of] == 0 ? 0 :
				 ends[k].at - since[of]);
			sum += s ? s->held : 0;
		}
		CHECK_EQ(list->held, sum);
		sum = 0;
		for (size_t k = 0; k < count; k++)
			sum += stacks[k].role == LOCKS_WAITS ? 0 :
			       stacks[k].waiting;
		CHECK_EQ(list->waiting, sum);
		mem_free_all(stacks, list);
	}
}

/* Each of many waits lasts all through the calls that end some: what takes a
 * step for each of both does not come to an end here. */
void test_locks_many_waits_and_ends(void)
{
	enum { MANY = 300000 };
	struct waits w = { .spans = mem_alloc(MANY * sizeof(*w.spans)),
			   .ends = mem_alloc(MANY * sizeof(*w.ends)),
			   .span_count = MANY, .end_count = MANY };
	struct locks_turn turn;
	struct locks_object *list;
	struct locks_stack *stacks;
	size_t count;

	for (ticks i = 0; i < MANY; i++) {
		w.spans[i] = span(i, 3 * MANY - i, 1);
		w.ends[i] = end(MANY + i, 2, 2);
	}
	waits_sort(&w);
	list = locks_list(&w, &count);
	CHECK(count == 1 && list->waits == MANY && list->held == 2 * MANY - 1);
	stacks = locks_stacks(&w, list, &count);
	CHECK_EQ(find(stacks, count, LOCKS_HOLDS, 2)->held, 2 * MANY - 1);
	CHECK_EQ(locks_chain(&w, list, 2, &turn, 1), 1);
	CHECK(turn.from == 0 && turn.end->at == MANY);
	mem_free_all(stacks, list, w.spans, w.ends);
}

/* ---- a wait on a condition, which takes its mutex again ---- */

static const struct waits_object work = { 0, WAIT_CONDITION, 0x2000, 0 };

static struct waits_span on_work(ticks begin, ticks end, uint32_t thread)
{
	return (struct waits_span){ .of = work, .begin = begin, .end = end,
		.thread = thread, .stack = 1, .mutex = lock };
}

/* The calls that let others go on are of these functions. */
static void begin(struct waits *w, struct session *s, const char *name)
{
	const func_id f = func_special(s->funcs, name);

	waits_init(w, s);
	CHECK(stack_table_push(w->stacks, 0, f, 0) == 1);
	w->spans = mem_alloc(10 * sizeof(*w->spans));
	w->ends = mem_alloc(10 * sizeof(*w->ends));
	w->sleeps = mem_alloc(10 * sizeof(*w->sleeps));
	w->span_room = w->end_room = w->sleep_room = 10;
}

static void put_end(struct waits *w, const struct waits_object *of, ticks at,
		    uint32_t thread)
{
	w->ends[w->end_count++] = (struct waits_end){ .of = *of, .at = at,
		.thread = thread, .stack = 1 };
}

/* From which tick to which a thread waited for the object; as from * 1000 +
 * to. */
static uint64_t waited(const struct waits *w, const struct waits_object *of,
		       uint32_t thread)
{
	for (size_t i = 0; i < w->span_count; i++)
		if (waits_compare(&w->spans[i].of, of) == 0 &&
		    w->spans[i].thread == thread)
			return w->spans[i].begin * 1000 + w->spans[i].end;
	return 0;
}

/* Thread 0 lets one go on at 40 and keeps the mutex until 70; 1 has it then,
 * until 80. Where it is known, 2 is blocked from 45 to 72. */
void test_locks_condition(void)
{
	for (int is_known = 0; is_known < 2; is_known++) {
		struct session *const s = session_new(0);
		struct waits w;

		begin(&w, s, "pthread_cond_signal");
		w.spans[w.span_count++] = on_work(10, 90, 1);
		w.spans[w.span_count++] = on_work(5, 73, 2);
		put_end(&w, &work, 40, 0);
		put_end(&w, &work, 41, 0);
		put_end(&w, &lock, 70, 0);
		put_end(&w, &lock, 80, 2);
		if (is_known) {
			w.sleeps[0] = (struct waits_sleep){ 2, 45, 72 };
			w.sleeps[1] = (struct waits_sleep){ 2, 6, 42 };
			w.sleeps[2] = (struct waits_sleep){ 1, 11, 88 };
			w.sleep_count = 3;
		}
		waits_sort(&w);
		CHECK_EQ(waited(&w, &work, 2), is_known ? 5045 : 5040);
		CHECK_EQ(waited(&w, &lock, 2), is_known ? 45073 : 40073);
		/* It slept until it had no core, or that is not known. */
		CHECK_EQ(waited(&w, &work, 1), is_known ? 10090 : 10041);
		CHECK_EQ(waited(&w, &lock, 1), is_known ? 0 : 41090);
		waits_fini(&w);
		session_free(s);
	}
}

/* All are let go on at 40; 3 gave up at 30, when 4 had the mutex, and 5, which
 * came late, is not. Nobody has the mutex when 6 goes on. */
void test_locks_condition_all(void)
{
	struct session *const s = session_new(0);
	struct waits w;

	begin(&w, s, "pthread_cond_broadcast");
	w.spans[w.span_count++] = on_work(10, 60, 1);
	w.spans[w.span_count++] = on_work(11, 70, 2);
	w.spans[w.span_count++] = on_work(12, 36, 3);
	w.spans[2].until = 30;
	w.spans[w.span_count++] = on_work(50, 90, 5);
	w.spans[w.span_count++] = on_work(13, 42, 6);
	put_end(&w, &lock, 35, 4);
	put_end(&w, &work, 40, 0);
	put_end(&w, &lock, 58, 0);
	put_end(&w, &lock, 65, 1);
	waits_sort(&w);
	CHECK_EQ(waited(&w, &work, 1), 10040);
	CHECK_EQ(waited(&w, &lock, 1), 40060);
	CHECK_EQ(waited(&w, &lock, 2), 40070);
	CHECK_EQ(waited(&w, &work, 3), 12030);
	CHECK_EQ(waited(&w, &lock, 3), 30036);
	CHECK_EQ(waited(&w, &work, 5), 50090);
	CHECK_EQ(waited(&w, &work, 6), 13042);
	CHECK_EQ(waited(&w, &lock, 6), 0);
	waits_fini(&w);
	session_free(s);
}

/* The same of a condition: who came last returns first. */
void test_locks_condition_of_many(void)
{
	enum { MANY = 300000 };
	struct session *const s = session_new(0);
	struct waits w;
	uint64_t others = 0;

	waits_init(&w, s);
	CHECK(stack_table_push(w.stacks, 0, func_special(s->funcs, "signal"),
			       0) == 1);
	w.spans = mem_alloc(MANY * sizeof(*w.spans));
	w.ends = mem_alloc(MANY * sizeof(*w.ends));
	w.span_room = w.end_room = MANY;
	for (ticks i = 0; i < MANY; i++) {
		w.spans[w.span_count++] =
			on_work(i, 3 * MANY - i, 1 + (uint32_t)i);
		put_end(&w, &work, MANY + i, 0);
	}
	waits_sort(&w);
	for (size_t i = 0; i < w.span_count; i++)
		others += w.spans[i].let_go !=
			  2 * MANY - 1 - w.spans[i].begin;
	CHECK_EQ(others, 0);
	waits_fini(&w);
	session_free(s);
}
