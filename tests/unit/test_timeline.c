/* test_timeline.c - lanes of random threads and coroutines: at every moment
 * they show the stacks of the model's own account; folded, they keep its sums
 * and what is long.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/watch/shares.h"
#include "analyzer/watch/timeline.h"
#include "tests/test.h"
#include "tests/unit/woven_model.h"

enum { SEEDS = 20, STEPS = 1500, ALL = 1 << 20 };

/* What the model did, replayed: once for the session, then for the lanes. */
struct woven {
	struct model *m;
	struct session *session;
	unsigned seed;
};

/* Threads come in turns of random length. */
static void play(const struct model *m, struct replay *r, unsigned seed)
{
	int next[M_THREADS] = { 0 };

	for (int left = m->chunks; left > 0; ) {
		const int t = (int)m_random(&seed, M_THREADS);
		struct chunk v;

		for (unsigned turn = m_random(&seed, 8); turn > 0; turn--) {
			while (next[t] < m->chunks &&
			       m->chunk[next[t]].thread != t)
				next[t]++;
			if (next[t] == m->chunks)
				break;
			REQUIRE(decode_chunk(&v, m->chunk[next[t]].words,
					     m->chunk[next[t]].n) == 0);
			replay_chunk(r, &v);
			next[t]++;
			left--;
		}
	}
	replay_finish(r);
}

static struct woven weave(unsigned seed)
{
	struct woven w = { m_run(seed, seed + 1, 40, STEPS), session_new(0),
			   seed + 2 };
	struct replay *const r = replay_new(w.session, NULL, NULL);

	play(w.m, r, w.seed);
	replay_free(r);
	return w;
}

static void unweave(struct woven *w)
{
	session_free(w->session);
	m_free(w->m);
}

static struct timeline *collect(struct woven *w, struct timeline_options o)
{
	struct timeline *const t = timeline_new(w->session, &o);
	struct session *const again = session_new(0);
	struct replay *const r = replay_new(again, &timeline_sink, t);

	func_table_free(again->funcs);
	again->funcs = w->session->funcs;
	play(w->m, r, w->seed);
	replay_free(r);
	timeline_finish(t);
	again->funcs = NULL;
	session_free(again);
	return t;
}

/* The lane's span that is there all the while, or NULL. */
static const struct timeline_span *at(const struct timeline *t, uint32_t lane,
				      unsigned depth, ticks from, ticks to)
{
	const struct timeline_spans *const s = &t->lanes[lane].spans;

	for (size_t i = 0; i < s->count; i++)
		if (s->at[i].depth == depth && s->at[i].from <= from &&
		    s->at[i].to >= to)
			return &s->at[i];
	return NULL;
}

static const char *name(const struct woven *w, func_id f)
{
	const char *const source = func_get(w->session->funcs, f)->source;

	return source[0] == '=' ? source + 1 : "";
}

/* A thread's stitched stack while nothing happens, as the model writes it. */
static void read_stack(const struct woven *w, const struct timeline *t,
		       uint32_t lane, ticks from, ticks to, char *out)
{
	const struct timeline_span *s;
	bool is_body = false;
	unsigned depth = 0;

	out += sprintf(out, "T%u", w->session->threads[lane].serial);
	while ((s = at(t, lane, depth++, from, to))) {
		if (s->kind == TIMELINE_GUEST) {
			lane = s->who;
			depth = 0;
			is_body = true;
		} else if (s->kind == TIMELINE_CALL) {
			out += sprintf(out, ";%s%s", is_body ? "~" : "",
				       name(w, s->func));
			is_body = false;
		}
	}
}

/* The session's index of the model's thread. */
static uint32_t thread_of(const struct woven *w, int thread)
{
	for (uint32_t i = 0; i < w->session->thread_count; i++)
		if (w->session->threads[i].serial == (uint32_t)thread + 1)
			return i;
	return UINT32_MAX;
}

/* Compare all stacks of the account in a range, and count its calls there. */
static uint64_t compare_stacks(const struct woven *w, const struct timeline *t,
			       ticks from, ticks to)
{
	ticks clock[M_THREADS] = { 1000, 1000, 1000 };
	char stack[M_PATH];
	uint64_t calls = 0;

	for (size_t i = 0; i < w->m->rows; i++) {
		const struct m_row *const r = &w->m->row[i];
		const int thread = w->m->chunk[r->chunk].thread;
		const ticks begin = clock[thread];

		clock[thread] += r->self;
		calls += begin >= from && begin < to ? r->calls : 0;
		if (r->self == 0 || begin < from || clock[thread] > to)
			continue;
		read_stack(w, t, thread_of(w, thread), begin, clock[thread],
			   stack);
		if (!CHECK_STR(stack, r->path))
			return 0;
	}
	return calls;
}

static uint64_t sum_calls(const struct timeline *t)
{
	uint64_t calls = t->rest.calls;

	for (size_t i = 0; i < t->lane_count; i++)
		calls += t->lanes[i].calls;
	return calls;
}

/* How often and for how long each coroutine ran. */
static void compare_coroutines(const struct woven *w, const struct timeline *t)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct timeline_lane *const l = &t->lanes[i];
		const struct m_coroutine *co;

		if (!l->is_coroutine)
			continue;
		co = &w->m->co[w->session->coroutines[l->coroutine].serial - 1];
		CHECK_EQ(l->runs, co->resumes);
		if (co->state != 2)
			CHECK_EQ(l->active, co->active);
	}
}

/* Who resumes a coroutine has it as its guest, and gets it back. */
static void check_arrows(const struct timeline *t)
{
	for (uint32_t i = 0; i < t->lane_count; i++)
		for (size_t k = 0; k < t->lanes[i].spans.count; k++) {
			const struct timeline_span *const s =
				&t->lanes[i].spans.at[k];

			if (s->kind != TIMELINE_GUEST)
				continue;
			const struct timeline_span *const run =
				at(t, s->who, 0, s->from, s->to);

			REQUIRE(run);
			CHECK_EQ(run->by, i);
			CHECK(run->back == i || run->back == TIMELINE_NONE);
		}
}

void test_timeline_shows_every_stack(void)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct woven w = weave(seed);
		struct timeline *const t = collect(&w,
			(struct timeline_options){ .spans = ALL });

		CHECK_EQ(t->grain, 0);
		CHECK_EQ(compare_stacks(&w, t, 0, UINT64_MAX), w.m->calls);
		CHECK_EQ(sum_calls(t), w.m->calls);
		compare_coroutines(&w, t);
		check_arrows(t);
		timeline_free(t);
		unweave(&w);
	}
}

/* The span is in the lane as it is. */
static bool has(const struct timeline_lane *l, const struct timeline_span *s)
{
	for (size_t i = 0; i < l->spans.count; i++) {
		const struct timeline_span *const x = &l->spans.at[i];

		if (x->from == s->from && x->to == s->to &&
		    x->depth == s->depth && x->func == s->func &&
		    x->kind == s->kind && x->parts == 1)
			return true;
	}
	return false;
}

/* What is as long as a grain is there; sums are those of the whole. */
static void compare_folded(const struct timeline *whole,
			   const struct timeline *t)
{
	for (size_t i = 0; i < whole->lane_count; i++) {
		const struct timeline_lane *const l = &whole->lanes[i];

		CHECK_EQ(t->lanes[i].runs, l->runs);
		CHECK_EQ(t->lanes[i].active, l->active);
		CHECK_EQ(t->lanes[i].begin, l->begin);
		CHECK_EQ(t->lanes[i].end, l->end);
		for (size_t k = 0; k < l->spans.count; k++) {
			const struct timeline_span *const s = &l->spans.at[k];

			if (s->to - s->from >= t->grain &&
			    s->depth < t->depths)
				CHECK(has(&t->lanes[i], s));
		}
	}
}

static size_t count_spans(const struct timeline *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->lane_count; i++)
		count += t->lanes[i].spans.count + t->lanes[i].gaps.count;
	return count;
}

static void check_spans(const struct timeline *t)
{
	for (size_t i = 0; i < t->lane_count; i++)
		for (size_t k = 0; k < t->lanes[i].spans.count; k++) {
			const struct timeline_span *const s =
				&t->lanes[i].spans.at[k];

			CHECK(s->longest <= s->busy);
			CHECK(s->busy <= s->to - s->from);
			CHECK(s->depth < t->depths);
			CHECK(s->from >= t->from && s->to <= t->to);
		}
}

void test_timeline_folds_without_losing(void)
{
	static const size_t most[] = { 2000, 400, 100, 10 };

	for (unsigned seed = 1; seed <= SEEDS / 4; seed++) {
		struct woven w = weave(seed);
		struct timeline *const whole = collect(&w,
			(struct timeline_options){ .spans = ALL });

		for (size_t i = 0; i < 4; i++) {
			struct timeline *const t = collect(&w,
				(struct timeline_options){ .spans = most[i] });

			CHECK(count_spans(t) <= most[i] || t->depths == 1);
			CHECK(count_spans(t) <= most[i] + t->lane_count);
			CHECK(t->grain > 0 ||
			      count_spans(whole) <= 2 * most[i]);
			CHECK_EQ(sum_calls(t), w.m->calls);
			check_spans(t);
			compare_folded(whole, t);
			timeline_free(t);
		}
		timeline_free(whole);
		unweave(&w);
	}
}

/* A range has the stacks and calls of its time alone. */
void test_timeline_cuts_at_a_range(void)
{
	for (unsigned seed = 1; seed <= SEEDS / 4; seed++) {
		struct woven w = weave(seed);
		const ticks from = 1000 + (w.m->now - 1000) / 3;
		const ticks to = 1000 + (w.m->now - 1000) / 2;
		struct timeline *const t = collect(&w,
			(struct timeline_options){ .from = from, .to = to,
						   .spans = ALL });

		CHECK_EQ(compare_stacks(&w, t, from, to), sum_calls(t));
		check_spans(t);
		timeline_free(t);
		unweave(&w);
	}
}

/* What has no lane is told as a sum. */
void test_timeline_counts_what_has_no_lane(void)
{
	struct woven w = weave(3);
	struct timeline *const whole = collect(&w,
		(struct timeline_options){ .spans = ALL });
	struct timeline *const t = collect(&w,
		(struct timeline_options){ .spans = ALL, .coroutines = 5 });
	uint64_t runs = t->rest.runs, all = 0;

	CHECK_EQ(t->lane_count, M_THREADS + 5);
	CHECK_EQ(t->rest.coroutines, w.session->coroutine_count - 5);
	CHECK_EQ(sum_calls(t), w.m->calls);
	for (size_t i = M_THREADS; i < t->lane_count; i++)
		runs += t->lanes[i].runs;
	for (size_t i = M_THREADS; i < whole->lane_count; i++)
		all += whole->lanes[i].runs;
	CHECK_EQ(runs, all);
	timeline_free(whole);
	timeline_free(t);
	unweave(&w);
}

/* Only one thread; only one coroutine, with those that it resumed. */
void test_timeline_shows_what_was_asked_for(void)
{
	const uint8_t threads[M_THREADS] = { 0, 1, 0 };
	struct woven w = weave(4);
	struct timeline *t = collect(&w,
		(struct timeline_options){ .spans = ALL, .threads = threads });

	CHECK(t->lanes[0].runs == 0 && t->lanes[2].runs == 0);
	CHECK(t->lanes[1].runs > 0);
	timeline_free(t);
	t = collect(&w, (struct timeline_options){ .spans = ALL,
						   .coroutine = 7 });
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct timeline_lane *const l = &t->lanes[i];
		const uint64_t serial = !l->is_coroutine ? 0 :
			w.session->coroutines[l->coroutine].serial;

		CHECK(l->is_coroutine || l->spans.count == 0);
		if (serial == 7)
			CHECK_EQ(l->runs, w.m->co[6].resumes);
	}
	timeline_free(t);
	unweave(&w);
}

/* ---- told by hand ------------------------------------------------------- */

static struct chunk_build built;
static char told[2048];

static void give(struct replay *r, ticks end)
{
	struct chunk v;

	cb_end(&built, end);
	REQUIRE(decode_chunk(&v, built.words, built.n) == 0);
	replay_chunk(r, &v);
}

/* A coroutine runs on one thread, then on another, resumed by coroutine 8. */
static void give_moving(struct replay *r)
{
	cb_begin(&built, 1, 1, 0, 0);
	cb_enter(&built, "main", 0);
	cb_create(&built, 9, 3, 1);
	cb_resume(&built, 9, 0, 0, 0, 3);
	cb_enter(&built, "body", 0);
	cb_leaf(&built, "leaf", 1, 2);
	cb_suspend(&built, 9, SUSPEND_YIELD, 3);
	cb_leave(&built, "main", 5);
	give(r, 20);
	cb_begin(&built, 1, 2, 0, 0);
	cb_enter(&built, "worker", 0);
	cb_resume(&built, 8, 0, 0, 0, 20);
	cb_enter(&built, "other", 0);
	cb_resume(&built, 9, RESUME_STACK, 20, 1, 10);
	cb_frame(&built, "body", 6);
	cb_leave(&built, "body", 5);
	cb_suspend(&built, 9, SUSPEND_RETURN, 0);
	give(r, 40);
}

/* A chunk is missing, with the end of a coroutine; then recording was off. */
static void give_lossy(struct replay *r)
{
	cb_begin(&built, 1, 1, 0, 0);
	cb_enter(&built, "main", 0);
	cb_resume(&built, 9, 0, 0, 0, 4);
	cb_enter(&built, "body", 0);
	give(r, 10);
	cb_begin(&built, 1, 1, 2, 50);
	cb_open(&built, "main", 50);
	cb_leave(&built, "main", 5);
	built.header.flags |= CHUNK_LAST;
	give(r, 60);
	cb_begin(&built, 1, 1, 3, 80);
	cb_leaf(&built, "late", 1, 2);
	give(r, 90);
}

/* A lane is called by its thread's or its coroutine's serial. */
static const char *lane_name(const struct session *s, const struct timeline *t,
			     uint32_t lane, char to[16])
{
	if (lane >= t->lane_count)
		return "-";
	if (t->lanes[lane].is_coroutine)
		sprintf(to, "C%d", (int)s->coroutines[
			t->lanes[lane].coroutine].serial);
	else
		sprintf(to, "T%u", s->threads[t->lanes[lane].thread].serial);
	return to;
}

static void tell_span(const struct session *s, const struct timeline *t,
		      const struct timeline_span *x)
{
	char a[16], c[16], *const end = told + strlen(told);
	const int from = (int)x->from, to = (int)x->to;

	if (x->kind == TIMELINE_RUN)
		sprintf(end, " %d-%d %s>%s", from, to,
			lane_name(s, t, x->by, a), lane_name(s, t, x->back, c));
	else if (x->kind == TIMELINE_GUEST)
		sprintf(end, " %d-%d:%u %s", from, to, x->depth,
			lane_name(s, t, x->who, a));
	else if (x->kind == TIMELINE_CALL)
		sprintf(end, " %d-%d:%u %s*%d", from, to, x->depth,
			func_get(s->funcs, x->func)->source + 1,
			(int)x->calls);
	else
		sprintf(end, " %d-%d %s", from, to,
			x->kind == TIMELINE_LOST ? "lost" : "off");
}

/* All lanes as text. */
static const char *tell(void (*give_all)(struct replay *))
{
	struct session *const s = session_new(0), *const again = session_new(0);
	struct replay *r = replay_new(s, NULL, NULL);
	struct timeline *t;
	char lane[16];

	give_all(r);
	replay_finish(r);
	replay_free(r);
	t = timeline_new(s, &(struct timeline_options){ .spans = ALL });
	r = replay_new(again, &timeline_sink, t);
	give_all(r);
	replay_finish(r);
	replay_free(r);
	timeline_finish(t);
	told[0] = '\0';
	for (uint32_t i = 0; i < t->lane_count; i++) {
		const struct timeline_lane *const l = &t->lanes[i];

		sprintf(told + strlen(told), "%s:", lane_name(s, t, i, lane));
		for (size_t k = 0; k < l->spans.count; k++)
			tell_span(s, t, &l->spans.at[k]);
		for (size_t k = 0; k < l->gaps.count; k++)
			tell_span(s, t, &l->gaps.at[k]);
		strcat(told, "\n");
	}
	timeline_free(t);
	session_free(s);
	session_free(again);
	return told;
}

void test_timeline_follows_a_coroutine_between_threads(void)
{
	CHECK_STR(tell(give_moving),
		  "T1: 0-20 ->- 0-15:1 main*1 4-10:2 C9\n"
		  "T2: 0-40 ->- 0-40:1 worker*1 20-40:2 C8\n"
		  "C9: 4-10 T1>T1 4-10:1 body*1 5-7:2 leaf*1"
		  " 30-35 C8>C8 30-35:1 body*0\n"
		  "C8: 20-40 T2>- 20-40:1 other*1 30-35:2 C9\n");
}

void test_timeline_shows_gaps(void)
{
	CHECK_STR(tell(give_lossy),
		  "T1: 0-10 ->- 0-10:1 main*1 4-10:2 C9 50-60 ->-"
		  " 50-55:1 main*0 80-90 ->- 81-83:1 late*1"
		  " 10-50 lost 60-80 off\n"
		  "C9: 4-10 T1>- 4-10:1 body*1\n");
}

/* ---- shares over time --------------------------------------------------- */

enum { COLUMNS = 7, NAMES = 3, RANGE = 1000 };

/* Names a and b have rows; tick by tick, who was innermost on any thread? */
static void count_ticks(const struct model *m, ticks from,
			ticks cell[NAMES + 1][COLUMNS])
{
	ticks clock[M_THREADS] = { 1000, 1000, 1000 };

	for (size_t i = 0; i < m->rows; i++) {
		const struct m_row *const r = &m->row[i];
		ticks *const now = &clock[m->chunk[r->chunk].thread];
		const char *const last = strrchr(r->path, ';');
		const char f = !last ? 0 : last[1] == '~' ? last[2] : last[1];
		const size_t row = f == 'a' ? 0 : f == 'b' ? 1 : f ? 2 : 3;

		for (uint64_t k = 0; k < r->self; k++, ++*now) {
			size_t c = 0;

			if (*now < from || *now >= from + RANGE)
				continue;
			while (*now - from >= RANGE * (c + 1) / COLUMNS)
				c++;
			cell[row][c]++;
		}
	}
}

void test_shares_are_those_of_each_tick(void)
{
	struct woven w = weave(6);
	const size_t funcs = func_count(w.session->funcs) + 1;
	uint32_t *const row_of = calloc(funcs, sizeof(*row_of));
	ticks cell[NAMES + 1][COLUMNS] = { 0 };
	struct shares s = {
		.session = w.session, .from = 1500, .to = 1500 + RANGE,
		.columns = COLUMNS, .row_of = row_of, .funcs = funcs,
		.rows = 2 };
	struct session *const again = session_new(0);
	struct replay *const r = replay_new(again, &shares_sink, &s);

	for (func_id f = 1; f < funcs; f++)
		row_of[f] = !strcmp(name(&w, f), "a") ? 1 :
			    !strcmp(name(&w, f), "b") ? 2 : 0;
	shares_begin(&s);
	play(w.m, r, w.seed);
	replay_free(r);
	count_ticks(w.m, s.from, cell);
	CHECK_MEM(s.cells, cell, sizeof(cell));
	CHECK_EQ(shares_column(&s, COLUMNS), s.to);
	CHECK(cell[0][0] + cell[1][0] > 0 && cell[2][0] > 0);
	session_free(again);
	free(row_of);
	mem_free(s.cells);
	mem_free(s.off);
	unweave(&w);
}

/* A lane that two streams share is folded between them: a call of the second
 * one takes no calls of the first, though these lie within its time. */
void test_timeline_keeps_streams_apart_when_folding(void)
{
	struct timeline_lane lane = { .is_mixed = true };
	struct timeline t = { .lanes = &lane, .lane_count = 1, .to = 1000,
			      .grain = 500, .depths = 8 };
	struct timeline_span s = { .from = 90, .to = 95, .busy = 5,
		.longest = 5, .calls = 7, .parts = 1, .depth = 2,
		.kind = TIMELINE_CALL };

	timeline_lay(&t, &lane.spans, s);
	timeline_fold(&t);
	s = (struct timeline_span){ .from = 40, .to = 101, .busy = 61,
		.longest = 61, .calls = 1, .parts = 1, .depth = 1,
		.kind = TIMELINE_CALL };
	timeline_lay(&t, &lane.spans, s);
	CHECK_EQ(lane.spans.count, 2);
	CHECK_EQ(lane.spans.at[1].calls, 1);
	mem_free(lane.spans.at);
	mem_free(lane.gaps.at);
}
