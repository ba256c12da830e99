/* time.c - what passing time counts as: on or off the CPU, inside or outside of
 * the time that is asked for. This changes at edges, which are far apart:
 * records look only at the next one. Knows no kinds of records.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

/* Edges rise: one that comes too early is moved to the one before. */
void replay_time_add_edge(struct switches *w, ticks at, enum cpu_state cpu)
{
	if (w->count > 0 && at < w->edge[w->count - 1].at)
		at = w->edge[w->count - 1].at;
	*vec_add(&w->edge, &w->room, &w->count) = (struct edge){ at, cpu };
}

/* Is anything known of the thread's switches? */
static bool knows(const struct stream *st)
{
	return st->tree->cpu && st->switches->is_there;
}

struct cct_cpu replay_time_cpu(const struct switches *w, ticks from, ticks to)
{
	struct cct_cpu cpu = { 0 };
	uint32_t state = CPU_UNKNOWN;

	for (size_t i = 0; i <= w->count && from < to; i++) {
		const ticks at = i < w->count && w->edge[i].at < to ?
				 w->edge[i].at : to;

		if (at > from) {
			cpu.off += state >= CPU_OFF ? at - from : 0;
			cpu.ready += state == CPU_READY ? at - from : 0;
			cpu.unknown += state == CPU_UNKNOWN ? at - from : 0;
			from = at;
		}
		if (i < w->count)
			state = w->edge[i].cpu;
	}
	return cpu;
}

/* A span that ended now was not the time of that node: subtract what of it was
 * off the CPU. */
static void take_cpu(struct stream *st, node_id node, ticks span)
{
	const struct cct_cpu cpu = replay_time_cpu(st->switches,
						   st->now - span, st->now);
	struct cct_cpu *const of = &st->tree->cpu[node];

	of->off -= cpu.off < of->off ? cpu.off : of->off;
	of->ready -= cpu.ready < of->ready ? cpu.ready : of->ready;
	if (of->ready > of->off)
		of->ready = of->off;
	of->unknown -= cpu.unknown < of->unknown ? cpu.unknown : of->unknown;
}

/* The time goes from the interrupted call to the handler, and if the call has
 * less self time, from its callers. */
void replay_time_settle(struct replay *r, struct stream *st)
{
	struct cct *const t = st->tree;
	ticks span = st->now - st->settled;

	st->settled = st->now;
	if (knows(st))
		take_cpu(st, st->frame[0].node, span);
	for (node_id n = st->frame[0].node; n && span; n = t->nodes[n].parent) {
		const ticks have = t->nodes[n].self;
		const ticks some = span < have ? span : have;

		t->nodes[n].self -= some;
		span -= some;
	}
	/* More than there was: its chunk is lost, and so is its time. */
	r->session->threads[st->thread].traced += span;
}

void replay_time_take_back(struct stream *st, ticks gap)
{
	const node_id here = st->frame[st->depth - 1].node;
	struct cct_node *const n = &st->tree->nodes[here];

	if (knows(st))
		take_cpu(st, here, gap);
	n->self -= gap < n->self ? gap : n->self;
	st->settled += gap;
}

/* The node below another one that is like this one below `above`, from which
 * nodes of sampled Lua may part it. */
static node_id move_node(struct cct *t, node_id node, node_id above,
			 node_id to)
{
	const struct cct_node is = t->nodes[node];

	if (node == above || node == 0)
		return to;
	if (is.parent != above && t->nodes[is.parent].flags & CCT_NOTED)
		to = move_node(t, is.parent, above, to);
	return cct_child(t, to, is.func, is.flags);
}

/* All open calls go on at the nodes of the other side. */
static void change_sides(struct replay *r, struct stream *st, bool outside)
{
	struct frame *const f = st->frame;
	node_id above = f[0].node, old;
	size_t g = 1;

	if (st->level > 0)
		replay_time_settle(r, st);
	f[0].node = cct_beside(st->tree, f[0].node, outside);
	for (size_t i = 1; i <= st->depth; i++, above = old) {
		for (; g < st->segments &&
		       segment_first(&st->segment[g]) == i; g++)
			st->segment[g].under =
				move_node(st->tree, st->segment[g].under,
					  above, f[i - 1].node);
		old = i < st->depth ? f[i].node : 0;
		if (i < st->depth)
			f[i].node = move_node(st->tree, old, above,
					      f[i - 1].node);
	}
	st->outside = outside;
}

/* An edge was reached, or a chunk begins: what holds from now on, and until
 * when? Unless the thread is on the CPU, each record takes the long way (until
 * is 0), because its time must also be counted as off the CPU or unknown; so it
 * does near samples, and where these are not known. */
static void renew(struct replay *r, struct stream *st)
{
	const ticks from = r->want.from, to = r->want.to;
	const struct switches *const w = st->switches;
	ticks edge = UINT64_MAX;
	bool is_plain;

	while (knows(st) && st->edges < w->count) {
		if (w->edge[st->edges].at > st->now) {
			edge = w->edge[st->edges].at;
			break;
		}
		st->cpu = w->edge[st->edges++].cpu;
	}
	is_plain = st->cpu == CPU_ON ||
		   (st->cpu == CPU_UNKNOWN && r->want.only_events &&
		    !r->sink->unknown);
	if (to > 0) {
		const bool outside = st->now < from || st->now >= to;

		if (outside != st->outside)
			change_sides(r, st, outside);
		if (st->now < from && from < edge)
			edge = from;
		else if (st->now >= from && st->now < to && to < edge)
			edge = to;
	}
	if (st->tree->sampled) {
		const ticks sample = replay_samples_edge(st);

		edge = sample < edge ? sample : edge;
		is_plain &= replay_samples_are_known(st) &&
			    !replay_samples_are_near(st);
	}
	st->edge = edge;
	st->until = is_plain ? edge : 0;
}

/* Handlers' chunks come right after the one they interrupted and have its
 * edges; where they do not, their time off the CPU stays that of the
 * interrupted call. */
void replay_time_begin(struct replay *r, struct stream *st)
{
	if (st->level == 0) {
		st->own.is_there = true;
		if (r->session->cct->cpu)
			cct_collect_cpu(st->tree);
		if (r->session->cct->sampled)
			cct_collect_samples(st->tree);
	}
	st->cpu = knows(st) ? CPU_UNKNOWN : CPU_ON;
	st->edges = 0;
	renew(r, st);
}

static void tell_state(const struct replay *r, const struct stream *st,
		       ticks span)
{
	if (st->cpu >= CPU_OFF && r->sink->off)
		r->sink->off(r->ctx, st, st->now, st->now + span,
			     st->cpu == CPU_READY);
	else if (st->cpu == CPU_UNKNOWN && r->sink->unknown)
		r->sink->unknown(r->ctx, st, st->now, st->now + span);
}

/* Time within which nothing changes, for the innermost call. */
static void spend(const struct replay *r, struct stream *st, ticks span)
{
	const node_id here = st->frame[st->depth - 1].node;

	assert(st->depth >= 1);
	if (st->tree->sampled && st->cpu < CPU_OFF &&
	    !replay_samples_are_known(st))
		st->tree->sampled[here].unsampled += span;
	if (st->cpu != CPU_ON && st->level == 0 && span > 0 && r->sink)
		tell_state(r, st, span);
	st->now += span;
	st->frame[st->depth - 1].self += span;
	st->tree->nodes[here].self += span;
	if (replay_samples_are_near(st))
		replay_samples_pass(r, st, here, span);
	if (!st->tree->cpu)
		return;
	if (st->cpu >= CPU_OFF)
		st->tree->cpu[here].off += span;
	if (st->cpu == CPU_READY)
		st->tree->cpu[here].ready += span;
	else if (st->cpu == CPU_UNKNOWN)
		st->tree->cpu[here].unknown += span;
}

/* The time is cut at each edge in it. */
void replay_time_pass(struct replay *r, struct stream *st, ticks gap)
{
	while (st->edge - st->now <= gap) {
		const ticks step = st->edge - st->now;

		spend(r, st, step);
		gap -= step;
		renew(r, st);
	}
	spend(r, st, gap);
}

/* Sleep inside the time that is asked for belongs to the inside, even if the
 * resume itself is outside. */
void replay_time_slept(struct replay *r, struct stream *st, ticks slept)
{
	node_id here = st->frame[st->depth - 1].node;
	ticks from = slept < st->now ? st->now - slept : 0, to = st->now;

	if (r->want.to > 0) {
		from = from < r->want.from ? r->want.from : from;
		to = to > r->want.to ? r->want.to : to;
		if (from >= to)
			return;
		if (st->outside)
			here = cct_beside(st->tree, here, false);
		slept = to - from;
	}
	st->tree->nodes[here].suspended += slept;
}

node_id replay_time_side(const struct stream *st, node_id id)
{
	return st->outside ? cct_beside(st->tree, id, true) : id;
}

uint32_t replay_time_body_of(const struct replay *r, const struct stream *st,
			     uint64_t serial, uint32_t co)
{
	const struct session *const s = r->session;
	const uint32_t process = s->threads[st->thread].process;
	uint32_t flags = CCT_BODY, of;

	if (r->want.serial && serial == r->want.serial &&
	    (r->want.pid == 0 || s->processes[process].pid == r->want.pid))
		flags |= CCT_CHOSEN;
	if (!r->want.vm || !co)
		return flags;
	of = map_find(r->vm_of, process, s->coroutines[co - 1].vm);
	if (of == 0 || of >= SESSION_OF_COROUTINE)
		of = SESSION_OF_COROUTINE |
		     (co < SESSION_OF_COROUTINE ? co : 0);
	return flags | of << CCT_OF_SHIFT;
}

uint32_t replay_time_body(const struct replay *r, const struct stream *st)
{
	const struct segment *const top = replay_top(st);

	return replay_time_body_of(r, st, top->serial, top->co);
}
