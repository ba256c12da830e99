/* test_chronicle.c - lanes of random threads and coroutines: at every moment
 * they show the stacks of the model's own account; folded, they keep its sums
 * and what is long.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/watch/chronicle.h"
#include "analyzer/watch/shares.h"
#include "tests/test.h"
#include "tests/unit/woven_model.h"

enum { SEEDS = 20, STEPS = 1500 };

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

/* What was found is the chronicle's, which the caller frees. */
static const struct chronicle_found *collect(struct woven *w,
					     struct chronicle_options o,
					     struct chronicle **t)
{
	struct session *const again = session_new(0);
	struct replay *r;

	o.by_coroutine = true;
	o.lanes_of = w->session;
	o.thread_count = w->session->thread_count;
	*t = chronicle_new(&o);
	r = replay_new(again, &chronicle_lanes_sink, *t);
	func_table_free(again->funcs);
	again->funcs = w->session->funcs;
	play(w->m, r, w->seed);
	replay_free(r);
	chronicle_finish(*t);
	again->funcs = NULL;
	session_free(again);
	return chronicle_found(*t);
}

/* The track's span that is there all the while, or NULL. */
static const struct span *at(const struct chronicle_found *t, uint32_t track,
			     unsigned depth, ticks from, ticks to)
{
	const struct track *const k = &t->tracks[track];

	for (size_t i = 0; i < k->count; i++)
		if (k->spans[i].depth == depth && k->spans[i].begin <= from &&
		    k->spans[i].end >= to)
			return &k->spans[i];
	return NULL;
}

static const char *name(const struct woven *w, func_id f)
{
	const char *const source = func_get(w->session->funcs, f)->source;

	return source[0] == '=' ? source + 1 : "";
}

/* A thread's stitched stack while nothing happens, as the model writes it. */
static void read_stack(const struct woven *w, const struct chronicle_found *t,
		       uint32_t lane, ticks from, ticks to, char *out)
{
	const struct span *s;
	bool is_body = false;
	unsigned depth = 0;

	out += sprintf(out, "T%u", w->session->threads[
		t->tracks[lane].thread].serial);
	while ((s = at(t, lane, depth++, from, to))) {
		if (s->kind == SPAN_RUN) {
			lane = s->to;
			depth = 0;
			is_body = true;
		} else if (s->kind == SPAN_CALL) {
			out += sprintf(out, ";%s%s", is_body ? "~" : "",
				       name(w, s->func));
			is_body = false;
		}
	}
}

/* The track of the model's thread. */
static uint32_t track_of(const struct woven *w,
			 const struct chronicle_found *t, int thread)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->tracks[i].coroutine == 0 && w->session->threads[
			t->tracks[i].thread].serial == (uint32_t)thread + 1)
			return i;
	return UINT32_MAX;
}

/* Compare all stacks of the account in a range, and count its calls there. */
static uint64_t compare_stacks(const struct woven *w,
			       const struct chronicle_found *t, ticks from,
			       ticks to)
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
		read_stack(w, t, track_of(w, t, thread), begin, clock[thread],
			   stack);
		if (!CHECK_STR(stack, r->path))
			return 0;
	}
	return calls;
}

static uint64_t sum_calls(const struct chronicle_found *t)
{
	uint64_t calls = t->rest.calls;

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->tracks[i].count; k++)
			calls += t->tracks[i].spans[k].calls;
	CHECK_EQ(calls, t->calls);
	return calls;
}

/* How often and for how long each coroutine ran. */
static void compare_coroutines(const struct woven *w,
			       const struct chronicle_found *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct track *const k = &t->tracks[i];
		const struct m_coroutine *co;

		if (k->coroutine == 0 || k->runs == 0)
			continue;
		co = &w->m->co[k->coroutine - 1];
		CHECK_EQ(k->runs, co->resumes);
		if (co->state != 2)
			CHECK_EQ(k->active, co->active);
	}
}

/* Who resumes a coroutine has it as its guest. */
static void check_arrows(const struct chronicle_found *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->tracks[i].count; k++) {
			const struct span *const s = &t->tracks[i].spans[k];

			if (s->kind != SPAN_RUN)
				continue;
			const struct span *const run =
				at(t, s->to, 0, s->begin, s->end);

			REQUIRE(run && run->kind == SPAN_ACTIVE);
			CHECK_EQ(run->to, i);
		}
}

void test_chronicle_shows_every_stack(void)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct woven w = weave(seed);
		struct chronicle *all;
		const struct chronicle_found *const t = collect(&w,
			(struct chronicle_options){ .max_spans = 0 }, &all);

		CHECK_EQ(t->below, 0);
		CHECK_EQ(compare_stacks(&w, t, 0, UINT64_MAX), w.m->calls);
		CHECK_EQ(sum_calls(t), w.m->calls);
		compare_coroutines(&w, t);
		check_arrows(t);
		chronicle_free(all);
		unweave(&w);
	}
}

/* The span is on the track as it is. */
static bool has(const struct track *k, const struct span *s)
{
	for (size_t i = 0; i < k->count; i++) {
		const struct span *const x = &k->spans[i];

		if (x->begin == s->begin && x->end == s->end &&
		    x->depth == s->depth && x->func == s->func &&
		    x->kind == s->kind && !(x->flags & SPAN_FOLDED))
			return true;
	}
	return false;
}

/* What is as long as the limit is there; sums are those of the whole. */
static void compare_folded(const struct chronicle_found *whole,
			   const struct chronicle_found *t)
{
	for (size_t i = 0; i < whole->count; i++) {
		const struct track *const k = &whole->tracks[i];

		CHECK_EQ(t->tracks[i].runs, k->runs);
		CHECK_EQ(t->tracks[i].active, k->active);
		CHECK_EQ(t->tracks[i].from, k->from);
		CHECK_EQ(t->tracks[i].to, k->to);
		for (size_t j = 0; j < k->count; j++)
			if (k->spans[j].end - k->spans[j].begin >= t->below)
				CHECK(has(&t->tracks[i], &k->spans[j]));
	}
}

static size_t count_spans(const struct chronicle_found *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		count += t->tracks[i].count;
	return count;
}

static void check_spans(const struct chronicle_found *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->tracks[i].count; k++) {
			const struct span *const s = &t->tracks[i].spans[k];

			CHECK(s->begin <= s->end);
			CHECK(s->begin >= t->from && s->end <= t->to);
		}
}

void test_chronicle_folds_without_losing(void)
{
	static const size_t most[] = { 2000, 400, 100, 10 };

	for (unsigned seed = 1; seed <= SEEDS / 4; seed++) {
		struct woven w = weave(seed);
		struct chronicle *all, *some;
		const struct chronicle_found *const whole = collect(&w,
			(struct chronicle_options){ .max_spans = 0 }, &all);

		for (size_t i = 0; i < 4; i++) {
			const struct chronicle_found *const t = collect(&w,
				(struct chronicle_options){
					.max_spans = most[i] }, &some);

			/* What pends at the end is kept besides. */
			CHECK(count_spans(t) <= most[i] + 4 * t->count);
			CHECK(t->below > 0 || count_spans(whole) <= most[i]);
			CHECK_EQ(sum_calls(t), w.m->calls);
			check_spans(t);
			compare_folded(whole, t);
			chronicle_free(some);
		}
		chronicle_free(all);
		unweave(&w);
	}
}

/* A range has the stacks and calls of its time alone. */
void test_chronicle_cuts_at_a_range(void)
{
	for (unsigned seed = 1; seed <= SEEDS / 4; seed++) {
		struct woven w = weave(seed);
		const ticks from = 1000 + (w.m->now - 1000) / 3;
		const ticks to = 1000 + (w.m->now - 1000) / 2;
		struct chronicle *all;
		const struct chronicle_found *const t = collect(&w,
			(struct chronicle_options){ .from = from, .to = to },
			&all);

		CHECK_EQ(compare_stacks(&w, t, from, to), sum_calls(t));
		check_spans(t);
		chronicle_free(all);
		unweave(&w);
	}
}

/* What has no lane is told as a sum. */
void test_chronicle_counts_what_has_no_lane(void)
{
	struct woven w = weave(3);
	struct chronicle *all, *some;
	const struct chronicle_found *const whole = collect(&w,
		(struct chronicle_options){ .most = 0 }, &all);
	const struct chronicle_found *const t = collect(&w,
		(struct chronicle_options){ .most = 5 }, &some);
	uint64_t runs = t->rest.runs, every = 0;
	size_t shown = 0;

	CHECK_EQ(t->rest.coroutines, w.session->coroutine_count - 5);
	CHECK_EQ(sum_calls(t), w.m->calls);
	for (size_t i = 0; i < t->count; i++) {
		shown += t->tracks[i].coroutine != 0 && t->tracks[i].count > 0;
		runs += t->tracks[i].coroutine ? t->tracks[i].runs : 0;
		every += whole->tracks[i].coroutine ? whole->tracks[i].runs : 0;
	}
	CHECK_EQ(shown, 5);
	CHECK_EQ(runs, every);
	chronicle_free(all);
	chronicle_free(some);
	unweave(&w);
}

/* Only one thread; only one coroutine, with those that it resumed. */
void test_chronicle_shows_what_was_asked_for(void)
{
	const uint8_t threads[M_THREADS] = { 0, 1, 0 };
	struct woven w = weave(4);
	struct chronicle *some;
	const struct chronicle_found *t = collect(&w,
		(struct chronicle_options){ .threads = threads }, &some);

	for (size_t i = 0; i < t->count; i++)
		CHECK(t->tracks[i].runs == 0 || t->tracks[i].thread == 1 ||
		      t->tracks[i].coroutine != 0);
	chronicle_free(some);
	t = collect(&w, (struct chronicle_options){ .serial = 7 }, &some);
	for (size_t i = 0; i < t->count; i++) {
		const struct track *const k = &t->tracks[i];

		CHECK(k->coroutine != 0 || k->count == 0);
		if (k->coroutine == 7)
			CHECK_EQ(k->runs, w.m->co[6].resumes);
	}
	chronicle_free(some);
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

static void calls_of(const char *inner)
{
	cb_noted(&built, NOTED_CALLS, 0, 0, inner ? 2 : 1, 1);
	cb_frame(&built, "outer", 0);
	if (inner)
		cb_frame(&built, inner, 0);
}

static void tick_in(const char *inner, uint64_t ns, uint64_t gap)
{
	cb_noted(&built, NOTED_INTERPRETED, ns, 0, 2, gap);
	cb_frame(&built, "outer", 1);
	cb_frame(&built, inner, 2);
}

/* Sampled Lua makes a call, is seen by ticks, and resumes a coroutine, which
 * makes calls. */
static void give_sampled(struct replay *r)
{
	cb_begin(&built, 1, 1, 0, 0);
	cb_enter(&built, "run", 0);
	calls_of("inner");
	cb_leaf(&built, "call", 1, 3);
	tick_in("other", 4, 5);
	tick_in("inner", 4, 4);
	calls_of(NULL);
	cb_resume(&built, 7, 0, 0, 0, 2);
	calls_of("inner");
	cb_enter(&built, "call", 1);
	cb_leaf(&built, "below", 1, 1);
	cb_leave(&built, "call", 1);
	cb_suspend(&built, 7, SUSPEND_YIELD, 1);
	cb_leaf(&built, "beside", 1, 2);
	cb_leave(&built, "run", 8);
	give(r, 60);
}

/* A track is called by its thread's or its coroutine's serial. */
static const char *track_name(const struct session *s,
			      const struct chronicle_found *t, uint32_t track,
			      char to[16])
{
	if (track >= t->count)
		return "-";
	if (t->tracks[track].coroutine != 0)
		sprintf(to, "C%d", (int)t->tracks[track].coroutine);
	else
		sprintf(to, "T%u", s->threads[t->tracks[track].thread].serial);
	return to;
}

static void tell_span(const struct session *s, const struct chronicle_found *t,
		      const struct span *x)
{
	char a[16], *const end = told + strlen(told);
	const int from = (int)x->begin, to = (int)x->end;

	if (x->kind == SPAN_ACTIVE)
		sprintf(end, " %d-%d %s%s", from, to,
			track_name(s, t, x->to, a),
			x->flags & SPAN_BACK ? "<" : "");
	else if (x->kind == SPAN_RUN)
		sprintf(end, " %d-%d:%u %s", from, to, x->depth,
			track_name(s, t, x->to, a));
	else if (x->kind == SPAN_SAMPLED)
		sprintf(end, " %d-%d:%u %s?", from, to, x->depth,
			func_get(s->funcs, x->func)->source + 1);
	else if (x->kind == SPAN_CALL)
		sprintf(end, " %d-%d:%u %s*%d", from, to, x->depth,
			func_get(s->funcs, x->func)->source + 1,
			(int)x->calls);
	else
		sprintf(end, " %d-%d %s", from, to,
			x->kind == SPAN_MISSING ? "lost" : "off");
}

/* All lanes as text. */
static const char *tell(void (*give_all)(struct replay *))
{
	struct session *const s = session_new(0), *const again = session_new(0);
	struct replay *r = replay_new(s, NULL, NULL);
	const struct chronicle_found *found;
	struct chronicle *t;
	char track[16];

	give_all(r);
	replay_finish(r);
	replay_free(r);
	t = chronicle_new(&(struct chronicle_options){
		.by_coroutine = true, .lanes_of = s });
	r = replay_new(again, &chronicle_lanes_sink, t);
	give_all(r);
	replay_finish(r);
	replay_free(r);
	chronicle_finish(t);
	found = chronicle_found(t);
	told[0] = '\0';
	for (uint32_t i = 0; i < found->count; i++) {
		const struct track *const k = &found->tracks[i];

		if (k->count == 0)
			continue;
		sprintf(told + strlen(told), "%s:",
			track_name(s, found, i, track));
		for (size_t j = 0; j < k->count; j++)
			tell_span(s, found, &k->spans[j]);
		strcat(told, "\n");
	}
	chronicle_free(t);
	session_free(s);
	session_free(again);
	return told;
}

void test_chronicle_follows_a_coroutine_between_threads(void)
{
	CHECK_STR(tell(give_moving),
		  "T1: 0-20 - 0-15:1 main*1 4-10:2 C9\n"
		  "C9: 4-10 T1< 4-10:1 body*1 5-7:2 leaf*1"
		  " 30-35 C8< 30-35:1 body*0\n"
		  "T2: 0-40 - 0-40:1 worker*1 20-40:2 C8\n"
		  "C8: 20-40 T2 20-40:1 other*1 30-35:2 C9\n");
}

void test_chronicle_shows_gaps(void)
{
	CHECK_STR(tell(give_lossy),
		  "T1: 0-10 - 0-10:1 main*1 4-10:2 C9 10-50 lost 50-60 -"
		  " 50-55:1 main*0 60-80 off 80-90 - 81-83:1 late*1\n"
		  "C9: 4-10 T1 4-10:1 body*1\n");
}

/* What sampled Lua called is below it for as long as the call lasts, and what
 * it resumed; else only ticks tell, each for the time that it stands for. */
void test_chronicle_shows_sampled_lua(void)
{
	CHECK_STR(tell(give_sampled),
		  "T1: 0-60 - 0-34:1 run*1 2-5:2 outer*0 2-5:3 inner*0"
		  " 2-5:4 call*1 6-14:2 outer? 6-10:3 other? 10-14:3 inner?"
		  " 17-23:2 outer*0 17-23:3 C7 24-26:2 beside*1\n"
		  "C7: 17-23 T1< 19-22:1 outer*0 19-22:2 inner*0"
		  " 19-22:3 call*1 20-21:4 below*1\n");
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
