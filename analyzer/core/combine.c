/* combine.c - adds a session to a sum: who is who, then figure by figure.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/combine.h"
#include "analyzer/core/cct_hot.h"
#include "analyzer/core/combine_state.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"

#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

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

const char *combine_first(const char *a, const char *b)
{
	if (a[0] == '\0' || b[0] == '\0')
		return a[0] == '\0' ? b : a;
	return strcmp(a, b) <= 0 ? a : b;
}

static const char *own(const struct combine *c, const char *text)
{
	return text[0] == '\0' ? "" : arena_copy(c->sum->text, text,
						 strlen(text));
}

/* Take the text if it is to stand for both. */
static void put_first(const struct combine *c, const char **at,
		      const char *text)
{
	if (combine_first(*at, text) != *at)
		*at = own(c, text);
}

/* --- modules and functions ----------------------------------------------- */

static void add_naming(struct combine *c, elf_id id,
		       const struct session *from, elf_id other)
{
	struct session *const s = c->sum;
	struct naming *to;

	mem_need((void **)&s->namings, &c->naming_room, id,
		 sizeof(*s->namings));
	for (; s->naming_count < id; s->naming_count++)
		s->namings[s->naming_count] = (struct naming){ "", "", 0, 0, 0,
							       0 };
	if (other > from->naming_count)
		return;
	to = &s->namings[id - 1];
	put_first(c, &to->file, from->namings[other - 1].file);
	put_first(c, &to->why, from->namings[other - 1].why);
	to->is_refused |= from->namings[other - 1].is_refused;
}

static void add_modules(struct combine *c, struct session *from, elf_id *map)
{
	for (elf_id i = 1; i <= func_elf_count(from->funcs); i++) {
		const struct elf_module *const m = func_elf(from->funcs, i);
		struct elf_module *to;

		map[i] = func_module(c->sum->funcs, m->path, m->build_id,
				     m->build_id_size, m->size);
		to = func_elf(c->sum->funcs, map[i]);
		if (m->size > to->size)
			to->size = m->size;
		if (combine_first(to->path, m->path) != to->path)
			to->path = arena_copy(c->sum->text, m->path,
					      strlen(m->path));
		add_naming(c, map[i], from, i);
	}
}

/* A name that comes with its file is better than one that does not; of two as
 * good ones the first. */
static int is_better(const struct func *a, const struct func *b)
{
	int order;

	if (b->name[0] == '\0' || (a->file[0] != '\0') != (b->file[0] != '\0'))
		return b->name[0] == '\0' || a->file[0] != '\0';
	order = strcmp(a->name, b->name);
	if (order == 0)
		order = strcmp(a->file, b->file);
	return order < 0 || (order == 0 && a->file_line < b->file_line);
}

static void add_funcs(struct combine *c, struct session *from,
		      const elf_id *module, func_id *map)
{
	for (func_id i = 1; i <= func_count(from->funcs); i++) {
		const struct func *const f = func_get(from->funcs, i);
		struct func *to;

		map[i] = func_like(c->sum->funcs, f, module[f->module]);
		to = func_get(c->sum->funcs, map[i]);
		put_first(c, &to->hint, f->hint);
		if (!is_better(f, to))
			continue;
		to->name = own(c, f->name);
		to->file = own(c, f->file);
		to->file_line = f->file_line;
	}
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
		.path = own(c, path), .start = UINT64_MAX };
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

/* A trace's times are its ticks; those of a sum are nanoseconds. */
static uint64_t ns(const struct session *from, ticks t)
{
	return from->part_count > 0 ? t : session_ns(from, t);
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
	to->traced += ns(from, t->traced);
	to->cpu_ns += t->cpu_ns;
	for (int i = 0; i < LOST_REASONS; i++)
		to->lost[i] += t->lost[i];
	to->missing_chunks += t->missing_chunks;
	to->missing_records += t->missing_records;
	to->unnested += t->unnested;
	to->unplaced += t->unplaced;
	to->open += t->open;
	to->gaps += t->gaps;
	to->known += ns(from, t->known);
	to->offcpu += ns(from, t->offcpu);
	to->missing += ns(from, t->missing);
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

/* --- what they did ------------------------------------------------------- */

/* Lengths of calls: a step in ticks goes to the one or two steps in ns that it
 * lies in, by how much of it does. */
static void add_lengths(struct cct *t, node_id id, const struct session *from,
			node_id other)
{
	uint64_t counts[HIST_STEPS] = { 0 };

	if (!t->hist || !cct_spread(from->cct, other, counts))
		return;
	for (uint32_t i = 0; i + 1 < HIST_STEPS; i++) {
		const uint64_t least = session_ns(from, hist_least(i));
		const uint64_t most = session_ns(from, hist_least(i + 1));
		const uint32_t low = hist_step(least);
		const uint32_t high = most > least ? hist_step(most - 1) : low;
		const uint64_t above = low == high ? 0 : spread_scale(counts[i],
			most - hist_least(high), most - least);

		if (counts[i] > above)
			hist_add(t->hist, id, low, counts[i] - above);
		if (above > 0)
			hist_add(t->hist, id, high, above);
	}
}

/* A node of a trace's own session. */
static void lift_node(struct cct *t, node_id id, const struct session *from,
		      node_id other)
{
	const struct cct_node *const n = cct_get(from->cct, other);
	struct cct_node *const to = cct_get(t, id);

	add_lengths(t, id, from, other);
	if (t->cpu) {
		const struct cct_cpu cpu = cct_cpu_of(from->cct, other);

		t->cpu[id].off += ns(from, cpu.off);
		t->cpu[id].unknown += ns(from, from->cct->cpu ? cpu.unknown :
						    n->self);
	}
	to->calls += n->calls;
	to->self += ns(from, n->self);
	to->suspended += ns(from, n->suspended);
	if (n->flags & CCT_TIMED) {
		cct_hot_time(to, ns(from, n->min));
		cct_hot_time(to, ns(from, n->max));
	}
}

/* Parents come before their children. */
static void add_tree(struct combine *c, struct session *from,
		     const struct mapped *map)
{
	const size_t count = cct_count(from->cct);
	struct cct *const t = c->sum->cct;
	node_id *const node = mem_alloc((count + 1) * sizeof(*node));

	c->no_hist |= from->cct->hist == NULL;
	cct_collect_as(t, from->cct);
	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(from->cct, id);

		node[id] = n->parent == 0 ? cct_root(t, map->thread[n->thread]) :
			cct_child(t, node[n->parent], map->func[n->func],
				  n->flags & CCT_SHAPE);
		if (from->part_count > 0)
			cct_add(t, node[id], from->cct, id);
		else
			lift_node(t, node[id], from, id);
	}
	cct_set_folded(t, cct_deeper(t) + cct_deeper(from->cct));
	mem_free(node);
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
		to->command = own(c, to->command);
		to->host = own(c, to->host);
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
	add_modules(c, from, map.module);
	add_funcs(c, from, map.module, map.func);
	add_people(c, from, &map);
	add_tree(c, from, &map);
	add_scalars(c->sum, from);
	add_parts(c, from);
	combine_spread_join(c, from, map.func);
	mem_free(map.module);
	mem_free(map.func);
	mem_free(map.process);
	mem_free(map.thread);
}

/* --- the whole ------------------------------------------------------------ */

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
