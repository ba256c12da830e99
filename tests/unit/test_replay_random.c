/* test_replay_random.c - random threads and coroutines: the replay's tree
 * equals the model's account, however the streams are cut, ordered and thinned
 * out.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/model/hist.h"
#include "analyzer/replay/lanes.h"
#include "tests/test.h"
#include "tests/unit/woven_model.h"

#include <inttypes.h>

enum { SEEDS = 60, STEPS = 2000 };

struct events {
	uint64_t seen, leaves, enters, batches;
	ticks brief;             /* what on_calls returned last */
	bool is_of_ends;
	long balance[64];
};

static void on_enter(void *ctx, const struct replay_event *e)
{
	struct events *const v = ctx;

	v->seen += e->why == REPLAY_SEEN;
	v->enters++;
	v->balance[e->func % 64]++;
}

static void on_leave(void *ctx, const struct replay_event *e)
{
	struct events *const v = ctx;

	v->leaves++;
	v->balance[e->func % 64]--;
}

static void on_end(void *ctx, const struct replay_event *e)
{
	struct events *const v = ctx;

	(void)e;
	v->leaves++;
}

/* Only the last call of a batch may take as long as was asked for; then the
 * stack is the one that it was on. */
static ticks on_calls(void *ctx, const struct replay_event *e,
		      const struct replay_call *call, size_t n)
{
	struct events *const v = ctx;

	for (size_t i = 0; i < n; i++) {
		CHECK(call[i].begin <= call[i].end);
		CHECK(call[i].self <= call[i].end - call[i].begin);
		CHECK(i == 0 || call[i - 1].end <= call[i].end);
		CHECK(i + 1 == n ||
		      call[i].end - call[i].begin < v->brief);
	}
	CHECK_EQ(e->tick, call[n - 1].end);
	if (call[n - 1].end - call[n - 1].begin >= v->brief)
		CHECK_EQ(stream_depth(e->stream), call[n - 1].depth);
	v->leaves += n;
	v->batches += n > 1;
	v->brief = v->leaves % 3 * 40;
	return v->brief;
}

/* Every second seed is told of calls when they end. */
static const struct replay_sink sinks[2] = {
	{ .enter = on_enter, .leave = on_leave },
	{ .enter = on_enter, .leave = on_end, .calls = on_calls } };

/* Who replays: one replay with a sink, or so many workers. */
struct player { struct replay *replay; struct lanes *lanes; };

static void play(struct player *p, const struct m_chunk *c)
{
	struct chunk v;

	if (!CHECK(decode_chunk(&v, c->words, c->n) == 0))
		err_print(stderr, "view");
	else if (p->lanes)
		CHECK_EQ(lanes_chunk(p->lanes, &v), 0);
	else
		replay_chunk(p->replay, &v);
}

/* Replay the kept chunks, threads in turns of random length. jobs: how many
 * workers, if there are no events. by_vm: bodies of one function differ by
 * their Lua states. */
static struct session *replay_model(const struct model *m, const char *kept,
				    unsigned seed, struct events *events,
				    unsigned jobs, bool by_vm)
{
	const struct replay_collect want = { .hist = true, .vm = by_vm };
	struct session *const s = session_new(0);
	struct player p = {
		.replay = events ? replay_new(s, &sinks[seed % 2], events) :
				   NULL,
		.lanes = events ? NULL : lanes_new(s, &want, jobs) };
	int next[M_THREADS] = { 0 };
	int left = m->chunks;

	while (left > 0) {
		const unsigned t = m_random(&seed, M_THREADS);
		unsigned turn = m_random(&seed, 8);

		for (; turn-- && left > 0; next[t]++) {
			while (next[t] < m->chunks &&
			       m->chunk[next[t]].thread != (int)t)
				next[t]++;
			if (next[t] >= m->chunks)
				break;
			left--;
			if (kept[next[t]])
				play(&p, &m->chunk[next[t]]);
		}
	}
	if (p.lanes)
		lanes_finish(p.lanes);
	else
		replay_finish(p.replay);
	lanes_free(p.lanes);
	replay_free(p.replay);
	return s;
}

static void path_of(struct session *s, node_id id, char *out)
{
	const struct cct_node *const n = cct_get(s->cct, id);

	if (n->parent == 0) {
		sprintf(out, "T%u", s->threads[n->thread].serial);
		return;
	}
	path_of(s, n->parent, out);
	sprintf(out + strlen(out), ";%s%s", n->flags & CCT_BODY ? "~" : "",
		func_get(s->funcs, n->func)->source + 1);
}

static int by_text(const void *a, const void *b)
{
	/* As strcmp over paths alone orders them. */
	char x[M_PATH], y[M_PATH];

	sscanf(*(char *const *)a, "%511s", x);
	sscanf(*(char *const *)b, "%511s", y);
	return strcmp(x, y);
}

static char *tree_text(struct session *s)
{
	const size_t n = cct_count(s->cct);
	char **const line = calloc(n + 1, sizeof(*line));
	char *const text = malloc((n + 1) * (M_PATH + 128));
	size_t lines = 0;
	char *at = text;

	for (node_id id = 1; id <= n; id++) {
		const struct cct_node *const c = cct_get(s->cct, id);

		if (!c->calls && !c->self && !c->suspended)
			continue;
		line[lines] = malloc(M_PATH + 128);
		path_of(s, id, line[lines]);
		sprintf(line[lines] + strlen(line[lines]),
			" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "..%"
			PRIu64 "\n", c->calls, c->self, c->suspended, c->min,
			c->max);
		lines++;
	}
	qsort(line, lines, sizeof(*line), by_text);
	*at = '\0';
	for (size_t i = 0; i < lines; i++) {
		at = stpcpy(at, line[i]);
		free(line[i]);
	}
	free(line);
	return text;
}

static void check_threads(struct session *s, const struct events *e)
{
	const size_t n = cct_count(s->cct) + 1;
	uint64_t *const total = calloc(2 * n, sizeof(*total));

	CHECK_EQ(s->unnested, 0);
	CHECK_EQ(s->duplicate_chunks, 0);
	CHECK(cct_valid(s->cct));
	cct_totals(s->cct, total, total + n);
	for (node_id r = cct_first_root(s->cct); r;
	     r = cct_get(s->cct, r)->sibling)
		CHECK_EQ(total[r],
			 s->threads[cct_get(s->cct, r)->thread].traced);
	free(total);
	if (!e)
		return;
	if (e->is_of_ends) {
		CHECK_EQ(e->seen, 0);
		CHECK(e->batches > 0);
		CHECK_EQ(s->calls + e->enters, e->leaves);
		return;
	}
	CHECK_EQ(e->seen, s->calls);
	CHECK_EQ(e->enters, e->leaves);
	for (size_t i = 0; i < 64; i++)
		CHECK_EQ(e->balance[i], 0);
}

static void check_coroutines(const struct model *m, const struct session *s)
{
	static const enum coroutine_state state[] = { COROUTINE_NEW,
		COROUTINE_SUSPENDED, COROUTINE_RUNNING };

	CHECK_EQ(s->coroutine_count, m->coroutines);
	for (size_t i = 0; i < s->coroutine_count; i++) {
		const struct coroutine *const c = &s->coroutines[i];
		const struct m_coroutine *const t = &m->co[c->serial - 1];
		const uint64_t open = t->state == 2 ? m->now - t->since : 0;

		CHECK_EQ(c->resumes, t->resumes);
		CHECK_EQ(c->suspended, t->slept);
		CHECK_EQ(c->active, t->active + open);
		CHECK_EQ(c->thread_count, __builtin_popcount(
			(unsigned)t->threads));
		CHECK_EQ(c->creator, t->creator + 1);
		if (t->state < 3)
			CHECK_EQ(c->state, state[t->state]);
	}
}

static void check_kept(struct model *m, const char *kept, int all,
		       int with_events)
{
	struct events events = { .is_of_ends = m->ops_seed % 2 };
	struct events *const e = with_events ? &events : NULL;
	struct session *const s = replay_model(m, kept, m->ops_seed, e,
						    1 + m->ops_seed % 4,
						    false);
	char *const want = m_account(m, kept), *const got = tree_text(s);

	CHECK_STR(got, want);
	check_threads(s, e);
	if (all)
		check_coroutines(m, s);
	free(want);
	free(got);
	session_free(s);
}

/* A test of random streams says little about what they seldom hold. */
static void check_counts(const struct m_counts *c)
{
	CHECK(c->leaves >= 1000);
	CHECK(c->leafs >= 1000);
	CHECK(c->unwinds >= 500);
	CHECK(c->creates >= 1000);
	CHECK(c->resumes >= 1000);
	CHECK(c->migrations >= 500);
	CHECK(c->stacks >= 1000);
	CHECK(c->dropped >= 50);
	CHECK(c->yields >= 1000);
	CHECK(c->errors >= 200);
	CHECK(c->returns >= 500);
}

static void add_counts(struct m_counts *sum, const struct m_counts *c)
{
	const uint64_t *const from = (const uint64_t *)c;

	for (size_t i = 0; i < sizeof(*c) / sizeof(*from); i++)
		((uint64_t *)sum)[i] += from[i];
}

void test_replay_random_streams_give_the_models_account(void)
{
	struct m_counts counts = { 0 };
	char *const kept = malloc(M_CHUNKS);

	memset(kept, 1, M_CHUNKS);
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct model *const m = m_run(seed, seed * 7, 40, STEPS);

		check_kept(m, kept, 1, seed % 2);
		add_counts(&counts, &m->count);
		m_free(m);
	}
	check_counts(&counts);
	free(kept);
}

/* The same run, cut elsewhere: the same tree. */
void test_replay_random_cuts_change_nothing(void)
{
	char *const kept = malloc(M_CHUNKS);

	memset(kept, 1, M_CHUNKS);
	for (unsigned seed = 1; seed <= SEEDS / 4; seed++) {
		char *first = NULL;

		for (unsigned every = 3; every < 3000; every *= 10) {
			struct model *const m = m_run(seed, every, every,
						      STEPS);
			struct session *const s = replay_model(m, kept, every,
				NULL, every % 4 + 1, false);
			char *const text = tree_text(s);

			if (first)
				CHECK_STR(text, first);
			else
				first = strdup(text);
			free(text);
			session_free(s);
			m_free(m);
		}
		free(first);
	}
	free(kept);
}

/* Chunks get lost: what is left tells the same about the time it covers. */
void test_replay_random_loss_leaves_the_rest_exact(void)
{
	char *const kept = malloc(M_CHUNKS);

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct model *const m = m_run(seed, seed, 15, STEPS);
		unsigned draw = seed;

		for (int i = 0; i < M_CHUNKS; i++)
			kept[i] = m_random(&draw, 2) > 0;
		check_kept(m, kept, 0, seed % 2);
		m_free(m);
	}
	free(kept);
}

/* ---- workers ------------------------------------------------------------ */

static void put_nodes(FILE *to, struct session *s)
{
	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const n = cct_get(s->cct, id);
		uint64_t steps[HIST_STEPS] = { 0 };

		fprintf(to, "%u: %u %u %x %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 " %" PRIu64, id, n->parent, n->func,
			n->flags, n->calls, n->self, n->suspended, n->min,
			n->max);
		cct_hist_counts(s->cct, id, steps);
		for (size_t i = 0; i < HIST_STEPS; i++)
			if (steps[i])
				fprintf(to, " %zu:%" PRIu64, i, steps[i]);
		fputc('\n', to);
	}
}

static void put_coroutines(FILE *to, const struct session *s)
{
	for (size_t i = 0; i < s->coroutine_count; i++) {
		const struct coroutine *const c = &s->coroutines[i];

		fprintf(to, "co %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %" PRIu64
			" %" PRIu64 " %" PRIu64 " %u %d %" PRIu64, c->serial,
			c->vm, c->creator, c->body, c->resumes, c->active,
			c->suspended, c->inferred, c->state, c->last.at);
		for (uint32_t k = 0; k < c->thread_count && k < 4; k++)
			fprintf(to, " %u", c->threads[k]);
		fputc('\n', to);
	}
}

/* Everything that records tell. */
static char *whole_text(struct session *s)
{
	char *text;
	size_t size;
	FILE *const to = open_memstream(&text, &size);

	put_nodes(to, s);
	put_coroutines(to, s);
	for (func_id f = 1; f <= func_count(s->funcs); f++)
		fprintf(to, "func %u %s %u\n", f, func_get(s->funcs, f)->source,
			func_get(s->funcs, f)->line);
	for (size_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		fprintf(to, "thread %u %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 " %" PRIu64 "\n", t->serial, t->chunks,
			t->calls, t->traced, t->missing_chunks, t->open);
	}
	for (size_t i = 0; i < s->gap_count; i++)
		fprintf(to, "gap %u %" PRIu64 " %" PRIu64 "\n",
			s->gaps[i].thread, s->gaps[i].from, s->gaps[i].to);
	fprintf(to, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->records,
		s->calls, s->gap_total);
	fclose(to);
	return text;
}

/* Also with loss, and in whatever order the threads' chunks come. */
void test_replay_random_workers_change_nothing(void)
{
	char *const kept = malloc(M_CHUNKS);

	for (unsigned seed = 1; seed <= SEEDS / 2; seed++) {
		struct model *const m = m_run(seed, seed * 3, 20, STEPS);
		unsigned draw = seed;
		char *first = NULL;

		for (int i = 0; i < M_CHUNKS; i++)
			kept[i] = m_random(&draw, 1 + seed % 5) > 0 ||
				  seed % 5 == 0;
		for (unsigned jobs = 1; jobs <= 5; jobs++) {
			struct session *const s = replay_model(m, kept, seed,
							       NULL, jobs,
							       seed % 2);
			char *const text = whole_text(s);

			if (first)
				CHECK_STR(text, first);
			else
				first = strdup(text);
			free(text);
			session_free(s);
		}
		free(first);
		m_free(m);
	}
	free(kept);
}
