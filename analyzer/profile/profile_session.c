/* profile_session.c - makes a session of rows. Ids in a row must be those of
 * rows that came before, and nothing may come twice. Numbers may be anything
 * but must do no harm: what is used as an index, divisor or size is checked, no
 * sum of the tree's figures may wrap, and all others are shown as they are.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/profile_session.h"

#include "analyzer/base/err.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/hist.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Labels of whole recordings are looked at for each process: few are allowed.
 * More than HZ_MAX no clock has; ticks times this fit 128 bits with room. */
enum { LABELS_MAX = 4096 };
#define HZ_MAX (UINT64_C(1) << 40)

struct profile_session {
	struct session *s;
	bool has_head, has_collected;
	size_t funcs;                /* rows of PROFILE_FUNC */
	/* Nodes of the last rows of these kinds, which give theirs relative to
	 * them. */
	node_id length, cpu, sampled, counted;
	uint64_t lengths;            /* calls in rows of PROFILE_LENGTH */
	uint64_t noted;              /* ticks in rows of PROFILE_COUNTED */
	size_t room[PROFILE_KINDS];  /* of the session's arrays */
};

/* Always -1. what is a few words, without details: nobody repairs a profile by
 * hand. */
static int damaged(const char *what)
{
	return err_add("it is damaged: %s", what);
}

/* A copy that lives as long as the session. */
static const char *copy(const struct profile_session *p, const char *text)
{
	return text[0] == '\0' ? "" : arena_copy(p->s->text, text,
						 strlen(text));
}

/* ---- head, modules, functions ---- */

/* The head fills in fields of the session itself: those that its table has, so
 * that no pointer is taken from a file. The tree keeps the number of folded
 * paths, which profile_write put into beyond. */
static int add_head(struct profile_session *p, const void *row)
{
	const struct session *const from = row;
	const struct profile_table *const t = &profile_tables[PROFILE_HEAD];

	if (p->has_head)
		return damaged("two heads");
	if (from->tick_hz == 0 || from->tick_hz > HZ_MAX)
		return damaged("its clock");
	p->has_head = true;
	for (size_t f = 0; f < t->field_count; f++)
		memcpy((char *)p->s + t->fields[f].offset,
		       (const char *)row + t->fields[f].offset,
		       (size_t)t->fields[f].size * t->fields[f].count);
	if (from->beyond.folded > 0)
		cct_set_folded(p->s->cct, (size_t)from->beyond.folded);
	p->s->beyond.folded = 0;
	return 0;
}

/* Ids of modules are given in order: each must be a new one, or those that
 * follow would be off by one. */
static int add_module(struct profile_session *p, const void *row)
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

/* The function's id; 0 if it is invalid. A function that is there already gets
 * its old id, which add_func refuses. */
static func_id func_of(const struct profile_session *p, const struct func *f)
{
	if (f->kind == FUNC_NONE || f->kind > FUNC_SPECIAL ||
	    f->module > func_elf_count(p->s->funcs) ||
	    f->ordinal > CHUNK_ORDINAL_MAX)
		return 0;
	return func_like(p->s->funcs, f, f->module);
}

/* Ids of functions are given in order: each must be the next one. The first
 * function, "(deeper)", is in every session from its start, and so in every
 * profile; a row for it is no repetition. An empty name would be taken for one
 * that is still to be found. */
static int add_func(struct profile_session *p, const void *row)
{
	const struct func *const from = row;
	const size_t before = func_count(p->s->funcs);
	const func_id id = func_of(p, from);
	const bool is_deeper = p->funcs++ == 0 && before == 1 && id == 1 &&
			       from->kind == FUNC_SPECIAL;
	struct func *to;

	if (id != before + !is_deeper)
		return damaged("a function");
	func_hint(p->s->funcs, id, from->hint);
	if (from->untold_return)
		func_set_untold_return(p->s->funcs, id);
	to = func_get(p->s->funcs, id);
	to->counted = from->counted & FUNC_COUNTED;
	to->noted = from->noted != 0;
	to->name = copy(p, from->name[0] == '\0' ? "[unnamed]" : from->name);
	to->file = copy(p, from->file);
	to->file_line = from->file_line;
	return 0;
}

/* ---- rows that are elements of an array ---- */

/* Is element i of the array, row, consistent with what came before? row lies in
 * the array, so that row[-1] is the element before if i > 0. */
typedef bool (*valid_fn)(const struct session *, const void *row, size_t i);

static bool is_thread(const struct session *s, const void *row, size_t i)
{
	const struct thread *const t = row;

	(void)i;
	return t->process < s->process_count && t->cpu_unknown <= t->traced;
}

static bool is_vm(const struct session *s, const void *row, size_t i)
{
	(void)i;
	return ((const struct vm *)row)->process < s->process_count;
}

/* In the order of processes. LABELS_MAX bounds those of whole recordings. */
static bool is_label(const struct session *s, const void *row, size_t i)
{
	const struct label *const l = row;

	return (i == 0 || l->process >= l[-1].process) &&
	       l->process <= s->process_count &&
	       (l->process > 0 || i < LABELS_MAX);
}

/* By strictly rising function: the list is searched by halving. */
static bool is_statistics(const struct session *s, const void *row, size_t i)
{
	const struct func_statistics *const f = row;

	return f->func > (i > 0 ? f[-1].func : 0) &&
	       f->func <= func_count(s->funcs);
}

/* A caller of 0 is a thread. The order is not checked: a wrong one only makes a
 * search fail. */
static bool is_edge(const struct session *s, const void *row, size_t i)
{
	const struct edge_statistics *const e = row;
	const size_t funcs = func_count(s->funcs);

	(void)i;
	return e->func > 0 && e->func <= funcs && e->caller <= funcs;
}

/* By module, so there are at most as many. */
static bool is_naming(const struct session *s, const void *row, size_t i)
{
	(void)row;
	return i < func_elf_count(s->funcs);
}

/* Kinds whose rows are the elements of one of the session's arrays. */
static const struct list {
	size_t array, count;       /* offsets in struct session */
	valid_fn is_valid;         /* NULL: all are */
	const char *fault;
} lists[PROFILE_KINDS] = {
#define LIST(array, count) \
	offsetof(struct session, array), offsetof(struct session, count)
	[PROFILE_PROCESS] = { LIST(processes, process_count), NULL, "" },
	[PROFILE_THREAD] = { LIST(threads, thread_count), is_thread,
			     "a thread without a process, or of which more "
			     "time is not known than there is" },
	[PROFILE_VM] = { LIST(vms, vm_count), is_vm,
			 "a Lua state without a process" },
	[PROFILE_NOTE] = { LIST(notes, note_count), NULL, "" },
	[PROFILE_PART] = { LIST(parts, part_count), NULL, "" },
	[PROFILE_STATISTICS] = { LIST(statistics, statistics_count),
				 is_statistics, "figures of sessions" },
	[PROFILE_EDGE] = { LIST(edges, edge_count), is_edge,
			   "callers of sessions" },
	[PROFILE_NAMING] = { LIST(namings, naming_count), is_naming,
			     "names of modules" },
	[PROFILE_LABEL] = { LIST(labels, label_count), is_label, "a label" },
#undef LIST
};

/* Copy the texts of a row into the session; until now they are the reader's. */
static void own_texts(const struct profile_session *p,
		      const struct profile_table *t, char *row)
{
	for (size_t f = 0; f < t->field_count; f++) {
		char *const at = row + t->fields[f].offset;
		const char *text;

		if (t->fields[f].type != PROFILE_TEXT)
			continue;
		memcpy(&text, at, sizeof(text));
		text = copy(p, text);
		memcpy(at, &text, sizeof(text));
	}
}

/* Append the row to its kind's array. An invalid row stays in it: the session
 * is freed then, and nobody reads it. */
static int add_element(struct profile_session *p, enum profile_kind kind,
		       const void *row)
{
	const struct profile_table *const t = &profile_tables[kind];
	const struct list *const l = &lists[kind];
	void *const array = (char *)p->s + l->array;
	size_t *const count = (size_t *)(void *)((char *)p->s + l->count);
	char *elements, *to;

	memcpy(&elements, array, sizeof(elements));
	elements = vec_grown(elements, &p->room[kind], *count + 1,
			     t->row_size);
	memcpy(array, &elements, sizeof(elements));
	to = elements + *count * t->row_size;
	memcpy(to, row, t->row_size);
	own_texts(p, t, to);
	(*count)++;
	return !l->is_valid || l->is_valid(p->s, to, *count - 1) ? 0 :
		damaged(l->fault);
}

/* Gaps are an array inside the session, and so bounded by its size. */
static int add_gap(struct profile_session *p, const void *row)
{
	const struct gap *const from = row;

	if (p->s->gap_count == SESSION_GAPS ||
	    from->thread >= p->s->thread_count || from->to < from->from)
		return damaged("a gap");
	p->s->gaps[p->s->gap_count++] = *from;
	return 0;
}

/* ---- the tree ---- */

/* Nodes come with their parents' ids relative to their own, parents first.
 * Their ids are given in order: a node that is there already would make those
 * that follow point to others. Flags that only the replay uses are refused. */
static int add_node(struct profile_session *p, const void *row)
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
	    (n.parent == 0 && n.thread >= p->s->thread_count) ||
	    n.min > n.max)
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

/* Collect what the profile has, from now on. To the tree, self times until now
 * are unknown; here they are known, and PROFILE_CPU has those that are not
 * 0. */
static int add_collected(struct profile_session *p, const void *row)
{
	const struct profile_collected *const from = row;
	struct cct *const t = p->s->cct;

	if (p->has_collected)
		return damaged("two rows of what is collected");
	p->has_collected = true;
	if (from->hist)
		cct_collect_hist(t);
	if (!from->cpu)
		return 0;
	cct_collect_cpu(t);
	for (node_id id = 1; id <= cct_count(t); id++)
		cct_put_cpu(t, id, (struct cct_cpu){ 0 });
	return 0;
}

/* The ids may stay or rise. Counts that are less than 2^50 in sum fit a
 * histogram's pair (model/hist.h), whatever nodes and steps they are of. */
static int add_length(struct profile_session *p, const void *row)
{
	const struct profile_length *const from = row;
	struct cct *const t = p->s->cct;

	if (!cct_has_hist(t) || from->back > cct_count(t) - p->length ||
	    p->length + from->back == 0 || from->step >= HIST_STEPS ||
	    from->calls == 0 || from->calls >> 50 != 0)
		return damaged("lengths of calls");
	p->lengths += from->calls;
	if (p->lengths >> 50 != 0)
		return damaged("too many lengths of calls");
	p->length += (node_id)from->back;
	cct_put_lengths(t, p->length, (uint32_t)from->step, from->calls);
	return 0;
}

/* The ids must rise: one row a node. */
static int add_cpu(struct profile_session *p, const void *row)
{
	const struct profile_cpu *const from = row;
	struct cct *const t = p->s->cct;

	if (!cct_has_cpu(t) || from->back > cct_count(t) - p->cpu ||
	    from->back == 0 || from->ready > from->off)
		return damaged("times off the CPU");
	p->cpu += (node_id)from->back;
	cct_put_cpu(t, p->cpu, (struct cct_cpu){ from->off, from->unknown,
						   from->ready });
	return 0;
}

/* All nodes are there: until a row of its own comes, a node has no samples. */
static int add_net(struct profile_session *p, const void *row)
{
	const struct net *const from = row;
	struct cct *const t = p->s->cct;

	if ((from->period == 0 && !from->is_net) ||
	    from->is_net > (NET_SAMPLED | NET_CALIBRATED |
			    NET_REFERENCE | NET_FITTED) ||
	    cct_has_samples(t))
		return damaged("its samples");
	p->s->net = *from;
	cct_collect_samples(t);
	for (node_id id = 1; id <= cct_count(t); id++)
		*cct_sampled_of(t, id) = (struct cct_sampled){
			.raw = cct_get(t, id)->self };
	if (from->is_net)
		cct_set_net(t, true);
	return 0;
}

/* The ids must rise: one row a node. */
static int add_sampled(struct profile_session *p, const void *row)
{
	const struct profile_sampled *const from = row;
	struct cct *const t = p->s->cct;
	double variance;

	memcpy(&variance, &from->variance, sizeof(variance));
	if (!cct_has_samples(t) || from->back > cct_count(t) - p->sampled ||
	    from->back == 0 || !isfinite(variance) || variance < 0 ||
	    (from->own | from->other | from->probe) > UINT32_MAX)
		return damaged("samples");
	p->sampled += (node_id)from->back;
	*cct_sampled_of(t, p->sampled) = (struct cct_sampled){
		.unsampled = from->unsampled, .own = (uint32_t)from->own,
		.other = (uint32_t)from->other,
		.probe = (uint32_t)from->probe, .raw = from->raw,
		.variance = variance };
	return 0;
}

/* The ids must rise: one row a node. */
static int add_counted(struct profile_session *p, const void *row)
{
	const struct profile_counted *const from = row;
	struct cct *const t = p->s->cct;
	uint64_t calls;

	if (from->back > cct_count(t) - p->counted || from->back == 0)
		return damaged("counted calls");
	p->counted += (node_id)from->back;
	calls = cct_get(t, p->counted)->calls;
	if (from->untimed > calls || from->brief > calls - from->untimed)
		return damaged("counted calls");
	if (from->noted >> 50 != 0 || (p->noted += from->noted) >> 50 != 0)
		return damaged("too many ticks");
	cct_get(t, p->counted)->calls -= from->untimed + from->brief;
	cct_add_untimed(t, p->counted, from->untimed);
	cct_add_brief(t, p->counted, from->brief);
	cct_note(t, p->counted, from->noted, 0);
	return 0;
}

/* ---- the whole ---- */

int profile_session_add(struct profile_session *p, enum profile_kind kind,
			const void *row)
{
	static int (*const adders[PROFILE_KINDS])(struct profile_session *,
						  const void *row) = {
		[PROFILE_HEAD] = add_head, [PROFILE_MODULE] = add_module,
		[PROFILE_FUNC] = add_func, [PROFILE_GAP] = add_gap,
		[PROFILE_NODE] = add_node, [PROFILE_COLLECTED] = add_collected,
		[PROFILE_LENGTH] = add_length, [PROFILE_CPU] = add_cpu,
		[PROFILE_NET] = add_net, [PROFILE_SAMPLED] = add_sampled,
		[PROFILE_COUNTED] = add_counted,
	};

	assert(adders[kind] || lists[kind].array > 0);
	return adders[kind] ? adders[kind](p, row) : add_element(p, kind, row);
}

struct profile_session *profile_session_new(void)
{
	struct profile_session *const p = mem_alloc(sizeof(*p));

	p->s = session_new(SIZE_MAX);
	return p;
}

struct session *profile_session_end(struct profile_session *p, int status)
{
	struct session *s = p->s;

	if (status == 0 && !p->has_head)
		status = damaged("it has no head");
	if (status == 0 && session_largest_sum(s) > SESSION_SUM_MAX)
		status = damaged("its figures are too large");
	if (status != 0) {
		session_free(s);
		s = NULL;
	}
	mem_free(p);
	return s;
}
