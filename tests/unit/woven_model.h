/* woven_model.h - random threads that call functions and pass coroutines to
 * each other, with a slow and obvious account of what they did: every stack a
 * string, every fact a row. Writes the chunks a tracer would write. Shares no
 * code with the replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tests/unit/chunk_build.h"

#include <stdio.h>

enum { M_THREADS = 3, M_COROUTINES = 40, M_DEPTH = 24, M_SEGMENTS = 6,
       M_PATH = 512, M_CHUNKS = 20000 };

struct m_frame { char name[8]; uint64_t entry; };

/* state: 0 new, 1 suspended, 2 running, 3 dead. */
struct m_coroutine {
	int state, creator;
	struct m_frame frame[M_DEPTH];
	int depth;
	uint64_t since, resumes, slept, active;
	int chunk;               /* where it was suspended */
	int threads;             /* bits */
};

struct m_thread {
	struct chunk_build *b;
	int chunk;               /* the one being filled */
	uint64_t number, tick;
	int segment[M_SEGMENTS]; /* coroutines; [0] is the thread: -1 */
	int segments;
	struct m_frame frame[M_DEPTH]; /* of segment 0 */
	int depth;
};

/* One fact: in a chunk, at a stack. */
struct m_row {
	int chunk;
	char *path;
	uint64_t calls, self, susp, duration;
	int timed;
};

struct m_chunk { uint64_t *words; size_t n; int thread; };

struct model {
	unsigned ops_seed, cut_seed;
	unsigned cut_every;      /* 1 in so many records begins a new chunk */
	uint64_t now;
	struct m_thread thread[M_THREADS];
	struct m_coroutine co[M_COROUTINES];
	int coroutines;
	struct m_row *row;
	size_t rows, row_room;
	struct m_chunk chunk[M_CHUNKS];
	int chunks;
	uint64_t calls;
	/* How often each construct ran. */
	struct m_counts { uint64_t leaves, leafs, unwinds, creates, resumes,
		migrations, stacks, dropped, yields, errors, returns; } count;
};

static inline unsigned m_random(unsigned *seed, unsigned n)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 16) % n;
}

static inline int m_top(const struct m_thread *t)
{
	return t->segment[t->segments - 1];
}

static inline void m_frames(struct model *m, struct m_thread *t, int i,
			    struct m_frame **frame, int **depth)
{
	const int co = t->segment[i];

	*frame = co < 0 ? t->frame : m->co[co].frame;
	*depth = co < 0 ? &t->depth : &m->co[co].depth;
}

/* The stack of a thread as text: "T1;f;~g;h". */
static inline void m_path(struct model *m, struct m_thread *t, char *out)
{
	int at = sprintf(out, "T%d", (int)(t - m->thread) + 1);

	for (int i = 0; i < t->segments; i++) {
		struct m_frame *f;
		int *depth;

		m_frames(m, t, i, &f, &depth);
		for (int k = 0; k < *depth; k++)
			at += sprintf(out + at, ";%s%s",
				      i > 0 && k == 0 ? "~" : "", f[k].name);
	}
}

static inline struct m_row *m_note(struct model *m, struct m_thread *t)
{
	char path[M_PATH];
	struct m_row *r;

	if (m->rows == m->row_room) {
		m->row_room = m->row_room ? m->row_room * 2 : 1024;
		m->row = realloc(m->row, m->row_room * sizeof(*m->row));
	}
	m_path(m, t, path);
	r = &m->row[m->rows++];
	*r = (struct m_row){ .chunk = t->chunk, .path = strdup(path) };
	return r;
}

/* The thread's clock is brought up to now; gives the gap. */
static inline uint64_t m_pass(struct model *m, struct m_thread *t)
{
	const uint64_t gap = m->now - t->tick;

	m_note(m, t)->self = gap;
	t->tick = m->now;
	return gap;
}

static inline void m_begin_chunk(struct model *m, struct m_thread *t)
{
	t->chunk = m->chunks++;
	if (m->chunks > M_CHUNKS)
		abort();
	m->chunk[t->chunk].thread = (int)(t - m->thread);
	cb_begin(t->b, 1, (uint32_t)(t - m->thread) + 1, t->number++,
		 t->tick);
	for (int i = 0; i < t->segments; i++) {
		struct m_frame *f;
		int *depth;

		m_frames(m, t, i, &f, &depth);
		cb_segment(t->b, (uint64_t)(t->segment[i] + 1));
		for (int k = 0; k < *depth; k++)
			cb_open(t->b, f[k].name, t->tick - f[k].entry);
	}
}

static inline void m_end_chunk(struct model *m, struct m_thread *t,
			       uint32_t flags)
{
	struct m_chunk *const c = &m->chunk[t->chunk];

	m_pass(m, t);
	t->b->header.flags |= flags;
	c->n = cb_end(t->b, m->now);
	c->words = malloc(c->n * 8);
	memcpy(c->words, t->b->words, c->n * 8);
}

static inline void m_cut(struct model *m, struct m_thread *t)
{
	m_end_chunk(m, t, 0);
	m_begin_chunk(m, t);
}

static inline void m_enter(struct model *m, struct m_thread *t,
			   const char *name)
{
	struct m_frame *f;
	int *depth;

	cb_enter(t->b, name, m_pass(m, t));
	m_frames(m, t, t->segments - 1, &f, &depth);
	f[*depth].entry = m->now;
	strcpy(f[*depth].name, name);
	++*depth;
	m_note(m, t)->calls = 1;
	m->calls++;
}

/* The innermost call ends; its time has been passed. */
static inline void m_pop(struct model *m, struct m_thread *t)
{
	struct m_frame *f;
	struct m_row *r;
	int *depth;

	m_frames(m, t, t->segments - 1, &f, &depth);
	r = m_note(m, t);
	r->duration = m->now - f[*depth - 1].entry;
	r->timed = 1;
	--*depth;
}

static inline void m_leave(struct model *m, struct m_thread *t)
{
	struct m_frame *f;
	int *depth;
	char name[8];

	m_frames(m, t, t->segments - 1, &f, &depth);
	strcpy(name, f[*depth - 1].name);
	cb_leave(t->b, name, m_pass(m, t));
	m_pop(m, t);
	m->count.leaves++;
}

static inline void m_leaf(struct model *m, struct m_thread *t,
			  const char *name, uint64_t duration)
{
	const uint64_t gap = m_pass(m, t);
	struct m_frame *f;
	int *depth;

	m_frames(m, t, t->segments - 1, &f, &depth);
	f[*depth].entry = m->now;
	strcpy(f[*depth].name, name);
	++*depth;
	m_note(m, t)->calls = 1;
	m->calls++;
	m->now += duration;
	m_pass(m, t);
	m_pop(m, t);
	cb_leaf(t->b, name, gap, duration);
	m->count.leafs++;
}

static inline void m_unwind(struct model *m, struct m_thread *t, unsigned n,
			    enum unwind why)
{
	cb_unwind(t->b, n, why, m_pass(m, t));
	m->count.unwinds++;
	while (n--)
		m_pop(m, t);
}

static inline void m_create(struct model *m, struct m_thread *t)
{
	m->co[m->coroutines] = (struct m_coroutine){ .chunk = -1,
						     .creator = m_top(t) };
	cb_create(t->b, (uint64_t)++m->coroutines, 1, m_pass(m, t));
	m->count.creates++;
}

/* forced: give the stack though the reader has it. Then the frame in the middle
 * may have died at the yield. */
static inline void m_resume(struct model *m, struct m_thread *t, int i,
			    int forced)
{
	struct m_coroutine *const c = &m->co[i];
	const uint64_t gap = m_pass(m, t);
	const uint64_t slept = c->state == 0 ? 0 : m->now - c->since;
	const int give = c->state != 0 && (forced || c->chunk != t->chunk);

	if (give && forced && c->depth > 2) {
		c->depth--;
		m->count.dropped++;
		memmove(c->frame + 1, c->frame + 2,
			(size_t)(c->depth - 1) * sizeof(*c->frame));
	}
	for (int k = 0; k < c->depth; k++)
		c->frame[k].entry += slept;
	cb_resume(t->b, (uint64_t)i + 1, give ? RESUME_STACK : 0, slept,
		  give ? (uint64_t)c->depth : 0, gap);
	for (int k = 0; give && k < c->depth; k++)
		cb_frame(t->b, c->frame[k].name, m->now - c->frame[k].entry);
	t->segment[t->segments++] = i;
	if (c->depth > 0)
		m_note(m, t)->susp = slept;
	c->state = 2;
	c->since = m->now;
	c->resumes++;
	c->slept += slept;
	m->count.resumes++;
	m->count.stacks += (uint64_t)give;
	m->count.migrations += c->threads != 0 &&
			       !(c->threads & 1 << (t - m->thread));
	c->threads |= 1 << (t - m->thread);
}

static inline void m_suspend(struct model *m, struct m_thread *t,
			     uint32_t reason)
{
	struct m_coroutine *const c = &m->co[m_top(t)];

	cb_suspend(t->b, (uint64_t)m_top(t) + 1, reason, m_pass(m, t));
	c->state = reason == SUSPEND_YIELD ? 1 : 3;
	m->count.yields += reason == SUSPEND_YIELD;
	m->count.errors += reason == SUSPEND_ERROR;
	m->count.returns += reason == SUSPEND_RETURN;
	while (c->state == 3 && c->depth > 0)
		m_pop(m, t);
	c->chunk = t->chunk;
	c->active += m->now - c->since;
	c->since = m->now;
	t->segments--;
}

static inline int m_pick(struct model *m)
{
	const unsigned first = m_random(&m->ops_seed, M_COROUTINES);

	for (unsigned k = 0; k < M_COROUTINES; k++) {
		const int i = (int)((first + k) % M_COROUTINES);

		if (i < m->coroutines && m->co[i].state < 2)
			return i;
	}
	return -1;
}

static inline void m_step_coroutine(struct model *m, struct m_thread *t,
				    unsigned what)
{
	const int i = m_pick(m);
	struct m_frame *f;
	int *depth;

	m_frames(m, t, t->segments - 1, &f, &depth);
	if (what < 2 && m->coroutines < M_COROUTINES)
		m_create(m, t);
	else if (what < 6 && i >= 0 && t->segments < M_SEGMENTS)
		m_resume(m, t, i, m_random(&m->ops_seed, 4) == 0);
	else if (t->segments > 1 && *depth == 0)
		m_suspend(m, t, SUSPEND_RETURN);
	else if (t->segments > 1)
		m_suspend(m, t, m_random(&m->ops_seed, 12) == 0 ?
			  SUSPEND_ERROR : SUSPEND_YIELD);
}

static inline void m_step(struct model *m)
{
	struct m_thread *const t =
		&m->thread[m_random(&m->ops_seed, M_THREADS)];
	const unsigned what = m_random(&m->ops_seed, 30);
	const char name[2] = { (char)('a' + m_random(&m->ops_seed, 5)), 0 };
	struct m_frame *f;
	int *depth;

	if (m_random(&m->cut_seed, m->cut_every) == 0 ||
	    t->b->header.records > 8000)
		m_cut(m, t);
	m->now += m_random(&m->ops_seed, 9);
	m_frames(m, t, t->segments - 1, &f, &depth);
	if (what < 8 && *depth < M_DEPTH / 3)
		m_enter(m, t, name);
	else if (what < 15 && *depth > 0)
		m_leave(m, t);
	else if (what < 19 && *depth < M_DEPTH / 3)
		m_leaf(m, t, name, m_random(&m->ops_seed, 9));
	else if (what == 19 && *depth > 0)
		m_unwind(m, t, 1 + m_random(&m->ops_seed, (unsigned)*depth),
			 UNWIND_ERROR);
	else if (what > 19)
		m_step_coroutine(m, t, what - 20);
}

static inline struct model *m_run(unsigned ops_seed, unsigned cut_seed,
				  unsigned cut_every, int steps)
{
	struct model *const m = calloc(1, sizeof(*m));

	m->ops_seed = ops_seed;
	m->cut_seed = cut_seed;
	m->cut_every = cut_every;
	m->now = 1000;
	for (int i = 0; i < M_THREADS; i++) {
		struct m_thread *const t = &m->thread[i];

		t->b = malloc(sizeof(*t->b));
		t->tick = m->now;
		t->segment[0] = -1;
		t->segments = 1;
		m_begin_chunk(m, t);
	}
	while (steps--)
		m_step(m);
	m->now += 3;
	for (int i = 0; i < M_THREADS; i++)
		m_end_chunk(m, &m->thread[i], i == 0 ? CHUNK_LAST : 0);
	return m;
}

static inline void m_free(struct model *m)
{
	for (size_t i = 0; i < m->rows; i++)
		free(m->row[i].path);
	free(m->row);
	for (int i = 0; i < m->chunks; i++)
		free(m->chunk[i].words);
	for (int i = 0; i < M_THREADS; i++)
		free(m->thread[i].b);
	free(m);
}

static inline int m_by_path(const void *a, const void *b)
{
	return strcmp(((const struct m_row *)a)->path,
		      ((const struct m_row *)b)->path);
}

/* The account, as lines "PATH CALLS SELF SUSP MIN..MAX" in order of path, over
 * the chunks that are kept. The caller frees it. */
static inline char *m_account(struct model *m, const char *kept)
{
	char *const text = malloc(m->rows * 64 + m->rows * M_PATH / 4 + 64);
	char *at = text;

	*at = '\0';
	qsort(m->row, m->rows, sizeof(*m->row), m_by_path);
	for (size_t i = 0, end; i < m->rows; i = end) {
		struct m_row sum = { .path = m->row[i].path };
		uint64_t min = 0, max = 0;

		for (end = i; end < m->rows &&
		     !strcmp(m->row[end].path, sum.path); end++) {
			const struct m_row *const r = &m->row[end];

			if (!kept[r->chunk])
				continue;
			sum.calls += r->calls;
			sum.self += r->self;
			sum.susp += r->susp;
			if (!r->timed)
				continue;
			min = sum.timed && min < r->duration ? min :
			      r->duration;
			max = max > r->duration ? max : r->duration;
			sum.timed = 1;
		}
		if (sum.calls || sum.self || sum.susp)
			at += sprintf(at, "%s %llu %llu %llu %llu..%llu\n",
				      sum.path, (unsigned long long)sum.calls,
				      (unsigned long long)sum.self,
				      (unsigned long long)sum.susp,
				      (unsigned long long)min,
				      (unsigned long long)max);
	}
	return text;
}
