/* merge_identities_sort.c - who ran, in an order that follows from their names.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge_order.h"
#include "analyzer/model/label.h"

static int by_process(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int order = strcmp(s->from->processes[x].path,
				 s->from->processes[y].path);

	return order != 0 ? order : label_compare(s->from, x, s->from, y);
}

static int by_thread(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct thread *const x = &s->from->threads[*(const uint32_t *)a];
	const struct thread *const y = &s->from->threads[*(const uint32_t *)b];

	return FIRST_OF(numbers(s->process[x->process],
				s->process[y->process]),
			strcmp(x->name, y->name));
}

static int by_vm(const void *a, const void *b, void *ctx)
{
	const struct sorting *const s = ctx;
	const struct vm *const x = &s->from->vms[*(const uint32_t *)a];
	const struct vm *const y = &s->from->vms[*(const uint32_t *)b];

	return FIRST_OF(numbers(s->process[x->process],
				s->process[y->process]),
			numbers(x->abi, y->abi),
			numbers(x->serial, y->serial));
}

/* Those of a sum are each process's own. */
static void copy_labels(struct sorting *s, uint32_t process)
{
	struct session *const to = s->to;
	size_t n;
	const struct label **const list = label_list(s->from, process, &n);

	for (size_t i = 0; i < n; i++)
		to->labels[to->label_count++] = (struct label){
			0, s->process[process] + 1, own(s, list[i]->key),
			own(s, list[i]->value) };
	mem_free(list);
}

static void sort_processes(struct sorting *s)
{
	struct session *const to = s->to;
	uint32_t *const order = sorted(s->from->process_count, 0, by_process,
				       s);

	to->process_count = s->from->process_count;
	to->processes = mem_alloc((to->process_count + 1) *
				  sizeof(*to->processes));
	to->labels = mem_alloc((s->from->label_count + 1) *
			       sizeof(*to->labels));
	for (uint32_t i = 0; i < to->process_count; i++) {
		to->processes[i] = s->from->processes[order[i]];
		to->processes[i].path = own(s, to->processes[i].path);
		s->process[order[i]] = i;
		copy_labels(s, order[i]);
	}
	mem_free(order);
}

static void sort_threads(struct sorting *s)
{
	struct session *const to = s->to;
	uint32_t *const order = sorted(s->from->thread_count, 0, by_thread, s);

	to->thread_count = s->from->thread_count;
	to->threads = mem_alloc((to->thread_count + 1) * sizeof(*to->threads));
	for (uint32_t i = 0; i < to->thread_count; i++) {
		to->threads[i] = s->from->threads[order[i]];
		to->threads[i].process = s->process[to->threads[i].process];
		s->thread[order[i]] = i;
	}
	mem_free(order);
}

static void sort_vms(struct sorting *s)
{
	struct session *const to = s->to;
	uint32_t *const order = sorted(s->from->vm_count, 0, by_vm, s);

	to->vm_count = s->from->vm_count;
	to->vms = mem_alloc((to->vm_count + 1) * sizeof(*to->vms));
	for (uint32_t i = 0; i < to->vm_count; i++) {
		to->vms[i] = s->from->vms[order[i]];
		to->vms[i].process = s->process[to->vms[i].process];
		s->vm[order[i]] = i;
	}
	mem_free(order);
}

void merge_identities_sort(struct sorting *s)
{
	sort_processes(s);
	sort_threads(s);
	sort_vms(s);
}
