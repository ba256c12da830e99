/* combine.c - adds a session to a sum: who is who, then figure by figure.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/combine.h"
#include "analyzer/core/cct_hot.h"
#include "analyzer/core/combine_state.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"

#include <string.h>

/* Ids of one session in the sum. */
struct mapped { elf_id *module; func_id *func; uint32_t *process, *thread; };

struct combine *combine_new(void)
{
	struct combine *const c = mem_alloc(sizeof(*c));

	c->sum = session_new(SIZE_MAX);
	c->sum->hz_error = 0;
	c->processes = map_new();
	c->threads = map_new();
	c->spreads = map_new();
	c->edges = map_new();
	return c;
}

static void free_maps(struct combine *c)
{
	map_free(c->processes);
	map_free(c->threads);
	map_free(c->spreads);
	map_free(c->edges);
	mem_free(c);
}

const char *combine_own(const struct combine *c, const char *text)
{
	return text[0] == '\0' ? "" : arena_copy(c->sum->text, text,
						 strlen(text));
}

/* --- who ran ------------------------------------------------------------- */

static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static uint32_t process_of(struct combine *c, const char *path)
{
	struct session *const s = c->sum;
	uint32_t *at;

	for (uint64_t n = 0;; n++) {
		at = map_put(c->processes, hash_text(1, path), n);
		if (*at == 0)
			break;
		if (strcmp(s->processes[*at - 1].path, path) == 0) {
			s->beyond.processes++;
			return *at - 1;
		}
	}
	*at = (uint32_t)s->process_count + 1;
	mem_need((void **)&s->processes, &c->process_room, *at,
		 sizeof(*s->processes));
	s->processes[s->process_count] = (struct process){
		.path = combine_own(c, path), .start = UINT64_MAX };
	return (uint32_t)s->process_count++;
}

static uint32_t thread_of(struct combine *c, uint32_t process,
			  const char *name)
{
	struct session *const s = c->sum;
	uint32_t *at;

	for (uint64_t n = 0;; n++) {
		at = map_put(c->threads, hash_text(process, name), n);
		if (*at == 0)
			break;
		if (s->threads[*at - 1].process == process &&
		    strcmp(s->threads[*at - 1].name, name) == 0) {
			s->beyond.threads++;
			return *at - 1;
		}
	}
	*at = (uint32_t)s->thread_count + 1;
	mem_need((void **)&s->threads, &c->thread_room, *at,
		 sizeof(*s->threads));
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
	to->traced += combine_ns(from, t->traced);
	to->cpu_ns += t->cpu_ns;
	for (int i = 0; i < LOST_REASONS; i++)
		to->lost[i] += t->lost[i];
	to->missing_chunks += t->missing_chunks;
	to->missing_records += t->missing_records;
	to->unnested += t->unnested;
	to->unplaced += t->unplaced;
	to->open += t->open;
	to->gaps += t->gaps;
	to->known += combine_ns(from, t->known);
	to->offcpu += combine_ns(from, t->offcpu);
	to->missing += combine_ns(from, t->missing);
	to->headless += t->headless;
}

static void add_people(struct combine *c, const struct session *from,
		       const struct mapped *map)
{
	struct beyond *const b = &c->sum->beyond;
	const uint64_t *const more = &from->beyond.processes;

	for (size_t i = 0; i < from->process_count; i++) {
		struct process *p;

		map->process[i] = process_of(c, from->processes[i].path);
		p = &c->sum->processes[map->process[i]];
		if (from->processes[i].start < p->start)
			p->start = from->processes[i].start;
	}
	for (size_t i = 0; i < from->thread_count; i++) {
		const struct thread *const t = &from->threads[i];

		map->thread[i] = thread_of(c, map->process[t->process],
					   t->name);
		add_thread(&c->sum->threads[map->thread[i]], from, t);
	}
	b->vms += from->vm_count;
	b->coroutines += from->coroutine_count;
	for (size_t i = 0; i < from->vm_count; i++)
		b->vms_jit_off += (from->vms[i].flags & VM_JIT_OFF) != 0;
	for (size_t i = 0; i < from->coroutine_count; i++)
		b->inferred += from->coroutines[i].inferred;
	for (size_t i = 0; i < sizeof(*b) / sizeof(*more); i++)
		(&b->processes)[i] += more[i];
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

static void add_parts(struct combine *c, const struct session *from)
{
	struct session *const s = c->sum;

	for (size_t i = 0; i < from->part_count; i++) {
		struct part *to;

		mem_need((void **)&s->parts, &c->part_room, s->part_count + 1,
			 sizeof(*s->parts));
		to = &s->parts[s->part_count++];
		*to = from->parts[i];
		to->command = combine_own(c, to->command);
		to->host = combine_own(c, to->host);
	}
}

static void join(struct combine *c, struct session *from)
{
	struct mapped map = {
		mem_alloc((func_elf_count(from->funcs) + 1) * sizeof(elf_id)),
		mem_alloc((func_count(from->funcs) + 1) * sizeof(func_id)),
		mem_alloc((from->process_count + 1) * sizeof(uint32_t)),
		mem_alloc((from->thread_count + 1) * sizeof(uint32_t)) };

	combine_notes_join(c, from, c->sum->process_count == 0 &&
			   c->sum->part_count == 0);
	combine_func_join(c, from, map.module, map.func);
	add_people(c, from, &map);
	combine_tree_join(c, from, map.func, map.thread);
	add_scalars(c->sum, from);
	add_parts(c, from);
	combine_spread_join(c, from, map.func);
	mem_free(map.module);
	mem_free(map.func);
	mem_free(map.process);
	mem_free(map.thread);
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
				       session_note(from, "end") != NULL),
		.cpu = (uint32_t)cct_has_cpu(from->cct),
		.command = command == NULL ? "" : arena_copy(one->text,
						command, strlen(command)),
		.host = host == NULL ? "" : arena_copy(one->text, host,
						       strlen(host)) };
}

/* A trace's session as a sum of one. */
static struct session *lift(struct session *from)
{
	struct combine *const c = combine_new();
	struct session *const one = c->sum;

	join(c, from);
	combine_notes_lift(one);
	add_self_as_part(one, from);
	combine_spread_lift(one);
	free_maps(c);
	return one;
}

void combine_add(struct combine *c, struct session *from)
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

struct session *combine_end(struct combine *c)
{
	struct session *sorted;

	if (c->no_hist) {
		hist_free(c->sum->cct->hist);
		c->sum->cct->hist = NULL;
	}
	sorted = combine_sort(c->sum);
	session_free(c->sum);
	free_maps(c);
	return sorted;
}
