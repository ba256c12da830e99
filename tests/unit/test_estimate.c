/* test_estimate.c - how many calls were not recorded for a budget.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/correct/correct.h"
#include "analyzer/model/session.h"
#include "tests/test.h"

static struct demotion_span of_ms(double ms)
{
	return (struct demotion_span){ ms * 1e6, 0 };
}

/* f is left out in that thread, 50 ms before a window, if there was one of so
 * many ms, and 150 ms after it. f was called that often in it, and as often
 * before. */
static struct demotion *thread_of(struct session *s, func_id f,
				  uint32_t number, double calls, double ms)
{
	struct demotion *const d = demotion_of(&s->demotions, f);
	struct demotion_part *const p = demotion_part(&s->demotions, d, number);

	cct_child(s->cct, cct_root(s->cct, number), d->func, 0);
	d->skipped += 1000;
	p->skipped = 1000;
	p->before = of_ms(50);
	if (ms > 0) {
		struct demotion_look *const look = demotion_look(p, 10);

		look->calls = calls;
		look->in = of_ms(ms);
		look->until = of_ms(150);
		p->rate = calls / ms * 1000;
	}
	return d;
}

static struct demotion *thread(struct session *s, uint32_t number,
			       double calls, double ms)
{
	return thread_of(s, func_special(s->funcs, "f"), number, calls, ms);
}

static struct demotion *demoted(struct session *s, double ms)
{
	struct demotion *const d = thread(s, 0, 200, ms);

	estimate_apply(s);
	return d;
}

void test_estimate_is_the_windows_ratio(void)
{
	struct session *const s = session_new(0);
	struct demotion *const d = demoted(s, 100);

	CHECK_EQ(d->is_unknown, 0);
	CHECK_EQ(d->estimated, 400);
	CHECK(d->error > 0);
	CHECK_EQ(func_get(s->funcs, d->func)->estimated, FUNC_ESTIMATED);
	session_free(s);
}

/* Without a window, or in one of a moment, 0 would be a lie. */
void test_estimate_knows_when_nothing_is_known(void)
{
	for (int i = 0; i < 2; i++) {
		struct session *const s = session_new(0);
		struct demotion *const d = demoted(s, i == 1 ? 0.05 : 0);

		CHECK_EQ(d->is_unknown, 1);
		CHECK_EQ(d->estimated, 0);
		CHECK_EQ(func_get(s->funcs, d->func)->estimated,
			 FUNC_AT_LEAST);
		session_free(s);
	}
}

/* What the hooks in a window take is not the program's time. */
void test_estimate_takes_off_what_hooks_take(void)
{
	struct session *const s = session_new(0);
	struct demotion *const d = thread(s, 0, 200, 100);

	s->notes = mem_alloc(sizeof(*s->notes));
	s->notes[0] = (struct note){ "cost.native", "20 0" };
	s->note_count = 1;
	d->part[0].look[0].in.hooks = 2e6;
	d->part[0].rate = 3400;
	estimate_apply(s);
	CHECK_EQ(d->is_unknown, 0);
	/* 48 to 72 ms of its own, by what is known of the cost */
	CHECK(d->estimated > 640 && d->estimated < 720);
	CHECK(d->error > 120 && d->error < 200);
	session_free(s);
}

/* It was called often before, and not in the window: nobody knows when it
 * ended. */
void test_estimate_is_not_as_good_as_none(void)
{
	struct session *const s = session_new(0);
	struct demotion *const d = thread(s, 0, 0, 100);

	d->part[0].rate = 2000;
	estimate_apply(s);
	CHECK_EQ(d->is_unknown, 1);
	CHECK_EQ(d->estimated, 0);
	session_free(s);
}

/* Between two windows it may be called as often as in either. */
void test_estimate_errs_where_windows_differ(void)
{
	struct session *const s = session_new(0);
	struct demotion *const d = thread(s, 0, 200, 100);
	struct demotion_look *const look = demotion_look(&d->part[0], 20);

	look->calls = 100;
	look->in = of_ms(100);
	look->until = of_ms(150);
	estimate_apply(s);
	CHECK_EQ(d->estimated, 100 + 225 + 150);
	CHECK(d->error > 105 && d->error < 135);
	session_free(s);
}

/* Another thread never calls it. */
void test_estimate_asks_each_thread(void)
{
	struct session *const s = session_new(0);
	struct demotion *const d = thread(s, 0, 200, 100);

	thread(s, 1, 0, 100000);
	estimate_apply(s);
	CHECK_EQ(d->is_unknown, 0);
	CHECK_EQ(d->estimated, 400);
	session_free(s);
}

/* A thread without windows is taken for one of its program's, with as large an
 * error. */
void test_estimate_takes_a_thread_for_its_programs(void)
{
	struct session *const s = session_new(0);
	struct demotion *const d = thread(s, 0, 200, 100);

	thread(s, 1, 0, 0);
	estimate_apply(s);
	CHECK_EQ(d->is_unknown, 0);
	CHECK_EQ(d->estimated, 400 + 100);
	CHECK(d->error >= 100);
	session_free(s);
}

/* Each process has one thread. */
static void add_processes(struct session *s, const char *const *path, size_t n)
{
	s->processes = mem_grow(NULL, n, sizeof(*s->processes));
	s->threads = mem_grow(NULL, n, sizeof(*s->threads));
	s->process_count = s->thread_count = n;
	for (size_t i = 0; i < n; i++) {
		s->processes[i] = (struct process){ .path = path[i] };
		s->threads[i] = (struct thread){ .process = (uint32_t)i };
	}
}

/* Two programs: one never had the function's module, as far as its chunks say,
 * and no window. */
void test_estimate_knows_who_has_the_module(void)
{
	for (int has = 0; has < 2; has++) {
		struct session *const s = session_new(0);
		const elf_id m = func_module(s->funcs, "/lib.so", NULL, 0, 99);
		const func_id f = func_native(s->funcs, m, 16);
		struct demotion *d;

		add_processes(s, (const char *[]){ "/a", "/b" }, 2);
		demotions_note_module(&s->demotions, 0, m);
		if (has)
			demotions_note_module(&s->demotions, 1, m);
		d = thread_of(s, f, 0, 200, 100);
		thread_of(s, f, 1, 0, 0);
		estimate_apply(s);
		CHECK_EQ(d->is_unknown, has);
		CHECK_EQ(d->estimated, 400);
		session_free(s);
	}
}
