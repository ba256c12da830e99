/* replay_time.c - what a stretch of time counts as: on or off the CPU, inside
 * or outside of the time that is asked for. It changes at edges, which are far
 * between: records look at the next one only.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/vec.h"

void replay_clock_add_edge(struct replay *r, ticks at, uint32_t cpu)
{
	if (r->edge_count > 0 && at < r->edge[r->edge_count - 1].at)
		at = r->edge[r->edge_count - 1].at;
	*vec_add(&r->edge, &r->edge_room, &r->edge_count) =
		(struct edge){ at, cpu };
}

/* All that is open goes on on the other side. */
static void change_sides(struct replay *r, struct stream *st, int outside)
{
	struct frame *const f = st->frame;

	if (st->level > 0)
		replay_handler_settle(r, st);
	f[0].node = cct_beside(st->tree, f[0].node, outside);
	for (size_t i = 1; i < st->depth; i++) {
		const struct cct_node *const old = &st->tree->nodes[f[i].node];

		f[i].node = cct_child(st->tree, f[i - 1].node, old->func,
				      old->flags);
	}
	st->outside = outside;
}

static void renew(struct replay *r, struct stream *st)
{
	const ticks from = r->want.from, to = r->want.to;
	ticks edge = UINT64_MAX;

	while (replay_clock_knows(r, st) && st->edges < r->edge_count) {
		if (r->edge[st->edges].at > st->now) {
			edge = r->edge[st->edges].at;
			break;
		}
		st->cpu = r->edge[st->edges++].cpu;
	}
	if (to > 0) {
		const int outside = st->now < from || st->now >= to;

		if (outside != st->outside)
			change_sides(r, st, outside);
		if (st->now < from && from < edge)
			edge = from;
		else if (st->now >= from && st->now < to && to < edge)
			edge = to;
	}
	st->edge = edge;
	st->until = st->cpu == CPU_ON ? edge : 0;
}

/* A chunk begins, its stack is there. Handlers' chunks come right after the one
 * they interrupted, whose edges are theirs; where they do not, their time off
 * the CPU stays that of what they interrupted. */
void replay_clock_begin(struct replay *r, struct stream *st)
{
	if (st->level == 0) {
		r->edge_thread = st->thread;
		if (r->session->cct->cpu)
			cct_collect_cpu(st->tree);
	}
	st->cpu = replay_clock_knows(r, st) ? CPU_UNKNOWN : CPU_ON;
	st->edges = 0;
	renew(r, st);
}

/* Are the edges at hand those of the stream's thread? */
int replay_clock_knows(const struct replay *r, const struct stream *st)
{
	return st->tree->cpu && r->edge_thread == st->thread;
}

/* What of that time, which has passed in this chunk, was off the CPU, and what
 * is not known. */
struct cct_cpu replay_clock_cpu(const struct replay *r, ticks from, ticks to)
{
	struct cct_cpu cpu = { 0 };
	uint32_t state = CPU_UNKNOWN;

	for (size_t i = 0; i <= r->edge_count && from < to; i++) {
		const ticks at = i < r->edge_count && r->edge[i].at < to ?
				 r->edge[i].at : to;

		if (at > from) {
			cpu.off += state == CPU_OFF ? at - from : 0;
			cpu.unknown += state == CPU_UNKNOWN ? at - from : 0;
			from = at;
		}
		if (i < r->edge_count)
			state = r->edge[i].cpu;
	}
	return cpu;
}

static void spend(struct stream *st, ticks span)
{
	const node_id here = st->frame[st->depth - 1].node;

	st->now += span;
	st->tree->nodes[here].self += span;
	if (!st->tree->cpu)
		return;
	if (st->cpu == CPU_OFF)
		st->tree->cpu[here].off += span;
	else if (st->cpu == CPU_UNKNOWN)
		st->tree->cpu[here].unknown += span;
}

void replay_clock_pass(struct replay *r, struct stream *st, ticks gap)
{
	while (st->edge - st->now <= gap) {
		const ticks step = st->edge - st->now;

		spend(st, step);
		gap -= step;
		renew(r, st);
	}
	spend(st, gap);
}

/* The coroutine on top slept until now, with these frames. */
void replay_clock_slept(struct replay *r, struct stream *st, ticks slept)
{
	node_id here = st->frame[st->depth - 1].node;
	ticks from = slept < st->now ? st->now - slept : 0, to = st->now;

	if (r->want.to > 0) {
		from = from < r->want.from ? r->want.from : from;
		to = to > r->want.to ? r->want.to : to;
		if (from >= to)
			return;
		if (st->outside)
			here = cct_beside(st->tree, here, 0);
		slept = to - from;
	}
	st->tree->nodes[here].suspended += slept;
}

/* A node of the inside, or what stands for it now. */
node_id replay_clock_side(const struct stream *st, node_id id)
{
	return st->outside ? cct_beside(st->tree, id, 1) : id;
}

/* What its body's node is told apart by. */
uint32_t replay_clock_body(const struct replay *r, const struct stream *st)
{
	const struct session *const s = r->session;
	const struct segment *const top = replay_top(st);
	const uint32_t process = s->threads[st->thread].process;
	uint32_t flags = CCT_BODY, of;

	if (r->want.serial && top->serial == r->want.serial &&
	    (r->want.pid == 0 || s->processes[process].pid == r->want.pid))
		flags |= CCT_CHOSEN;
	if (!r->want.vm || !top->co)
		return flags;
	of = map_find(r->vm_of, process, s->coroutines[top->co - 1].vm);
	if (of == 0 || of >= SESSION_OF_COROUTINE)
		of = SESSION_OF_COROUTINE |
		     (top->co < SESSION_OF_COROUTINE ? top->co : 0);
	return flags | of << CCT_OF_SHIFT;
}
