/* made_switch.c - coroutines of the made-up session: made, resumed on any
 * thread, suspended, ended by return or error, forgotten.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/chunk_build.h"
#include "tests/reference/made.h"

static void tell(struct made *m, const char *what, const struct made_thread *t,
		 uint32_t serial)
{
	fprintf(m->log, "%llu %s %u %u", (unsigned long long)m->now, what,
		t->serial, serial);
}

static void create(struct made *m, struct made_thread *t)
{
	struct made_stream *const s = &t->stream[0];
	const uint32_t serial = m->coroutines + 1;
	const uint32_t vm = m->vms ? 1 + (uint32_t)made_random(m, m->vms) : 0;

	if (!vm || m->vm[vm - 1].process != t->process ||
	    m->coroutines == MADE_COROUTINES)
		return;
	m->coroutines++;
	m->co[serial] = (struct made_coroutine){ .process = t->process,
						 .vm = vm };
	made_chunk_vm(m, t, vm);
	cb_create(s->build, serial, vm, made_chunk_gap(m, s));
	tell(m, "create", t, serial);
	fprintf(m->log, " %u\n", vm);
}

static uint32_t pick(struct made *m, const struct made_thread *t)
{
	const uint32_t from = (uint32_t)made_random(m, m->coroutines + 1);

	for (uint32_t i = 0; i < m->coroutines; i++) {
		const uint32_t serial = 1 + (from + i) % m->coroutines;

		if (m->co[serial].process == t->process &&
		    m->co[serial].state <= MADE_SUSPENDED)
			return serial;
	}
	return 0;
}

/* Native frames in the middle died at the yield; it is told only now. */
static void cut_frame(struct made *m, struct made_thread *t, uint32_t serial)
{
	struct made_stack *const k = &m->co[serial].stack;
	const uint32_t i = 1 + (uint32_t)made_random(m, k->depth - 2);

	/* Which of two alike went, nobody can tell. */
	if (k->frame[i].func == k->frame[i - 1].func ||
	    k->frame[i].func == k->frame[i + 1].func)
		return;
	tell(m, "cut", t, serial);
	fprintf(m->log, " %u\n", i);
	memmove(&k->frame[i], &k->frame[i + 1],
		(k->depth - i - 1) * sizeof(k->frame[0]));
	k->depth--;
}

static void put_resume(struct made *m, struct made_thread *t, uint32_t serial,
		       uint64_t slept, uint32_t flags)
{
	struct made_stream *const s = &t->stream[0];
	const struct made_stack *const k = &m->co[serial].stack;
	const uint32_t n = flags & RESUME_STACK ? k->depth : 0;
	const int has_body = n > 0 && k->on_body;
	uint32_t index[MADE_DEPTH], body = 0;

	if (has_body)
		body = made_chunk_func(m, t, 0, k->body.func);
	for (uint32_t i = 0; i < n; i++)
		index[i] = made_chunk_func(m, t, 0, k->frame[i].func);
	cb_resume(s->build, serial, flags | (has_body ? RESUME_BODY : 0), slept,
		  n, made_chunk_gap(m, s));
	for (uint32_t i = 0; i < n; i++)
		cb_word(s->build, rec_put(REC_OPERAND, index[i],
					  m->now - k->frame[i].entry));
	if (has_body)
		cb_word(s->build, rec_put(REC_OPERAND, body,
					  m->now - k->body.entry));
}

static void resume(struct made *m, struct made_thread *t)
{
	const uint32_t serial = pick(m, t);
	struct made_coroutine *const c = &m->co[serial];
	const struct made_stream *const s = &t->stream[0];
	uint32_t flags = made_chance(m, 10) ? RESUME_INFERRED : 0;
	uint64_t slept;

	if (!serial || t->segments == MADE_SEGMENTS)
		return;
	slept = c->state == MADE_NEW ? 0 : m->now - c->since;
	if (c->state == MADE_SUSPENDED && (c->chunk != s ||
	    c->chunk_number != s->number || made_chance(m, 10)))
		flags |= RESUME_STACK;
	if (flags & RESUME_STACK && c->stack.depth > 2 && made_chance(m, 2))
		cut_frame(m, t, serial);
	for (uint32_t i = 0; i < c->stack.depth; i++)
		c->stack.frame[i].entry += slept;
	c->stack.body.entry += slept;
	put_resume(m, t, serial, slept, flags);
	c->state = MADE_RUNNING;
	t->segment[t->segments++] = serial;
	tell(m, "resume", t, serial);
	fprintf(m->log, " %u\n", (flags & RESUME_INFERRED) != 0);
}

static void suspend(struct made *m, struct made_thread *t, uint32_t why)
{
	struct made_stream *const s = &t->stream[0];
	const uint32_t serial = t->segment[t->segments - 1];
	struct made_coroutine *const c = &m->co[serial];
	const uint32_t inferred = made_chance(m, 10) ? SUSPEND_INFERRED : 0;

	cb_suspend(s->build, serial, why | inferred, made_chunk_gap(m, s));
	tell(m, "suspend", t, serial);
	fprintf(m->log, " %s %u\n", why == SUSPEND_YIELD ? "yield" :
		why == SUSPEND_RETURN ? "return" : "error", inferred != 0);
	c->state = why == SUSPEND_YIELD ? MADE_SUSPENDED : MADE_DEAD;
	c->since = m->now;
	c->chunk = s;
	c->chunk_number = s->number;
	if (why != SUSPEND_YIELD)
		c->stack.depth = 0;
	c->stack.on_body &= c->stack.depth > 0;
	t->segments--;
}

void made_switch(struct made *m, struct made_thread *t)
{
	const uint64_t what = made_random(m, 20);
	const struct made_stack *const k = made_top(m, t);

	if (what < 3)
		create(m, t);
	else if (what < 11)
		resume(m, t);
	else if (t->segments == 1)
		return;
	else if (k->depth == 0)
		suspend(m, t, made_chance(m, 4) ? SUSPEND_YIELD :
			SUSPEND_RETURN);
	else
		suspend(m, t, made_chance(m, 10) ? SUSPEND_ERROR :
			SUSPEND_YIELD);
}
