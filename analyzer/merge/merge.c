/* merge.c - adds a session to a sum: who is who, then figure by figure.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge.h"
#include "analyzer/model/cct_hot.h"
#include "analyzer/merge/merge_state.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <string.h>

/* Ids of one session in the sum. */
struct mapped {
	elf_id *module;
	func_id *func;
	uint32_t *process, *thread, *vm;
};

struct merge *merge_new(void)
{
	struct merge *const c = mem_alloc(sizeof(*c));

	c->sum = session_new(SIZE_MAX);
	c->sum->hz_error = 0;
	c->processes = map_new();
	c->threads = map_new();
	c->vms = map_new();
	c->statistics = map_new();
	c->edges = map_new();
	return c;
}

static void free_maps(struct merge *c)
{
	map_free(c->processes);
	map_free(c->threads);
	map_free(c->vms);
	map_free(c->statistics);
	map_free(c->edges);
	mem_free(c);
}

const char *merge_own(const struct merge *c, const char *text)
{
	return text[0] == '\0' ? "" : arena_copy(c->sum->text, text,
						 strlen(text));
}

static void add_scalars(struct session *to, const struct session *from)
{
	to->chunks += from->chunks;
	to->records += from->records;
	to->calls += from->calls;
	to->words += from->words;
	to->duplicate_chunks += from->duplicate_chunks;
	to->bad_chunks += from->bad_chunks;
	to->unnested += from->unnested;
	to->gap_total += from->gap_total;
	if (from->hz_error > to->hz_error)
		to->hz_error = from->hz_error;
}

static void add_parts(struct merge *c, const struct session *from)
{
	struct session *const s = c->sum;

	for (size_t i = 0; i < from->part_count; i++) {
		struct part *to;

		vec_need(&s->parts, &c->part_room, s->part_count + 1);
		to = &s->parts[s->part_count++];
		*to = from->parts[i];
		to->command = merge_own(c, to->command);
		to->host = merge_own(c, to->host);
	}
}

static void join(struct merge *c, struct session *from)
{
	struct mapped map = {
		mem_alloc((func_elf_count(from->funcs) + 1) * sizeof(elf_id)),
		mem_alloc((func_count(from->funcs) + 1) * sizeof(func_id)),
		mem_alloc((from->process_count + 1) * sizeof(uint32_t)),
		mem_alloc((from->thread_count + 1) * sizeof(uint32_t)),
		mem_alloc((from->vm_count + 1) * sizeof(uint32_t)) };

	merge_notes_join(c, from, c->sum->process_count == 0 &&
			   c->sum->part_count == 0);
	merge_func_join(c, from, map.module, map.func);
	merge_identities_join(c, from, map.process, map.thread, map.vm);
	merge_tree_join(c, from, map.func, map.thread, map.vm);
	add_scalars(c->sum, from);
	add_parts(c, from);
	merge_statistics_join(c, from, map.func);
	mem_free(map.module);
	mem_free(map.func);
	mem_free(map.process);
	mem_free(map.thread);
	mem_free(map.vm);
}

/* --- the whole ----------------------------------------------------------- */

static void add_self_as_part(struct session *one, const struct session *from)
{
	const char *const command = session_note(from, "command");
	const char *const host = session_note(from, "host");
	ticks first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < from->thread_count; i++) {
		first = from->threads[i].first < first ?
			from->threads[i].first : first;
		last = from->threads[i].last > last ?
			from->threads[i].last : last;
	}
	one->parts = mem_alloc(sizeof(*one->parts));
	one->part_count = 1;
	*one->parts = (struct part){
		.recording = from->process_count > 0 ?
			from->processes[0].recording : 0,
		.start = from->thread_count > 0 ? session_real(from, first) : 0,
		.duration = last > first ? session_ns(from, last - first) : 0,
		.calls = from->calls,
		.complete = (uint32_t)(session_complete(from) &&
				       session_note(from, "end")),
		.cpu = (uint32_t)cct_has_cpu(from->cct),
		.command = !command ? "" : arena_copy(one->text,
						command, strlen(command)),
		.host = !host ? "" : arena_copy(one->text, host,
						       strlen(host)) };
}

/* A trace's session as a sum of one. */
static struct session *lift(struct session *from)
{
	struct merge *const c = merge_new();
	struct session *const one = c->sum;

	join(c, from);
	merge_notes_lift(one);
	add_self_as_part(one, from);
	merge_statistics_lift(one);
	free_maps(c);
	return one;
}

void merge_add(struct merge *c, struct session *from)
{
	struct session *one;

	if (from->part_count > 0) {
		join(c, from);
		return;
	}
	one = lift(from);
	join(c, one);
	session_free(one);
}

struct session *merge_end(struct merge *c)
{
	struct session *sorted;

	if (c->no_hist) {
		hist_free(c->sum->cct->hist);
		c->sum->cct->hist = NULL;
	}
	sorted = merge_sort(c->sum);
	session_free(c->sum);
	free_maps(c);
	return sorted;
}
