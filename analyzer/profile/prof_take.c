/* prof_take.c - rows that say they are a session's: ids must be those of what
 * came before, and nothing may be there twice.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/prof_take.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/model/hist.h"

#include <string.h>

struct prof_take {
	struct session *s;
	int has_head;
	node_id length, cpu;     /* of the last rows */
	/* Rooms of the session's arrays. */
	size_t processes, threads, vms, notes, parts, statistics, edges, namings,
	       labels;
};

enum { LABELS_MAX = 4096 };

/* More than any clock has; ticks times this fit 128 bits with room. */
#define HZ_MAX (UINT64_C(1) << 40)

struct prof_take *prof_take_new(void)
{
	struct prof_take *const p = mem_alloc(sizeof(*p));

	p->s = session_new(SIZE_MAX);
	return p;
}

static int damaged(const char *what)
{
	return err_add("it is damaged: %s", what);
}

static const char *own(const struct prof_take *p, const char *text)
{
	return text[0] == '\0' ? "" : arena_copy(p->s->text, text,
						 strlen(text));
}

/* --- head, modules, functions -------------------------------------------- */

static int take_head(struct prof_take *p, const void *row)
{
	const struct session *const from = row;
	const struct prof_table *const t = &prof_tables[PROF_HEAD];

	if (p->has_head)
		return damaged("two heads");
	if (from->tick_hz == 0 || from->tick_hz > HZ_MAX)
		return damaged("its clock");
	p->has_head = 1;
	for (size_t f = 0; f < t->field_count; f++)
		memcpy((char *)p->s + t->fields[f].offset,
		       (const char *)row + t->fields[f].offset,
		       (size_t)t->fields[f].size * t->fields[f].count);
	if (from->beyond.folded > 0)
		cct_set_folded(p->s->cct, (size_t)from->beyond.folded);
	p->s->beyond.folded = 0;
	return 0;
}

static int take_module(struct prof_take *p, const void *row)
{
	const struct elf_module *const m = row;
	const size_t before = func_elf_count(p->s->funcs);

	if (m->build_id_size > sizeof(m->build_id))
		return damaged("a build-id");
	func_module(p->s->funcs, m->path, m->build_id, m->build_id_size,
		    m->size);
	return func_elf_count(p->s->funcs) == before + 1 ? 0 :
		damaged("a module comes twice");
}

static func_id add_func(const struct prof_take *p, const struct func *f)
{
	if (f->kind == FUNC_NONE || f->kind > FUNC_SPECIAL ||
	    f->module > func_elf_count(p->s->funcs) ||
	    f->ordinal > CHUNK_ORDINAL_MAX)
		return 0;
	return func_like(p->s->funcs, f, f->module);
}

/* The first function is in every session from its start: "(deeper)". */
static int take_func(struct prof_take *p, const void *row, size_t wanted)
{
	const struct func *const from = row;
	const func_id id = add_func(p, from);
	struct func *to;

	if (id != wanted)
		return damaged("a function");
	func_hint(p->s->funcs, id, from->hint);
	if (from->untold_return)
		func_set_untold_return(p->s->funcs, id);
	to = func_get(p->s->funcs, id);
	to->name = own(p, from->name[0] == '\0' ? "[unnamed]" : from->name);
	to->file = own(p, from->file);
	to->file_line = from->file_line;
	return 0;
}

static int take_funcs(struct prof_take *p, const struct func *rows,
		      size_t count)
{
	size_t first = func_count(p->s->funcs);

	if (first == 1 && rows[0].kind == FUNC_SPECIAL &&
	    add_func(p, &rows[0]) == 1)
		first = 0;
	for (size_t i = 0; i < count; i++)
		if (take_func(p, &rows[i], first + i + 1) != 0)
			return -1;
	return 0;
}

/* --- who ran ------------------------------------------------------------- */

static void *grow(void *array, size_t *room, size_t count, size_t size)
{
	void **const at = array;

	*at = mem_more(*at, room, count + 1, size);
	return (char *)*at + count * size;
}

static int take_process(struct prof_take *p, const void *row)
{
	struct process *const to = grow(&p->s->processes, &p->processes,
					p->s->process_count, sizeof(*to));

	*to = *(const struct process *)row;
	to->path = own(p, to->path);
	p->s->process_count++;
	return 0;
}

static int take_thread(struct prof_take *p, const void *row)
{
	struct thread *const to = grow(&p->s->threads, &p->threads,
				       p->s->thread_count, sizeof(*to));

	*to = *(const struct thread *)row;
	p->s->thread_count++;
	return to->process < p->s->process_count ? 0 :
		damaged("a thread without a process");
}

static int take_vm(struct prof_take *p, const void *row)
{
	struct vm *const to = grow(&p->s->vms, &p->vms, p->s->vm_count,
				   sizeof(*to));

	*to = *(const struct vm *)row;
	p->s->vm_count++;
	return to->process < p->s->process_count ? 0 :
		damaged("a Lua state without a process");
}

static int take_note(struct prof_take *p, const void *row)
{
	struct note *const to = grow(&p->s->notes, &p->notes,
				     p->s->note_count, sizeof(*to));
	const struct note *const from = row;

	to->key = own(p, from->key);
	to->value = own(p, from->value);
	p->s->note_count++;
	return 0;
}

/* Those of all processes are looked at for each of them: never many. */
static int take_label(struct prof_take *p, const void *row)
{
	struct label *const to = grow(&p->s->labels, &p->labels,
				      p->s->label_count, sizeof(*to));
	const uint32_t before = p->s->label_count > 0 ? to[-1].process : 0;

	*to = *(const struct label *)row;
	to->key = own(p, to->key);
	to->value = own(p, to->value);
	p->s->label_count++;
	return to->process >= before &&
	       to->process <= p->s->process_count &&
	       (to->process > 0 || p->s->label_count <= LABELS_MAX) ? 0 :
		damaged("a label");
}

static int take_gap(struct prof_take *p, const void *row)
{
	const struct gap *const from = row;

	if (p->s->gap_count == SESSION_GAPS ||
	    from->thread >= p->s->thread_count || from->to < from->from)
		return damaged("a gap");
	p->s->gaps[p->s->gap_count++] = *from;
	return 0;
}

/* --- what they did ------------------------------------------------------- */

static int take_node(struct prof_take *p, const void *row)
{
	const uint32_t known = CCT_SHAPE | CCT_TIMED;
	struct cct_node n = *(const struct cct_node *)row;
	struct cct *const t = p->s->cct;
	const size_t wanted = cct_count(t) + 1;
	struct cct_node *to;
	node_id id;

	if ((n.flags & ~known & ((1u << CCT_OF_SHIFT) - 1)) != 0 ||
	    n.flags >> CCT_OF_SHIFT > p->s->vm_count)
		return damaged("a node's flags");
	if (n.parent >= wanted || (n.parent == 0) != (n.func == 0) ||
	    n.func > func_count(p->s->funcs) ||
	    (n.parent == 0 && n.thread >= p->s->thread_count))
		return damaged("a node of the tree");
	n.parent = n.parent == 0 ? 0 : (node_id)(wanted - n.parent);
	id = n.parent == 0 ? cct_root(t, n.thread) :
	     cct_child(t, n.parent, n.func, n.flags);
	if (id != wanted)
		return damaged("a node of the tree comes twice");
	to = cct_get(t, id);
	n.child = to->child;
	n.sibling = to->sibling;
	n.flags = to->flags | (n.flags & CCT_TIMED);
	*to = n;
	return 0;
}

static int take_part(struct prof_take *p, const void *row)
{
	struct part *const to = grow(&p->s->parts, &p->parts, p->s->part_count,
				     sizeof(*to));

	*to = *(const struct part *)row;
	to->command = own(p, to->command);
	to->host = own(p, to->host);
	p->s->part_count++;
	return 0;
}

static int take_statistics(struct prof_take *p, const void *row)
{
	struct func_statistics *const to = grow(&p->s->statistics,
						&p->statistics,
					    p->s->statistics_count, sizeof(*to));
	const func_id before = p->s->statistics_count > 0 ? to[-1].func : 0;

	*to = *(const struct func_statistics *)row;
	p->s->statistics_count++;
	return to->func > before && to->func <= func_count(p->s->funcs) ? 0 :
		damaged("figures of sessions");
}

static int take_edge(struct prof_take *p, const void *row)
{
	struct edge_statistics *const to = grow(&p->s->edges, &p->edges,
					    p->s->edge_count, sizeof(*to));
	const size_t funcs = func_count(p->s->funcs);

	*to = *(const struct edge_statistics *)row;
	p->s->edge_count++;
	return to->func > 0 && to->func <= funcs && to->caller <= funcs ? 0 :
		damaged("callers of sessions");
}

static int take_naming(struct prof_take *p, const void *row)
{
	struct naming *const to = grow(&p->s->namings, &p->namings,
				       p->s->naming_count, sizeof(*to));

	*to = *(const struct naming *)row;
	to->file = own(p, to->file);
	to->why = own(p, to->why);
	p->s->naming_count++;
	return p->s->naming_count <= func_elf_count(p->s->funcs) ? 0 :
		damaged("names of modules");
}

/* --- what else was collected --------------------------------------------- */

static int take_collected(const struct prof_take *p, const void *row)
{
	const struct prof_collected *const from = row;
	struct cct *const t = p->s->cct;

	if (from->hist)
		cct_collect_hist(t);
	if (!from->cpu)
		return 0;
	cct_collect_cpu(t);
	for (node_id id = 1; id <= cct_count(t); id++)
		cct_put_cpu(t, id, (struct cct_cpu){ 0 });
	return 0;
}

static int take_length(struct prof_take *p, const void *row)
{
	const struct prof_length *const from = row;
	struct cct *const t = p->s->cct;

	if (!cct_has_hist(t) || from->back > cct_count(t) - p->length ||
	    p->length + from->back == 0 || from->step >= HIST_STEPS ||
	    from->calls == 0 || from->calls >> 50 != 0)
		return damaged("lengths of calls");
	p->length += (node_id)from->back;
	cct_put_lengths(t, p->length, (uint32_t)from->step, from->calls);
	return 0;
}

static int take_cpu(struct prof_take *p, const void *row)
{
	const struct prof_cpu *const from = row;
	struct cct *const t = p->s->cct;

	if (!cct_has_cpu(t) || from->back > cct_count(t) - p->cpu ||
	    from->back == 0)
		return damaged("times off the CPU");
	p->cpu += (node_id)from->back;
	cct_put_cpu(t, p->cpu, (struct cct_cpu){ from->off, from->unknown });
	return 0;
}

/* --- the whole ----------------------------------------------------------- */

static int take_row(struct prof_take *p, enum prof_kind kind, const void *row)
{
	switch (kind) {
	case PROF_HEAD:
		return take_head(p, row);
	case PROF_MODULE:
		return take_module(p, row);
	case PROF_PROCESS:
		return take_process(p, row);
	case PROF_THREAD:
		return take_thread(p, row);
	case PROF_VM:
		return take_vm(p, row);
	case PROF_NOTE:
		return take_note(p, row);
	case PROF_GAP:
		return take_gap(p, row);
	case PROF_NODE:
		return take_node(p, row);
	case PROF_PART:
		return take_part(p, row);
	case PROF_STATISTICS:
		return take_statistics(p, row);
	case PROF_EDGE:
		return take_edge(p, row);
	case PROF_NAMING:
		return take_naming(p, row);
	case PROF_COLLECTED:
		return take_collected(p, row);
	case PROF_LENGTH:
		return take_length(p, row);
	case PROF_CPU:
		return take_cpu(p, row);
	case PROF_LABEL:
		return take_label(p, row);
	case PROF_FUNC:
	case PROF_KINDS:
		break;
	}
	return 0;
}

int prof_take_rows(struct prof_take *p, enum prof_kind kind, const void *rows,
		   size_t count)
{
	const size_t size = prof_tables[kind].row_size;

	if (kind == PROF_FUNC)
		return take_funcs(p, rows, count);
	for (size_t i = 0; i < count; i++)
		if (take_row(p, kind, (const char *)rows + i * size) != 0)
			return -1;
	return 0;
}

struct session *prof_take_end(struct prof_take *p, int status)
{
	struct session *s = p->s;

	if (status == 0 && !p->has_head)
		status = damaged("it has no head");
	if (status != 0) {
		session_free(s);
		s = NULL;
	}
	mem_free(p);
	return s;
}
