/* test_path.c - steps have no gaps, and each has its reason: lanes and waits
 * that are made by hand. SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/waits/path.h"
#include "tests/test.h"

static const struct waits_object lock = { 0, WAIT_MUTEX, 0x1000, 0 };

static void put(struct track *k, enum span_kind kind, ticks begin, ticks end,
		uint32_t depth, func_id func, uint32_t to)
{
	track_add(k, &(struct span){ .kind = (uint8_t)kind, .begin = begin,
		.end = end, .depth = depth, .func = func, .to = to }, 0);
}

static bool is_step(const struct path_step *s, enum path_kind kind,
		    uint32_t depth, ticks begin, ticks end)
{
	return s->kind == kind && s->depth == depth && s->begin == begin &&
	       s->end == end;
}

static func_id innermost(const struct waits *w, stack_id stack)
{
	return stack ? stack_table_get(w->stacks, stack)->func : 0;
}

/* Two tracks, what thread 0 waited for, and the steps of who is asked for. */
struct made {
	struct session *session;
	struct track tracks[2], off;
	struct chronicle_found found;
	struct waits w;
	struct path *path;
	struct path_step *steps;
	size_t count;
};

static void begin(struct made *m)
{
	*m = (struct made){ .session = session_new(0) };
	m->found = (struct chronicle_found){ .tracks = m->tracks, .count = 2 };
	waits_init(&m->w, m->session);
	m->w.spans = mem_alloc(sizeof(*m->w.spans));
	m->w.ends = mem_alloc(sizeof(*m->w.ends));
}

static void follow(struct made *m, uint64_t coroutine, ticks from, ticks to)
{
	track_finish(&m->tracks[0]);
	track_finish(&m->tracks[1]);
	track_finish(&m->off);
	m->tracks[0].waits = &m->off;
	m->path = path_new(m->session, &m->found, &m->w);
	m->steps = path_steps(m->path, &(struct path_who){ true, 0, 0,
			      coroutine }, from, to, 1, &m->count);
}

static void end(struct made *m)
{
	mem_free(m->steps);
	path_free(m->path);
	m->tracks[0].waits = NULL;
	track_fini(&m->tracks[0]);
	track_fini(&m->tracks[1]);
	track_fini(&m->off);
	waits_fini(&m->w);
	session_free(m->session);
}

/* Thread 0 runs function 1, wants the lock at 20, which thread 1 lets go at 50
 * in function 2; has no core from then until 60, while thread 1 runs; and
 * sleeps from 70 to 80. */
static void make_lock(struct made *m)
{
	begin(m);
	m->tracks[1].thread = 1;
	m->w.span_count = m->w.end_count = 1;
	*m->w.spans = (struct waits_span){ .of = lock, .begin = 20, .end = 61 };
	*m->w.ends = (struct waits_end){ .of = lock, .at = 50,
		.thread = 1 };
	put(&m->tracks[0], SPAN_CALL, 0, 100, 1, 1, TRACK_NONE);
	put(&m->tracks[0], SPAN_ACTIVE, 0, 100, 0, 0, TRACK_NONE);
	put(&m->off, SPAN_BLOCKED, 21, 50, 0, 0, TRACK_NONE);
	put(&m->off, SPAN_READY, 50, 60, 0, 0, TRACK_NONE);
	put(&m->off, SPAN_BLOCKED, 70, 80, 0, 0, TRACK_NONE);
	put(&m->tracks[1], SPAN_CALL, 0, 100, 1, 2, TRACK_NONE);
	put(&m->tracks[1], SPAN_ACTIVE, 0, 100, 0, 0, TRACK_NONE);
	follow(m, 0, 10, 90);
}

void test_path_lock(void)
{
	struct made m;
	const struct path_step *s;

	make_lock(&m);
	s = m.steps;
	CHECK(m.count == 8);
	CHECK(is_step(&s[0], PATH_RUNS, 0, 10, 20));
	CHECK(innermost(&m.w, s[0].stack) == 1);
	CHECK(is_step(&s[1], PATH_WAITS, 0, 20, 50));
	CHECK(s[1].by.is_known && s[1].by.thread == 1);
	CHECK(is_step(&s[2], PATH_RUNS, 1, 20, 50));
	CHECK(s[2].who.thread == 1 && innermost(&m.w, s[2].stack) == 2);
	CHECK(is_step(&s[3], PATH_READY, 0, 50, 60));
	CHECK(s[3].by.thread == 1 && innermost(&m.w, s[3].by_stack) == 2);
	CHECK(is_step(&s[4], PATH_WAITS, 0, 60, 61) && !s[4].by.is_known);
	CHECK(is_step(&s[5], PATH_RUNS, 0, 61, 70));
	CHECK(is_step(&s[6], PATH_BLOCKED, 0, 70, 80));
	CHECK(is_step(&s[7], PATH_RUNS, 0, 80, 90));
	end(&m);
}

/* Coroutine 7 is resumed by thread 0 from 10 to 20 and from 40 to 50, and never
 * again. */
void test_path_suspended(void)
{
	struct made m;
	const struct path_step *s;

	begin(&m);
	m.tracks[1].coroutine = 7;
	put(&m.tracks[0], SPAN_RUN, 10, 20, 2, 0, 1);
	put(&m.tracks[0], SPAN_RUN, 40, 50, 2, 0, 1);
	put(&m.tracks[0], SPAN_CALL, 0, 90, 1, 1, TRACK_NONE);
	put(&m.tracks[0], SPAN_ACTIVE, 0, 90, 0, 0, TRACK_NONE);
	put(&m.tracks[1], SPAN_CALL, 10, 20, 1, 2, TRACK_NONE);
	put(&m.tracks[1], SPAN_ACTIVE, 10, 20, 0, 0, 0);
	put(&m.tracks[1], SPAN_CALL, 40, 50, 1, 2, TRACK_NONE);
	put(&m.tracks[1], SPAN_ACTIVE, 40, 50, 0, 0, 0);
	follow(&m, 7, 10, 100);
	s = m.steps;
	CHECK(m.count == 5);
	CHECK(is_step(&s[0], PATH_RUNS, 0, 10, 20));
	CHECK(stack_table_depth(m.w.stacks, s[0].stack) == 2 &&
	      innermost(&m.w, s[0].stack) == 2);
	CHECK(is_step(&s[1], PATH_SUSPENDED, 0, 20, 40));
	CHECK(innermost(&m.w, s[1].stack) == 2);
	CHECK(s[1].by.is_known && s[1].by.coroutine == 0 &&
	      innermost(&m.w, s[1].by_stack) == 1);
	CHECK(is_step(&s[2], PATH_RUNS, 1, 20, 40));
	CHECK(is_step(&s[3], PATH_RUNS, 0, 40, 50));
	CHECK(is_step(&s[4], PATH_SUSPENDED, 0, 50, 100) && !s[4].by.is_known);
	end(&m);
}
