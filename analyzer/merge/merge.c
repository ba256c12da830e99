/* merge.c - adds sessions up: first finds which module, function, process,
 * thread and Lua state of the sum each of a session is, then adds the figures.
 * A trace becomes a merged session of one part first, because statistics are
 * made of whole sessions, and because its ticks become nanoseconds once.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge.h"

#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/merge/merge_steps.h"
#include "analyzer/model/hist.h"

#include <assert.h>
#include <math.h>

struct merge {
	struct session *sum;      /* in order of arrival until the end */
	struct map *processes, *threads; /* by hash of their names; index + 1 */
	struct map *vms;          /* by process and ABI, number; index + 1 */
	struct map *statistics, *edges;  /* by function; by caller, function */
	uint64_t largest;         /* of session_largest_sum, added up */
	bool lacks_hist;          /* a session has no lengths of calls: the sum
	                           * would not be that of all, so it has none */
	/* Room of the sum's arrays; see vec.h. */
	size_t process_room, thread_room, part_room, statistics_room, edge_room,
	       naming_room, label_room, vm_room;
};

/* Only a merged session lists its parts. */
static bool is_merged(const struct session *s)
{
	return s->part_count > 0;
}

/* Times of a trace are its ticks; those of a merged session are ns. */
static uint64_t ns_of(const struct session *from, ticks t)
{
	return is_merged(from) ? t : session_ns(from, t);
}

/* Find or add one of a list of a session, and add its figures; ids gets its id
 * in the sum. */
typedef void add_fn(struct merge *m, struct merge_ids *ids, uint32_t id);

static void add_list(struct merge *m, struct merge_ids *ids,
		     enum merge_list list, add_fn *add)
{
	size_t count;
	uint32_t *const order = merge_order(ids, list, &count);

	for (size_t i = 0; i < count; i++)
		add(m, ids, order[i]);
	mem_free(order);
}

/* ---- modules and functions ---- */

/* Replace *at if the text comes before it in alphabetical order: the choice
 * must not depend on which session came first. */
static void keep_first(const struct session *s, const char **at,
		       const char *text)
{
	if (merge_first(*at, text) != *at)
		*at = merge_copy(s, text);
}

/* Combine what is known of the naming of a module. asked and named stay 0:
 * functions that several sessions share would be counted twice, so merge_end
 * counts those of the sum. */
static void add_naming(struct merge *m, elf_id id, const struct session *from,
		       elf_id other)
{
	struct session *const s = m->sum;
	const struct naming *more;
	struct naming *to;

	vec_need(&s->namings, &m->naming_room, id);
	while (s->naming_count < id)
		s->namings[s->naming_count++] = (struct naming){ "", "", 0, 0,
								 0, 0 };
	if (other > from->naming_count)
		return;
	more = &from->namings[other - 1];
	to = &s->namings[id - 1];
	keep_first(s, &to->file, more->file);
	keep_first(s, &to->why, more->why);
	to->is_refused |= more->is_refused;
}

/* Of several sizes and paths, the largest and the first in alphabetical order
 * are kept, whatever came first. */
static void add_module(struct merge *m, struct merge_ids *ids, elf_id other)
{
	const struct elf_module *const e = func_elf(ids->from->funcs, other);
	const elf_id id = func_module(m->sum->funcs, e->path, e->build_id,
				      e->build_id_size, e->size);
	struct elf_module *const to = func_elf(m->sum->funcs, id);

	ids->module[other] = id;
	to->size = MAX(e->size, to->size);
	if (merge_first(to->path, e->path) != to->path)
		to->path = arena_copy(m->sum->text, e->path, strlen(e->path));
	add_naming(m, id, ids->from, other);
}

/* A Lua function that neither its source nor a caller has named. */
static bool is_nameless(const struct func *f)
{
	return f->kind == FUNC_LUA && strncmp(f->name, "function <", 10) == 0;
}

/* Is a's name better than b's? One that has a source file is better than one
 * that has none, and a name than a place; otherwise the first in alphabetical
 * order. */
static bool is_better_name(const struct func *a, const struct func *b)
{
	int order;

	if (b->name[0] == '\0' || (a->file[0] != '\0') != (b->file[0] != '\0'))
		return b->name[0] == '\0' || a->file[0] != '\0';
	if (is_nameless(a) != is_nameless(b))
		return is_nameless(b);
	order = strcmp(a->name, b->name);
	if (order == 0)
		order = strcmp(a->file, b->file);
	return order < 0 || (order == 0 && a->file_line < b->file_line);
}

/* Figures of a function are bounds as soon as they are so in one session:
 * untold_return stays set. */
static void add_func(struct merge *m, struct merge_ids *ids, func_id other)
{
	const struct func *const f = func_get(ids->from->funcs, other);
	const func_id id = func_like(m->sum->funcs, f, ids->module[f->module]);
	struct func *const to = func_get(m->sum->funcs, id);

	ids->func[other] = id;
	keep_first(m->sum, &to->hint, f->hint);
	to->untold_return |= f->untold_return;
	to->counted |= f->counted;
	to->noted |= f->noted;
	if (!is_better_name(f, to))
		return;
	to->name = merge_copy(m->sum, f->name);
	to->file = merge_copy(m->sum, f->file);
	to->file_line = f->file_line;
}

/* ---- processes, threads, Lua states ---- */

/* Give the sum's next process the labels of a process of another session. */
static void add_labels(struct merge *m, const struct session *from,
		       uint32_t other)
{
	struct session *const s = m->sum;
	size_t n;
	const struct label **const list = label_list(from, other, &n);

	for (size_t i = 0; i < n; i++)
		*vec_add(&s->labels, &m->label_room, &s->label_count) =
			(struct label){ 0, (uint32_t)s->process_count + 1,
					merge_copy(s, list[i]->key),
					merge_copy(s, list[i]->value) };
	mem_free(list);
}

/* Find or add the process of that program with those labels. Several may have
 * the same hash: n counts them, and their texts are compared. A start of
 * UINT64_MAX gives way to any real one. */
static uint32_t process_of(struct merge *m, const struct session *from,
			   uint32_t other)
{
	struct session *const s = m->sum;
	const char *const path = from->processes[other].path;
	const uint64_t hash = text_hash(label_hash(from, other), path);
	uint32_t *at;

	for (uint64_t n = 0;; n++) {
		at = map_put(m->processes, hash, n);
		if (*at == 0)
			break;
		if (strcmp(s->processes[*at - 1].path, path) == 0 &&
		    label_compare(s, *at - 1, from, other) == 0) {
			s->beyond.processes++;
			return *at - 1;
		}
	}
	add_labels(m, from, other);
	*vec_add(&s->processes, &m->process_room, &s->process_count) =
		(struct process){ .path = merge_copy(s, path),
				  .start = UINT64_MAX };
	*at = (uint32_t)s->process_count;
	return *at - 1;
}

/* Find or add the thread of that name in a process of the sum. Threads of one
 * name, such as those of a pool, become one: their numbers say nothing in
 * another run. */
static uint32_t thread_of(struct merge *m, uint32_t process, const char *name)
{
	struct session *const s = m->sum;
	struct thread *to;
	uint32_t *at;

	for (uint64_t n = 0;; n++) {
		at = map_put(m->threads, text_hash(process, name), n);
		if (*at == 0)
			break;
		if (s->threads[*at - 1].process == process &&
		    strcmp(s->threads[*at - 1].name, name) == 0) {
			s->beyond.threads++;
			return *at - 1;
		}
	}
	to = vec_add(&s->threads, &m->thread_room, &s->thread_count);
	*to = (struct thread){ .process = process, .first = UINT64_MAX };
	memcpy(to->name, name, strlen(name) + 1);
	*at = (uint32_t)s->thread_count;
	return *at - 1;
}

/* CLOCK_REALTIME ns of a time in a thread. The threads of a merged session have
 * such times already: sessions have no other clock in common. */
static uint64_t real_of(const struct session *from, ticks t)
{
	return is_merged(from) ? t : session_real(from, t);
}

static void add_figures(struct thread *to, const struct session *from,
			const struct thread *t)
{
	const ticks first = real_of(from, t->first);
	const ticks last = real_of(from, t->last);

	to->chunks += t->chunks;
	to->records += t->records;
	to->calls += t->calls;
	to->marks += t->marks;
	to->first = MIN(first, to->first);
	to->last = MAX(last, to->last);
	to->traced += ns_of(from, t->traced);
	to->cpu_ns += t->cpu_ns;
	to->cpu_unknown += ns_of(from, t->cpu_unknown);
	for (int i = 0; i < LOST_REASONS; i++)
		to->lost[i] += t->lost[i];
	to->missing_chunks += t->missing_chunks;
	to->missing_records += t->missing_records;
	to->unnested += t->unnested;
	to->unplaced += t->unplaced;
	to->skipped += t->skipped;
	to->noted += t->noted;
	to->unnoted += t->unnoted;
	to->open += t->open;
	to->gaps += t->gaps;
	to->known += ns_of(from, t->known);
	to->offcpu += ns_of(from, t->offcpu);
	to->missing += ns_of(from, t->missing);
	to->headless += t->headless;
}

/* Find or add a Lua state. A program numbers its states in the same way in each
 * run, so the number tells which of its states it is. The listed state has its
 * JIT off if any of them has; beyond counts further ones, so that each is
 * counted once. */
static uint32_t vm_of(struct merge *m, uint32_t process, const struct vm *vm)
{
	struct session *const s = m->sum;
	uint32_t *const at = map_put(m->vms, (uint64_t)process << 32 | vm->abi,
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
	*vec_add(&s->vms, &m->vm_room, &s->vm_count) =
		(struct vm){ process, vm->serial, vm->abi, vm->flags };
	*at = (uint32_t)s->vm_count;
	return *at - 1;
}

/* Coroutines of a merged session are counted, not listed. struct beyond
 * consists of counts alone, which are added as one array. */
static void add_beyond(struct beyond *b, const struct session *from)
{
	const uint64_t *const more = &from->beyond.processes;

	b->coroutines += from->coroutine_count;
	for (size_t i = 0; i < from->coroutine_count; i++)
		b->inferred += from->coroutines[i].inferred;
	for (size_t i = 0; i < sizeof(*b) / sizeof(*more); i++)
		(&b->processes)[i] += more[i];
}

static void add_process(struct merge *m, struct merge_ids *ids, uint32_t other)
{
	const struct process *const p = &ids->from->processes[other];
	const uint32_t id = process_of(m, ids->from, other);
	struct process *const to = &m->sum->processes[id];

	ids->process[other] = id;
	to->start = MIN(p->start, to->start);
}

static void add_thread(struct merge *m, struct merge_ids *ids, uint32_t other)
{
	const struct thread *const t = &ids->from->threads[other];
	const uint32_t id = thread_of(m, ids->process[t->process], t->name);

	ids->thread[other] = id;
	add_figures(&m->sum->threads[id], ids->from, t);
}

static void add_vm(struct merge *m, struct merge_ids *ids, uint32_t other)
{
	const struct vm *const vm = &ids->from->vms[other];

	ids->vm[other] = vm_of(m, ids->process[vm->process], vm);
}

/* ---- the tree ---- */

/* Add a histogram of call lengths in ticks to one in ns. A step in ticks may
 * lie across a border of steps in ns: its calls are divided between its first
 * and its last step in ns, in proportion to what the last one has of it. The
 * last step of all has no end: only damage makes calls so long. */
static void add_lengths(struct cct *t, node_id id, const struct session *from,
			node_id other)
{
	uint64_t counts[HIST_STEPS] = { 0 };

	if (!cct_has_hist(t) || !cct_hist_counts(from->cct, other, counts))
		return;
	for (uint32_t i = 0; i < HIST_STEPS; i++) {
		if (counts[i] == 0)
			continue;
		const uint64_t least = session_ns(from, hist_least(i));
		const uint64_t most = i + 1 == HIST_STEPS ? least :
				      session_ns(from, hist_least(i + 1));
		const uint32_t low = hist_step(least);
		const uint32_t high = most > least ? hist_step(most - 1) : low;
		const uint64_t above = low == high ? 0 :
			statistics_scale(counts[i], most - hist_least(high),
					 most - least);

		if (counts[i] > above)
			cct_put_lengths(t, id, low, counts[i] - above);
		if (above > 0)
			cct_put_lengths(t, id, high, above);
	}
}

/* Variances are multiples of this, in ns^2: so a sum of doubles is exact, in
 * whatever order, up to an error of 24 s for a node. 256 ns is less than any
 * error that matters. */
static const double QUANTUM = 1 << 16;

/* What samples tell of a node, in ns. Their places stay behind. The sum is of
 * this trace alone, so both have samples. */
static void add_sampled(struct cct *t, node_id id, const struct session *from,
			node_id other)
{
	const struct cct_sampled *const n = cct_sampled_of(from->cct, other);
	const uint64_t self = cct_get(from->cct, other)->self;
	const double unit = 1e9 / (double)from->tick_hz;
	struct cct_sampled *const to = cct_sampled_of(t, id);

	to->raw += ns_of(from, cct_is_net(from->cct) ? n->raw : self);
	to->unsampled += ns_of(from, n->unsampled);
	to->variance += nearbyint(n->variance * unit * unit / QUANTUM) *
			QUANTUM;
	to->own += n->own;
	to->other += n->other;
	to->probe += n->probe;
}

/* Add the figures of a node of a trace's tree, with its times in ns. Where the
 * trace has no context switches, all of the node's self time is unknown. */
static void add_trace_node(struct cct *t, node_id id,
			   const struct session *from, node_id other)
{
	const struct cct_node *const n = cct_get(from->cct, other);
	const struct cct_counted counted = cct_counted_of(from->cct, other);
	struct cct_node *const to = cct_get(t, id);

	add_lengths(t, id, from, other);
	if (cct_has_samples(t))
		add_sampled(t, id, from, other);
	if (cct_has_cpu(t)) {
		const struct cct_cpu cpu = cct_cpu_of(from->cct, other);
		struct cct_cpu sum = cct_cpu_of(t, id);

		sum.off += ns_of(from, cpu.off);
		sum.ready += ns_of(from, cpu.ready);
		sum.unknown += ns_of(from, cct_has_cpu(from->cct) ?
					   cpu.unknown : n->self);
		cct_put_cpu(t, id, sum);
	}
	if (cct_has_heap(from->cct)) {
		const struct cct_heap heap = cct_heap_of(from->cct, other);

		cct_add_heap(t, id, &heap);
	}
	to->calls += n->calls - counted.untimed - counted.brief;
	if (counted.untimed > 0)
		cct_add_untimed(t, id, counted.untimed);
	if (counted.brief > 0)
		cct_add_brief(t, id, counted.brief);
	if (counted.noted > 0)
		cct_note(t, id, counted.noted, counted.noted_ns);
	to->self += ns_of(from, n->self);
	to->suspended += ns_of(from, n->suspended);
	if (n->flags & CCT_TIMED) {
		cct_time_node(to, ns_of(from, n->min));
		cct_time_node(to, ns_of(from, n->max));
	}
}

/* Parents come before their children, so a node's parent has its place in the
 * sum already. Two threads of one name have one root in the sum, so several
 * nodes may go to one. */
static void add_node(struct merge *m, struct merge_ids *ids, node_id other)
{
	const struct session *const from = ids->from;
	const struct cct_node *const n = cct_get(from->cct, other);
	struct cct *const t = m->sum->cct;
	node_id *const id = &ids->node[other];

	assert(n->parent == 0 || ids->node[n->parent] != 0);
	*id = n->parent == 0 ? cct_root(t, ids->thread[n->thread]) :
	      cct_child(t, ids->node[n->parent], ids->func[n->func],
			merge_flags(ids, n));
	if (is_merged(from))
		cct_add(t, *id, from->cct, other);
	else
		add_trace_node(t, *id, from, other);
}

static void add_tree(struct merge *m, struct merge_ids *ids)
{
	struct cct *const t = m->sum->cct;
	const struct cct *const from = ids->from->cct;

	m->lacks_hist |= !cct_has_hist(from);
	cct_collect_as(t, from);
	add_list(m, ids, MERGE_NODES, add_node);
	cct_set_folded(t, cct_deeper(t) + cct_deeper(from));
}

/* ---- statistics over sessions ---- */

/* Add the figures of one function over other sessions. */
static void join_func(struct func_statistics *to,
		      const struct func_statistics *more)
{
	statistics_join(&to->calls, &more->calls);
	statistics_join(&to->self, &more->self);
	statistics_join(&to->on, &more->on);
	statistics_join(&to->total, &more->total);
	statistics_join(&to->suspended, &more->suspended);
	statistics_join(&to->cost, &more->cost);
	statistics_join(&to->sleep, &more->sleep);
	statistics_join(&to->work, &more->work);
	statistics_join(&to->wait, &more->wait);
	statistics_join(&to->fastest, &more->fastest);
}

/* Add figures over sessions; func has the functions' ids in the sum. A trace's
 * session has none yet: merge_statistics_of_one makes them. */
static void add_statistics(struct merge *m, const struct session *from,
			   const func_id *func)
{
	struct session *const s = m->sum;

	for (size_t i = 0; i < from->statistics_count; i++) {
		const struct func_statistics *const more = &from->statistics[i];
		uint32_t *const at = map_put(m->statistics, func[more->func],
					     0);

		if (*at == 0) {
			*vec_add(&s->statistics, &m->statistics_room,
				 &s->statistics_count) =
				(struct func_statistics){
					.func = func[more->func] };
			*at = (uint32_t)s->statistics_count;
		}
		join_func(&s->statistics[*at - 1], more);
	}
	for (size_t i = 0; i < from->edge_count; i++) {
		const struct edge_statistics *const more = &from->edges[i];
		uint32_t *const at = map_put(m->edges, func[more->caller],
					     func[more->func]);

		if (*at == 0) {
			*vec_add(&s->edges, &m->edge_room, &s->edge_count) =
				(struct edge_statistics){
					.caller = func[more->caller],
					.func = func[more->func] };
			*at = (uint32_t)s->edge_count;
		}
		statistics_join(&s->edges[*at - 1].rate, &more->rate);
	}
}

/* ---- a whole session ---- */

/* Where times of some sessions are made of samples, the sum has the samples of
 * these: those of the others say nothing about any time. */
static void add_samples(struct net *net, const struct session *from)
{
	if ((net->is_net & NET_SAMPLED) > (from->net.is_net & NET_SAMPLED))
		return;
	if ((net->is_net & NET_SAMPLED) < (from->net.is_net & NET_SAMPLED))
		*net = (struct net){ .is_net = net->is_net,
				     .has_raw = net->has_raw,
				     .period = net->period };
	net->own += from->net.own;
	net->other += from->net.other;
	net->probe += from->net.probe;
	net->astray += from->net.astray;
	net->contradicted += from->net.contradicted;
	net->raw += ns_of(from, from->net.raw);
	net->unsampled += ns_of(from, from->net.unsampled);
}

/* The figures of a whole session. hz_error is a bound, so the largest holds for
 * the sum. */
static void add_scalars(struct session *to, const struct session *from)
{
	struct net *const net = &to->net;

	session_add_sums(to, from);
	to->gap_total += from->gap_total;
	to->hz_error = MAX(from->hz_error, to->hz_error);
	add_samples(net, from);
	net->is_net |= from->net.is_net;
	net->has_raw |= session_is_raw(from);
	if (net->period == 0 || (from->net.period > 0 &&
				 from->net.period < net->period))
		net->period = from->net.period;
}

/* List the sessions that were merged. */
static void add_parts(struct merge *m, const struct session *from)
{
	struct session *const s = m->sum;

	for (size_t i = 0; i < from->part_count; i++) {
		struct part *const to = vec_add(&s->parts, &m->part_room,
						&s->part_count);

		*to = from->parts[i];
		to->command = merge_copy(s, to->command);
		to->host = merge_copy(s, to->host);
	}
}

/* Add a session of any kind. The order matters: modules before functions,
 * processes before threads and Lua states, and all of these before the tree and
 * the statistics, which refer to them. No process and no part in the sum means
 * that it is empty. */
static void join(struct merge *m, const struct session *from, bool is_sorted)
{
	struct merge_ids ids = merge_ids_of(from, is_sorted);
	const bool is_first = m->sum->process_count == 0 && !is_merged(m->sum);

	merge_notes_add(m->sum, from, is_first);
	add_list(m, &ids, MERGE_MODULES, add_module);
	add_list(m, &ids, MERGE_FUNCS, add_func);
	add_list(m, &ids, MERGE_PROCESSES, add_process);
	add_list(m, &ids, MERGE_THREADS, add_thread);
	add_list(m, &ids, MERGE_VMS, add_vm);
	add_beyond(&m->sum->beyond, from);
	add_tree(m, &ids);
	add_scalars(m->sum, from);
	add_parts(m, from);
	add_statistics(m, from, ids.func);
	merge_ids_fini(&ids);
}

struct merge *merge_new(void)
{
	struct merge *const m = mem_alloc(sizeof(*m));

	m->sum = session_new(SIZE_MAX);
	m->sum->hz_error = 0;
	m->processes = map_new();
	m->threads = map_new();
	m->vms = map_new();
	m->statistics = map_new();
	m->edges = map_new();
	return m;
}

/* Frees all but the sum. */
static void free_merge(struct merge *m)
{
	map_free(m->processes);
	map_free(m->threads);
	map_free(m->vms);
	map_free(m->statistics);
	map_free(m->edges);
	mem_free(m);
}

/* What its functions work, and how exactly that is known. A reference's scale
 * is wrong by as much for all of them. */
static void measure(const struct session *from, struct part *part)
{
	const struct reference *const r = &from->reference;
	double variance = 0, work = 0;

	for (node_id id = 1; id <= cct_count(from->cct); id++) {
		const struct cct_node *const n = cct_get(from->cct, id);
		const struct cct_cpu cpu = cct_cpu_of(from->cct, id);

		if (n->parent == 0)
			continue;
		work += fmax((double)n->self - (double)cpu.off -
			     (double)cpu.unknown, 0);
		if (cct_is_net(from->cct))
			variance += cct_sampled_of(from->cct, id)->variance;
	}
	if (r->scale > 0)
		variance += pow(work * r->error / r->scale, 2);
	part->work = session_ns(from, (ticks)work);
	part->error = session_ns(from, (ticks)sqrt(variance));
}

/* What a merged session says of the one trace it was made from. A part is
 * complete only if the recorder came to its end, too: the note "end". */
static struct part part_of(const struct session *from, const struct session *to)
{
	const char *const command = session_note(from, "command");
	const char *const host = session_note(from, "host");
	ticks first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < from->thread_count; i++) {
		const struct thread *const t = &from->threads[i];

		first = MIN(t->first, first);
		last = MAX(t->last, last);
	}
	return (struct part){
		.recording = from->process_count > 0 ?
			from->processes[0].recording : 0,
		.start = from->thread_count > 0 ? session_real(from, first) : 0,
		.duration = last > first ? session_ns(from, last - first) : 0,
		.calls = from->calls,
		.complete = session_complete(from) && session_note(from, "end"),
		.cpu = cct_has_cpu(from->cct) != 0,
		.command = merge_copy(to, command ? command : ""),
		.host = merge_copy(to, host ? host : "") };
}

/* A trace's session as a merged session of one part. */
static struct session *merged_of_one(const struct session *from)
{
	struct merge *const m = merge_new();
	struct session *const one = m->sum;

	join(m, from, false);
	merge_notes_normalize(one);
	one->parts = mem_alloc(sizeof(*one->parts));
	one->part_count = 1;
	*one->parts = part_of(from, one);
	measure(from, one->parts);
	merge_statistics_of_one(one);
	free_merge(m);
	return one;
}

int merge_add(struct merge *m, struct session *from)
{
	const uint64_t largest = session_largest_sum(from);
	struct session *one = from;

	if (largest > SESSION_SUM_MAX - m->largest)
		return err_add("figures, such as the time of all threads, are "
			       "too large to be added up: they come to more "
			       "than 2^63 ns");
	m->largest += largest;
	if (!is_merged(from))
		one = merged_of_one(from);
	join(m, one, false);
	if (one != from)
		session_free(one);
	return 0;
}

/* Count the functions of each module. One without a name is called
 * "MODULE+0xOFFSET". */
static void count_names(struct session *s)
{
	for (func_id id = 1; id <= func_count(s->funcs); id++) {
		const struct func *const f = func_get(s->funcs, id);

		if (f->module == 0)
			continue;
		s->namings[f->module - 1].asked++;
		s->namings[f->module - 1].named += !strstr(f->name, "+0x");
	}
}

struct session *merge_end(struct merge *m)
{
	struct merge *const sorted = merge_new();
	struct session *const sum = m->sum, *const s = sorted->sum;

	if (m->lacks_hist)
		cct_drop_hist(sum->cct);
	free_merge(m);
	join(sorted, sum, true);
	session_free(sum);
	free_merge(sorted);
	count_names(s);
	merge_sort_figures(s);
	return s;
}
