/* prof_sample.c - functions, mappings and samples, as pprof has them. Nothing
 * of this is read back.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/prof_sample.h"

#include "analyzer/base/mem.h"

#include <stdio.h>
#include <string.h>

enum {
	FRAMES_MAX = 512,      /* of a sample; of deeper stacks the innermost */
	LABELS_MAX = 4,
	VALUES = 3,
};

/* Modules get ranges of addresses that do not overlap. */
#define MODULE_ROOM (UINT64_C(1) << 40)

struct sampler {
	struct prof_out *out;
	struct session *session;
	uint64_t no_function, left_out; /* locations that stand for others */
	node_id *body;         /* by node: where its coroutine begins, or 0 */
	int64_t thread_key, tid_key, program_key, coroutine_key;
	uint64_t frames[FRAMES_MAX];
};

static void put_type(struct prof_out *out, const char *type, const char *unit)
{
	Prof__ValueType value = PROF__VALUE_TYPE__INIT, *list = &value;
	Prof__Profile part = PROF__PROFILE__INIT;

	value.type = prof_out_shown(out, type);
	value.unit = prof_out_shown(out, unit);
	part.n_sample_type = 1;
	part.sample_type = &list;
	prof_out_put(out, &part);
}

static void put_module(struct sampler *p, elf_id id)
{
	const struct elf_module *const m = func_elf(p->session->funcs, id);
	Prof__Mapping map = PROF__MAPPING__INIT, *list = &map;
	Prof__Profile part = PROF__PROFILE__INIT;
	char build_id[2 * sizeof(m->build_id) + 1] = "";

	for (size_t i = 0; i < m->build_id_size && i < sizeof(m->build_id); i++)
		snprintf(build_id + 2 * i, 3, "%02x", m->build_id[i]);
	map.id = id;
	map.memory_start = id * MODULE_ROOM;
	map.memory_limit = (id + 1) * MODULE_ROOM;
	map.filename = prof_out_shown(p->out, m->path);
	map.build_id = prof_out_shown(p->out, build_id);
	map.has_functions = map.has_filenames = map.has_line_numbers = 1;
	part.n_mapping = 1;
	part.mapping = &list;
	prof_out_put(p->out, &part);
}

static void put_location(struct sampler *p, uint64_t id, const struct func *f)
{
	Prof__Function function = PROF__FUNCTION__INIT, *functions = &function;
	Prof__Line line = PROF__LINE__INIT, *lines = &line;
	Prof__Location place = PROF__LOCATION__INIT, *places = &place;
	Prof__Profile part = PROF__PROFILE__INIT;

	function.id = place.id = line.function_id = id;
	function.name = function.system_name = prof_out_shown(p->out, f->name);
	function.filename = prof_out_shown(p->out, f->file);
	function.start_line = line.line = f->file_line;
	if (f->kind == FUNC_NATIVE && f->module > 0) {
		place.mapping_id = f->module;
		place.address = f->module * MODULE_ROOM +
				f->offset % MODULE_ROOM;
	}
	place.n_line = 1;
	place.line = &lines;
	part.n_function = part.n_location = 1;
	part.function = &functions;
	part.location = &places;
	prof_out_put(p->out, &part);
}

static uint64_t put_stand_in(struct sampler *p, uint64_t id, const char *name)
{
	const struct func f = { .name = name, .file = "" };

	put_location(p, id, &f);
	return id;
}

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

static void add_text(Prof__Label *labels, size_t *count, int64_t key,
		     int64_t text)
{
	prof__label__init(&labels[*count]);
	labels[*count].key = key;
	labels[(*count)++].str = text;
}

static size_t labels_of(struct sampler *p, uint32_t thread, node_id body,
			Prof__Label *labels)
{
	struct session *const s = p->session;
	size_t n = 0;

	if (thread < s->thread_count) {
		const struct thread *const t = &s->threads[thread];

		add_text(labels, &n, p->thread_key,
			 prof_out_shown(p->out, t->name));
		add_text(labels, &n, p->program_key, prof_out_shown(p->out,
			 s->processes[t->process].path));
		prof__label__init(&labels[n]);
		labels[n].key = p->tid_key;
		labels[n++].num = t->tid;
	}
	if (body > 0)
		add_text(labels, &n, p->coroutine_key, prof_out_shown(p->out,
			 func_get(s->funcs,
				  cct_get(s->cct, body)->func)->name));
	return n;
}

static void put_sample(struct sampler *p, node_id id, uint32_t thread)
{
	const struct cct_node *const n = cct_get(p->session->cct, id);
	int64_t values[VALUES] = {
		(int64_t)n->calls, (int64_t)session_ns(p->session, n->self),
		(int64_t)session_ns(p->session, n->suspended) };
	Prof__Label label[LABELS_MAX], *labels[LABELS_MAX];
	Prof__Sample sample = PROF__SAMPLE__INIT, *list = &sample;
	Prof__Profile part = PROF__PROFILE__INIT;

	for (size_t i = 0; i < LABELS_MAX; i++)
		labels[i] = &label[i];
	sample.n_location_id = stack_of(p, id);
	sample.location_id = p->frames;
	sample.n_value = VALUES;
	sample.value = values;
	sample.n_label = labels_of(p, thread, p->body[id], label);
	sample.label = labels;
	part.n_sample = 1;
	part.sample = &list;
	prof_out_put(p->out, &part);
}

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
	mem_free(p->body);
	mem_free(thread);
}

static void put_about(struct sampler *p, const struct prof_about *about)
{
	Prof__Profile part = PROF__PROFILE__INIT;
	int64_t *const comments = mem_alloc((about->comment_count + 1) *
					    sizeof(*comments));

	for (size_t i = 0; i < about->comment_count; i++)
		comments[i] = prof_out_shown(p->out, about->comments[i]);
	part.n_comment = about->comment_count;
	part.comment = comments;
	part.time_nanos = p->session->thread_count == 0 ? 0 :
		(int64_t)session_real(p->session,
				      session_first_tick(p->session));
	part.duration_nanos = (int64_t)about->duration;
	part.default_sample_type = prof_out_shown(p->out, "self");
	prof_out_put(p->out, &part);
	mem_free(comments);
}

void prof_sample_put(struct prof_out *out, struct session *s,
		     const struct prof_about *about)
{
	const uint64_t funcs = func_count(s->funcs);
	struct sampler *const p = mem_alloc(sizeof(*p));

	p->out = out;
	p->session = s;
	put_type(out, "calls", "count");
	put_type(out, "self", "nanoseconds");
	put_type(out, "suspended", "nanoseconds");
	for (elf_id id = 1; id <= func_elf_count(s->funcs); id++)
		put_module(p, id);
	for (func_id id = 1; id <= funcs; id++)
		put_location(p, id, func_get(s->funcs, id));
	p->no_function = put_stand_in(p, funcs + 1, "[no function]");
	p->left_out = put_stand_in(p, funcs + 2, "[frames left out]");
	p->thread_key = prof_out_shown(out, "thread");
	p->tid_key = prof_out_shown(out, "tid");
	p->program_key = prof_out_shown(out, "program");
	p->coroutine_key = prof_out_shown(out, "coroutine");
	put_samples(p);
	put_about(p, about);
	mem_free(p);
}
