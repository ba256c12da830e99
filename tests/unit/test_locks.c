/* test_locks.c - each waiter's time goes to the holders in turn, and nothing of
 * it is lost. SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/waits/locks.h"
#include "tests/test.h"

static const struct waits_object lock = { 0, WAIT_MUTEX, 0x1000 };

static struct waits_span span(ticks begin, ticks end, uint32_t thread)
{
	return (struct waits_span){ .of = lock, .begin = begin, .end = end,
		.thread = thread, .owner = 9, .stack = 1 };
}

static struct waits_end end(ticks at, uint32_t thread, stack_id stack)
{
	return (struct waits_end){ lock, at, thread, stack, 0 };
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

/* Threads 1 and 2 come at 10 and 20; 0 lets the lock go at 40, and 1 at 70. */
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
	CHECK(list[0].held == 30 + 30);
	stacks = locks_stacks(&w, list, &count);
	a = find(stacks, count, LOCKS_HOLDS, 2);
	b = find(stacks, count, LOCKS_HOLDS, 3);
	free_time = find(stacks, count, LOCKS_FREE, 0);
	CHECK(a && a->waiting == 30 + 20 && a->held == 30);
	CHECK(b && b->waiting == 30 && b->held == 30);
	CHECK(free_time && free_time->waiting == 2 + 3);
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
	CHECK(list[0].held == 25 + 20);
	stacks = locks_stacks(&w, list, &count);
	a = find(stacks, count, LOCKS_HOLDS, 2);
	b = find(stacks, count, LOCKS_HOLDS, 3);
	own = find(stacks, count, LOCKS_WAITS, 1);
	free_time = find(stacks, count, LOCKS_FREE, 0);
	CHECK(a && a->waiting == 25 + 20 && a->held == 25);
	CHECK(b && b->waiting == 20 && b->held == 20);
	CHECK(own && own->waiting == 67 && own->count == 1);
	CHECK(free_time && free_time->waiting == 2);
	mem_free(stacks);
	mem_free(list);
}

/* Nobody was seen to let it go: it is the owner's time. One's own end is none:
 * a condition variable's waiter gives its mutex back. */
void test_locks_unseen(void)
{
	struct waits_span spans[] = { span(10, 30, 1) };
	struct waits_end ends[] = { end(20, 1, 2) };
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
