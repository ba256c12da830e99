/* profile_write.c - a session as a profile: its tables for weft, then
 * functions, mappings and samples for other tools. Nothing of the latter is
 * read back.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/profile.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/model/hist.h"
#include "analyzer/profile/profile_output.h"
#include "analyzer/profile/profile_tables.h"

#include <stdio.h>
#include <string.h>

/* ---- samples, for other tools ---- */

enum {
	FRAMES_MAX = 512,      /* of a sample: the innermost ones are kept */
	VALUES = 3,            /* calls, self, suspended */
	VALUES_OF_CPU = 3,     /* cpu, run-wait, blocked: parts of self */
};

/* Each module has a range of addresses of this size, by its id. The ranges must
 * not overlap, or tools take a location for one of another module; where
 * modules really were is no part of a session. */
#define MODULE_ROOM (UINT64_C(1) << 40)

/* What samples need. Ids of functions, modules and locations in the file are
 * those of the session. */
struct sampler {
	struct output *out;
	struct session *session;
	uint64_t no_function, left_out; /* locations of stand-ins */
	node_id *body;         /* by node: the outermost frame of its coroutine,
	                        * or 0 */
	uint64_t thread_key, tid_key, program_key, coroutine_key;
	struct out_message part, message, inner; /* what is being written */
	const struct label ***of;  /* by process: its labels */
	size_t *of_count;
	uint64_t frames[FRAMES_MAX]; /* locations of one stack */
	bool has_switches;
};

/* 0 is what a number is that is not there. */
static void add(struct out_message *m, unsigned field, uint64_t value)
{
	if (value != 0)
		out_message_number(m, field, value);
}

/* Write the message as a field of the profile. */
static void put_part(struct sampler *p, unsigned field)
{
	out_message_add(out_message_begin(&p->part), field, &p->message);
	output_put(p->out, &p->part);
}

/* Declare a kind of value that samples have; their values come in the order of
 * these. */
static void put_type(struct sampler *p, const char *type, const char *unit)
{
	struct out_message *const m = out_message_begin(&p->message);

	add(m, 1, output_shown(p->out, type));
	add(m, 2, output_shown(p->out, unit));
	put_part(p, PPROF_TYPE);
}

/* Write a module as a mapping. It claims to have names and lines, so that tools
 * do not look for its file to find them. */
static void put_module(struct sampler *p, elf_id id)
{
	const struct elf_module *const m = func_elf(p->session->funcs, id);
	struct out_message *const map = out_message_begin(&p->message);
	char build_id[2 * sizeof(m->build_id) + 1];

	text_hex(m->build_id, m->build_id_size, build_id);
	add(map, 1, id);
	add(map, 2, id * MODULE_ROOM);
	add(map, 3, (id + 1) * MODULE_ROOM);
	add(map, 5, output_shown(p->out, m->path));
	add(map, 6, output_shown(p->out, build_id));
	for (unsigned has = 7; has <= 9; has++) /* functions, files, lines */
		add(map, has, 1);
	put_part(p, PPROF_MAPPING);
}

/* Write a function and its location, both with this id: samples refer to
 * locations only. A function outside of modules has no address. */
static void put_location(struct sampler *p, uint64_t id, const struct func *f)
{
	const bool is_placed = f->kind == FUNC_NATIVE && f->module > 0;
	const uint64_t name = output_shown(p->out, f->name);
	const uint64_t file = output_shown(p->out, f->file);
	struct out_message *const m = &p->message;

	add(out_message_begin(&p->inner), 1, id);
	add(&p->inner, 2, f->file_line);
	add(out_message_begin(m), 1, id);
	add(m, 2, is_placed ? f->module : 0);
	add(m, 3, is_placed ? f->module * MODULE_ROOM +
			      f->offset % MODULE_ROOM : 0);
	out_message_add(m, 4, &p->inner);
	put_part(p, PPROF_LOCATION);
	/* Field 3, system_name, stays empty: if it equals the name, go tool
	 * pprof reads it as a C++ name and drops the part in <>. */
	add(out_message_begin(m), 1, id);
	add(m, 2, name);
	add(m, 4, file);
	add(m, 5, f->file_line);
	put_part(p, PPROF_FUNCTION);
}

/* Write a location for frames that have no function of their own. */
static uint64_t put_stand_in(struct sampler *p, uint64_t id, const char *name)
{
	const struct func f = { .name = name, .file = "" };

	put_location(p, id, &f);
	return id;
}

/* Fill in p->frames with the stack of a node, the innermost frame first, and
 * return its length. A sample needs a frame: time in no function has a
 * stand-in. */
static size_t stack_of(struct sampler *p, node_id id)
{
	struct cct *const t = p->session->cct;
	const struct cct_node *n = cct_get(t, id);
	size_t depth = 0;

	for (; n->parent > 0; n = cct_get(t, n->parent)) {
		if (depth == FRAMES_MAX - 1) {
			p->frames[depth++] = p->left_out;
			break;
		}
		p->frames[depth++] = n->func;
	}
	if (depth == 0)
		p->frames[depth++] = p->no_function;
	return depth;
}

/* Add a label to the sample; key and text are numbers of strings. */
static void add_label(struct sampler *p, uint64_t key, uint64_t text,
		      uint64_t number)
{
	struct out_message *const label = out_message_begin(&p->inner);

	add(label, 1, key);
	add(label, 2, text);
	add(label, 3, number);
	out_message_add(&p->message, 3, label);
}

/* What a recording or process is labelled. A key that samples have anyway gets
 * "label." in front. */
static void add_user_labels(struct sampler *p, uint32_t process)
{
	static const char own[] = " thread program tid coroutine ";
	char key[300];

	for (size_t i = 0; i < p->of_count[process]; i++) {
		const struct label *const l = p->of[process][i];
		const uint64_t value = output_shown(p->out, l->value);

		snprintf(key, sizeof(key), " %s ", l->key);
		const bool is_own = strstr(own, key) != NULL;

		snprintf(key, sizeof(key), "%s%s", is_own ? "label." : "",
			 l->key);
		add_label(p, output_shown(p->out, key), value, 0);
	}
}

/* body is the outermost frame of its coroutine, or 0. */
static void add_labels(struct sampler *p, uint32_t thread, node_id body)
{
	struct session *const s = p->session;

	if (thread < s->thread_count) {
		const struct thread *const t = &s->threads[thread];

		add_label(p, p->thread_key, output_shown(p->out, t->name), 0);
		add_label(p, p->program_key, output_shown(p->out,
			  s->processes[t->process].path), 0);
		add_label(p, p->tid_key, 0, t->tid);
		add_user_labels(p, t->process);
	}
	if (body > 0)
		add_label(p, p->coroutine_key, output_shown(p->out,
			  func_get(s->funcs,
				   cct_get(s->cct, body)->func)->name), 0);
}

/* Begin a sample: its stack, which is in p->frames, and its values. */
static void begin_sample(struct sampler *p, size_t depth,
			 const uint64_t *values, size_t count)
{
	struct out_message *const m = out_message_begin(&p->message);

	out_message_begin(&p->inner);
	for (size_t i = 0; i < depth; i++)
		out_message_varint(&p->inner, p->frames[i]);
	out_message_add(m, 1, &p->inner);
	out_message_begin(&p->inner);
	for (size_t i = 0; i < count; i++)
		out_message_varint(&p->inner, values[i]);
	out_message_add(m, 2, &p->inner);
}

/* The node's own figures, not those of the nodes below it: tools add these up
 * themselves. */
static void put_sample(struct sampler *p, node_id id, uint32_t thread)
{
	const struct cct_node *const n = cct_get(p->session->cct, id);
	const struct cct_cpu cpu = cct_cpu_of(p->session->cct, id);
	const uint64_t away = cpu.off + cpu.unknown;
	uint64_t value[VALUES + VALUES_OF_CPU] = {
		n->calls, n->self, n->suspended,
		n->self > away ? n->self - away : 0, cpu.ready,
		cpu.off > cpu.ready ? cpu.off - cpu.ready : 0 };

	for (size_t i = 1; i < VALUES + VALUES_OF_CPU; i++)
		value[i] = session_ns(p->session, value[i]);
	begin_sample(p, stack_of(p, id), value,
		     VALUES + (p->has_switches ? VALUES_OF_CPU : 0));
	add_labels(p, thread, p->body[id]);
	put_part(p, PPROF_SAMPLE);
}

static void find_labels(struct sampler *p)
{
	struct session *const s = p->session;

	p->of = mem_alloc((s->process_count + 1) * sizeof(*p->of));
	p->of_count = mem_alloc((s->process_count + 1) * sizeof(*p->of_count));
	for (uint32_t i = 0; i < s->process_count; i++)
		p->of[i] = label_list(s, i, &p->of_count[i]);
}

static void forget_labels(struct sampler *p)
{
	for (size_t i = 0; i < p->session->process_count; i++)
		mem_free(p->of[i]);
	mem_free_all(p->of, p->of_count);
}

static void free_sampler(struct sampler *p)
{
	mem_free_all(p->part.bytes, p->message.bytes, p->inner.bytes, p);
}

/* Write a sample for each node that has any figures. Parents come before their
 * children, so what is known of a parent is passed on. */
static void put_samples(struct sampler *p)
{
	struct cct *const t = p->session->cct;
	const size_t count = cct_count(t) + 1;
	uint32_t *const thread = mem_alloc(count * sizeof(*thread));

	p->body = mem_alloc(count * sizeof(*p->body));
	for (node_id id = 1; id < count; id++) {
		const struct cct_node *const n = cct_get(t, id);

		thread[id] = n->parent ? thread[n->parent] : n->thread;
		p->body[id] = n->flags & CCT_BODY ? id : p->body[n->parent];
		if (n->calls || n->self || n->suspended)
			put_sample(p, id, thread[id]);
	}
	mem_free_all(p->body, thread);
}

/* Write what other tools show beside the figures. usual: the kind of these that
 * they show first. */
static void put_about(struct sampler *p, const struct profile_about *about,
		      const char *usual)
{
	struct session *const s = p->session;
	struct out_message *const m = out_message_begin(&p->message);

	out_message_begin(&p->inner);
	for (size_t i = 0; i < about->comment_count; i++)
		out_message_varint(&p->inner,
				   output_shown(p->out, about->comments[i]));
	add(m, PPROF_TIME, s->thread_count == 0 ? 0 :
	    session_real(s, session_first_tick(s)));
	add(m, PPROF_DURATION, about->duration);
	if (about->comment_count > 0)
		out_message_add(m, PPROF_COMMENT, &p->inner);
	add(m, PPROF_USUAL, output_shown(p->out, usual));
	output_put(p->out, m);
}

/* Functions and mappings come before the samples that refer to them. */
static void put_functions(struct sampler *p)
{
	struct session *const s = p->session;
	const uint64_t funcs = func_count(s->funcs);

	for (elf_id id = 1; id <= func_elf_count(s->funcs); id++)
		put_module(p, id);
	for (func_id id = 1; id <= funcs; id++)
		put_location(p, id, func_get(s->funcs, id));
	p->no_function = put_stand_in(p, funcs + 1, "[no function]");
	p->left_out = put_stand_in(p, funcs + 2, "[frames left out]");
}

/* All that other tools read. */
static void put_pprof(struct output *out, struct session *s,
		      const struct profile_about *about)
{
	struct sampler *const p = mem_alloc(sizeof(*p));

	p->out = out;
	p->session = s;
	put_type(p, "calls", "count");
	put_type(p, "self", "nanoseconds");
	put_type(p, "suspended", "nanoseconds");
	p->has_switches = cct_knows_switches(s->cct, NULL, NULL);
	if (p->has_switches) {
		put_type(p, "cpu", "nanoseconds");
		put_type(p, "run-wait", "nanoseconds");
		put_type(p, "blocked", "nanoseconds");
	}
	put_functions(p);
	p->thread_key = output_shown(out, "thread");
	p->tid_key = output_shown(out, "tid");
	p->program_key = output_shown(out, "program");
	p->coroutine_key = output_shown(out, "coroutine");
	find_labels(p);
	put_samples(p);
	forget_labels(p);
	put_about(p, about, "self");
	free_sampler(p);
}

/* ---- stacks that are not the session's tree ---- */

static void put_stack(struct sampler *p, const struct stack_table *table,
		      const struct profile_stack *s)
{
	uint64_t figure[PROFILE_FIGURES];
	size_t depth = 0;

	for (stack_id id = s->stack; id != 0 && depth < FRAMES_MAX; ) {
		const struct stack_frame *const f = stack_table_get(table, id);

		p->frames[depth] = f->flags & STACK_OMITTED ||
				   depth == FRAMES_MAX - 1 ? p->left_out :
				   f->func;
		depth++;
		id = f->below;
	}
	if (depth == 0)
		p->frames[depth++] = p->no_function;
	memcpy(figure, s->figure, sizeof(figure));
	begin_sample(p, depth, figure, PROFILE_FIGURES);
	put_part(p, PPROF_SAMPLE);
}

int profile_write_stacks(FILE *to, struct session *s,
			 const struct profile_stacks *stacks)
{
	const struct profile_about about = { .duration = session_duration(s) };
	struct sampler *const p = mem_alloc(sizeof(*p));

	p->out = output_open(to);
	p->session = s;
	output_shown(p->out, ""); /* string 0 */
	for (size_t i = 0; i < PROFILE_FIGURES; i++)
		put_type(p, stacks->kinds[i][0], stacks->kinds[i][1]);
	put_functions(p);
	for (size_t i = 0; i < stacks->count; i++)
		put_stack(p, stacks->table, &stacks->stacks[i]);
	put_about(p, &about, stacks->usual);
	const int status = output_close(p->out);

	free_sampler(p);
	return status;
}

/* ---- the session, for weft ---- */

/* Writes tables. Knows what it wrote last: the table, and in it the node. */
struct writer {
	struct output *out;
	struct session *session;
	enum profile_kind kind;  /* 0: none */
	node_id last;
};

/* A row of a table, which begins with it if it is another one. */
static void put_row(struct writer *w, enum profile_kind kind, const void *row)
{
	const struct profile_table *const t = &profile_tables[kind];

	if (w->kind != kind) {
		if (w->kind)
			output_number(w->out, 0);
		output_number(w->out, (uint64_t)kind);
		output_number(w->out, t->field_count);
		w->kind = kind;
	}
	output_number(w->out, 1);
	for (size_t i = 0; i < t->field_count; i++) {
		const struct profile_field *const f = &t->fields[i];
		const char *const at = (const char *)row + f->offset, *text;

		if (f->type == PROFILE_TEXT) {
			memcpy(&text, at, sizeof(text));
			output_text(w->out, text);
		} else if (f->type == PROFILE_CHARS) {
			output_text(w->out, at);
		}
		for (size_t k = 0; f->type == PROFILE_NUMBER && k < f->count;
		     k++)
			output_number(w->out, profile_get(f, row, k));
	}
}

static void put_rows(struct writer *w, enum profile_kind kind, const void *rows,
		     size_t count)
{
	const size_t size = profile_tables[kind].row_size;

	for (size_t i = 0; i < count; i++)
		put_row(w, kind, (const char *)rows + i * size);
}

/* Write what is to be said of a node. */
typedef void node_fn(struct writer *w, struct cct *t, node_id id);

static void put_nodes(struct writer *w, node_fn *put)
{
	struct cct *const t = w->session->cct;

	w->last = 0;
	for (node_id id = 1; id <= cct_count(t); id++)
		put(w, t, id);
}

/* By how much its id is larger than that of the row before. */
static node_id step(struct writer *w, node_id id)
{
	const node_id last = w->last;

	w->last = id;
	return id - last;
}

/* A parent is given by how much smaller its id is. */
static void put_node(struct writer *w, struct cct *t, node_id id)
{
	struct cct_node n = *cct_get(t, id);

	if (n.parent > 0)
		n.parent = id - n.parent;
	put_row(w, PROFILE_NODE, &n);
}

/* How many calls were of which length. Without histograms there are no rows. */
static void put_lengths(struct writer *w, struct cct *t, node_id id)
{
	uint64_t counts[HIST_STEPS] = { 0 };

	if (!cct_has_hist(t) || !cct_hist_counts(t, id, counts))
		return;
	for (uint32_t i = 0; i < HIST_STEPS; i++)
		if (counts[i] > 0)
			put_row(w, PROFILE_LENGTH, &(struct profile_length){
				step(w, id), i, counts[i] });
}

/* The times off the CPU, if there are any. */
static void put_cpu(struct writer *w, struct cct *t, node_id id)
{
	const struct cct_cpu cpu = cct_cpu_of(t, id);

	if (cpu.off > 0 || cpu.unknown > 0)
		put_row(w, PROFILE_CPU, &(struct profile_cpu){
			step(w, id), cpu.off, cpu.unknown, cpu.ready });
}

/* What samples tell, if there is any of it. */
static void put_samples_of(struct writer *w, struct cct *t, node_id id)
{
	const struct cct_sampled *const n = cct_sampled_of(t, id);
	uint64_t variance;

	if (!n->own && !n->other && !n->probe && !n->unsampled &&
	    n->variance == 0 && n->raw == cct_get(t, id)->self)
		return;
	memcpy(&variance, &n->variance, sizeof(variance));
	put_row(w, PROFILE_SAMPLED, &(struct profile_sampled){
		step(w, id), n->unsampled, n->own, n->other, n->probe, n->raw,
		variance });
}

/* How many calls have no records, and how often a sampled VM was there. */
static void put_counted(struct writer *w, struct cct *t, node_id id)
{
	const struct cct_counted n = cct_counted_of(t, id);

	if (n.untimed > 0 || n.brief > 0 || n.noted > 0)
		put_row(w, PROFILE_COUNTED, &(struct profile_counted){
			step(w, id), n.untimed, n.brief, n.noted });
}

/* What the tree collects, and then the rows of it. */
static void put_collected(struct writer *w)
{
	const struct profile_collected row = {
		(uint64_t)cct_has_hist(w->session->cct),
		(uint64_t)cct_has_cpu(w->session->cct) };

	put_rows(w, PROFILE_COLLECTED, &row, 1);
	put_nodes(w, put_lengths);
	put_nodes(w, put_cpu);
}

/* The net times, and what samples tell of nodes. */
static void put_sampled(struct writer *w)
{
	if ((w->session->net.period == 0 && !w->session->net.is_net) ||
	    !cct_has_samples(w->session->cct))
		return;
	put_rows(w, PROFILE_NET, &w->session->net, 1);
	put_nodes(w, put_samples_of);
}

/* The head with counts of what a profile does not list. A shallow copy: its
 * pointers are the session's. */
static struct session head_of(const struct session *s)
{
	struct session head = *s;

	head.beyond.coroutines += s->coroutine_count;
	for (size_t i = 0; i < s->coroutine_count; i++)
		head.beyond.inferred += s->coroutines[i].inferred;
	head.beyond.folded = cct_deeper(s->cct);
	return head;
}

/* In the order of enum profile_kind, which readers insist on. */
static void put_tables(struct writer *w)
{
	struct session *const s = w->session;
	const struct session head = head_of(s);

	put_rows(w, PROFILE_HEAD, &head, 1);
	put_rows(w, PROFILE_MODULE, func_elf(s->funcs, 1),
		 func_elf_count(s->funcs));
	put_rows(w, PROFILE_FUNC, func_get(s->funcs, 1), func_count(s->funcs));
	put_rows(w, PROFILE_PROCESS, s->processes, s->process_count);
	put_rows(w, PROFILE_THREAD, s->threads, s->thread_count);
	put_rows(w, PROFILE_VM, s->vms, s->vm_count);
	put_rows(w, PROFILE_NOTE, s->notes, s->note_count);
	put_rows(w, PROFILE_GAP, s->gaps, s->gap_count);
	put_nodes(w, put_node);
	put_rows(w, PROFILE_PART, s->parts, s->part_count);
	put_rows(w, PROFILE_STATISTICS, s->statistics, s->statistics_count);
	put_rows(w, PROFILE_EDGE, s->edges, s->edge_count);
	put_rows(w, PROFILE_NAMING, s->namings, s->naming_count);
	put_collected(w);
	put_rows(w, PROFILE_LABEL, s->labels, s->label_count);
	put_sampled(w);
	put_nodes(w, put_counted);
}

/* The session comes first, so that a reader needs to look for nothing. */
int profile_write(FILE *to, struct session *s,
		  const struct profile_about *about)
{
	struct writer w = { .out = output_open(to), .session = s };

	output_number(w.out, PROFILE_VERSION);
	put_tables(&w);
	output_number(w.out, 0);
	output_number(w.out, 0);
	output_session(w.out);
	put_pprof(w.out, s, about);
	return output_close(w.out);
}
