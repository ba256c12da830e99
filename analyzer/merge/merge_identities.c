/* merge_identities.c - who ran, of several sessions: processes are one by program
 * and labels, threads by name, Lua states by their number.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge_state.h"
#include "analyzer/model/label.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"
#include "analyzer/base/text.h"

#include <string.h>

/* They are the new process's own. */
static void add_labels(struct merge *c, const struct session *from,
		       uint32_t other)
{
	struct session *const s = c->sum;
	size_t n;
	const struct label **const list = label_list(from, other, &n);

	vec_need(&s->labels, &c->label_room, s->label_count + n);
	for (size_t i = 0; i < n; i++)
		s->labels[s->label_count++] = (struct label){
			0, (uint32_t)s->process_count + 1,
			merge_own(c, list[i]->key),
			merge_own(c, list[i]->value) };
	mem_free(list);
}

static uint32_t process_of(struct merge *c, const struct session *from,
			   uint32_t other)
{
	struct session *const s = c->sum;
	const char *const path = from->processes[other].path;
	const uint64_t hash = text_hash(label_hash(from, other), path);
	uint32_t *at;

	for (uint64_t n = 0;; n++) {
		at = map_put(c->processes, hash, n);
		if (*at == 0)
			break;
		if (strcmp(s->processes[*at - 1].path, path) == 0 &&
		    label_compare(s, *at - 1, from, other) == 0) {
			s->beyond.processes++;
			return *at - 1;
		}
	}
	add_labels(c, from, other);
	*at = (uint32_t)s->process_count + 1;
	vec_need(&s->processes, &c->process_room, *at);
	s->processes[s->process_count] = (struct process){
		.path = merge_own(c, path), .start = UINT64_MAX };
	return (uint32_t)s->process_count++;
}

static uint32_t thread_of(struct merge *c, uint32_t process,
			  const char *name)
{
	struct session *const s = c->sum;
	uint32_t *at;

	for (uint64_t n = 0;; n++) {
		at = map_put(c->threads, text_hash(process, name), n);
		if (*at == 0)
			break;
		if (s->threads[*at - 1].process == process &&
		    strcmp(s->threads[*at - 1].name, name) == 0) {
			s->beyond.threads++;
			return *at - 1;
		}
	}
	*at = (uint32_t)s->thread_count + 1;
	vec_need(&s->threads, &c->thread_room, *at);
	s->threads[s->thread_count] = (struct thread){ .process = process,
						       .first = UINT64_MAX };
	memcpy(s->threads[s->thread_count].name, name, strlen(name) + 1);
	return (uint32_t)s->thread_count++;
}

static uint64_t moment(const struct session *from, ticks t)
{
	return from->part_count > 0 ? t : session_real(from, t);
}

static void add_thread(struct thread *to, const struct session *from,
		       const struct thread *t)
{
	const ticks first = moment(from, t->first);
	const ticks last = moment(from, t->last);

	to->chunks += t->chunks;
	to->records += t->records;
	to->calls += t->calls;
	to->marks += t->marks;
	to->first = first < to->first ? first : to->first;
	to->last = last > to->last ? last : to->last;
	to->traced += merge_ns(from, t->traced);
	to->cpu_ns += t->cpu_ns;
	for (int i = 0; i < LOST_REASONS; i++)
		to->lost[i] += t->lost[i];
	to->missing_chunks += t->missing_chunks;
	to->missing_records += t->missing_records;
	to->unnested += t->unnested;
	to->unplaced += t->unplaced;
	to->open += t->open;
	to->gaps += t->gaps;
	to->known += merge_ns(from, t->known);
	to->offcpu += merge_ns(from, t->offcpu);
	to->missing += merge_ns(from, t->missing);
	to->headless += t->headless;
}

/* Which state of its program: by number, as it is in each run. */
static uint32_t vm_of(struct merge *c, uint32_t process, const struct vm *vm)
{
	struct session *const s = c->sum;
	uint32_t *const at = map_put(c->vms, (uint64_t)process << 32 | vm->abi,
				     vm->serial);
	struct vm *to;

	if (*at != 0) {
		to = &s->vms[*at - 1];
		s->beyond.vms++;
		s->beyond.vms_jit_off += (to->flags & vm->flags &
					  VM_JIT_OFF) != 0;
		to->flags |= vm->flags;
		return *at - 1;
	}
	*vec_add(&s->vms, &c->vm_room, &s->vm_count) =
		(struct vm){
			process, vm->serial, vm->abi, vm->flags };
	*at = (uint32_t)s->vm_count;
	return *at - 1;
}

static void add_counts(struct beyond *b, const struct session *from)
{
	const uint64_t *const more = &from->beyond.processes;

	b->coroutines += from->coroutine_count;
	for (size_t i = 0; i < from->coroutine_count; i++)
		b->inferred += from->coroutines[i].inferred;
	for (size_t i = 0; i < sizeof(*b) / sizeof(*more); i++)
		(&b->processes)[i] += more[i];
}

void merge_identities_join(struct merge *c, const struct session *from,
			 uint32_t *process, uint32_t *thread, uint32_t *vm)
{
	struct session *const s = c->sum;

	for (uint32_t i = 0; i < from->process_count; i++) {
		struct process *p;

		process[i] = process_of(c, from, i);
		p = &s->processes[process[i]];
		if (from->processes[i].start < p->start)
			p->start = from->processes[i].start;
	}
	for (size_t i = 0; i < from->thread_count; i++) {
		const struct thread *const t = &from->threads[i];

		thread[i] = thread_of(c, process[t->process], t->name);
		add_thread(&s->threads[thread[i]], from, t);
	}
	for (size_t i = 0; i < from->vm_count; i++)
		vm[i] = vm_of(c, process[from->vms[i].process], &from->vms[i]);
	add_counts(&s->beyond, from);
}
