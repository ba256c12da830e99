/* other_waits.c - where threads slept and no call that waits was open: in
 * system calls that the program makes itself, in libc's inner waits, in page
 * faults.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/order.h"
#include "analyzer/correct/correct.h"

static void move_asleep(struct cct *t, node_id from, node_id to, uint64_t time)
{
	struct cct_cpu cpu = cct_cpu_of(t, from), other = cct_cpu_of(t, to);
	struct cct_sampled *const sampled = cct_sampled_of(t, from);

	cct_get(t, from)->self -= time;
	cct_get(t, to)->self += time;
	cpu.off -= time;
	other.off += time;
	cct_put_cpu(t, from, cpu);
	cct_put_cpu(t, to, other);
	if (!sampled)
		return;
	time = MIN(time, sampled->raw);
	sampled->raw -= time;
	cct_sampled_of(t, to)->raw += time;
}

void other_waits_add(struct session *s)
{
	struct cct *const t = s->cct;
	const size_t count = cct_count(t);
	func_id func = 0;

	if (!session_note(s, "waits") || !cct_has_cpu(t))
		return;
	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(t, id);
		const struct cct_cpu cpu = cct_cpu_of(t, id);
		const uint64_t time = MIN(n->self, cpu.off -
						   MIN(cpu.ready, cpu.off));

		if (time == 0 || func_is_libc(s->funcs, n->func))
			continue;
		func = func_special(s->funcs, FUNC_OTHER_WAIT);
		move_asleep(t, id, cct_child(t, id, func, 0), time);
	}
	if (func)
		func_get(s->funcs, func)->noted = 1;
}
