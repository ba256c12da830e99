/* explain_work.c - what is long is measured by the time that the whole program
 * had on the CPU, which does not depend on what else the machine did; but next
 * to nothing of the elapsed time is not long.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/explain_work.h"

#include <string.h>

struct explain_finding *work_add(struct work *w, enum explain_kind kind,
				 func_id func)
{
	struct explain_finding *const f = &w->out->finding[w->out->count++];

	*f = (struct explain_finding){ .kind = kind, .func = func,
				       .thread = CCT_ALL_THREADS };
	return f;
}

/* Where switches are not known, the functions of libc that are recorded are
 * known to wait. */
static bool is_known_wait(const struct work *w, func_id func)
{
	return !w->out->has_switches && func_is_libc(w->session->funcs, func);
}

ticks work_on_cpu(const struct work *w, const struct figures *f)
{
	return is_known_wait(w, f->func) ? 0 :
	       w->out->has_switches ? f->cpu : f->self;
}

bool work_matters(const struct work *w, ticks time)
{
	return (double)time >= LEAST_SHARE * (double)w->elapsed;
}

bool work_is_long(const struct work *w, ticks time, double share)
{
	return w->cpu > 0 && (double)time >= share * (double)w->cpu &&
	       work_matters(w, time);
}

ticks work_asleep_at(const struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->session->cct, id);
	const struct cct_cpu cpu = cct_cpu_of(w->session->cct, id);

	return is_known_wait(w, n->func) ? n->self :
	       cpu.off - MIN(cpu.ready, cpu.off);
}

ticks work_asleep(const struct work *w, const struct figures *f)
{
	return is_known_wait(w, f->func) ? f->self :
	       figures_blocked(f->off, f->ready);
}

bool work_is_waiting(const struct work *w, const struct figures *f)
{
	const ticks time = work_asleep(w, f);

	return time > 0 && time / WAIT_TIMES >= f->cpu;
}

bool work_is_for(const struct work *w, func_id func, unsigned what)
{
	static const struct { const char *name; unsigned what; } calls[] = {
		{ "accept", EVENTS }, { "accept4", EVENTS },
		{ "poll", EVENTS }, { "ppoll", EVENTS }, { "select", EVENTS },
		{ "pselect", EVENTS }, { "epoll_wait", EVENTS },
		{ "epoll_pwait", EVENTS }, { "epoll_pwait2", EVENTS },
		{ "sigwait", EVENTS }, { "sigwaitinfo", EVENTS },
		{ "sigtimedwait", EVENTS }, { "sigsuspend", EVENTS },
		{ "pause", EVENTS }, { "recv", INPUT }, { "recvfrom", INPUT },
		{ "recvmsg", INPUT }, { "recvmmsg", INPUT },
		{ "nanosleep", SLEEP }, { "clock_nanosleep", SLEEP },
		{ "usleep", SLEEP }, { "sleep", SLEEP },
		{ "thrd_sleep", SLEEP } };
	struct func_table *const funcs = w->session->funcs;
	const char *name = func_get(funcs, func)->name;

	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if ((calls[i].what & what) && strcmp(name, calls[i].name) == 0)
			return func_is_libc(funcs, func);
	return false;
}

/* Threads may run at the same time: idle is not too long. */
void work_measure(struct work *w)
{
	struct cct *const t = w->session->cct;
	const size_t nodes = cct_count(t) + 1;
	uint64_t *const total = mem_alloc(nodes * sizeof(*total));
	uint64_t *const suspended = mem_alloc(nodes * sizeof(*suspended));
	ticks busy = 0;

	cct_totals(t, total, suspended);
	for (node_id id = 1; id < nodes; id++) {
		const ticks self = cct_get(t, id)->self;

		if (!cct_get(t, id)->parent)
			w->elapsed = MAX(w->elapsed, total[id]);
		busy += self - MIN(work_asleep_at(w, id), self);
	}
	w->idle = w->elapsed - MIN(w->elapsed, busy);
	mem_free_all(total, suspended);
}

void work_find_caller(const struct work *w, struct explain_finding *f,
		      ticks (*time_at)(const struct work *, node_id))
{
	struct cct *const t = w->session->cct;
	struct func_table *const funcs = w->session->funcs;
	ticks *const of = mem_alloc((func_count(funcs) + 1) * sizeof(*of));
	func_id best = 0;
	ticks all = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		node_id by = n->parent;
		func_id from;

		if (n->func != f->func)
			continue;
		while (func_is_library(funcs, cct_get(t, by)->func))
			by = cct_get(t, by)->parent;
		from = cct_get(t, by ? by : n->parent)->func;
		if (func_is_special(funcs, from, "[open before start]"))
			from = 0;
		of[from] += time_at(w, id);
		all += time_at(w, id);
		best = of[from] > of[best] ? from : best;
	}
	f->other = best;
	f->is_most = of[best] > all / 2;
	mem_free(of);
}
