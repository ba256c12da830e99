/* profile_write.c - a session as a profile: its tables for weft, then
 * functions, mappings and samples for other tools. Nothing of the latter is
 * read back. A string is written before the first message that has its number,
 * so that a reader needs to go over the file once.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/profile.h"

#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/hist.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/profile/pprof.pb-c.h"
#include "analyzer/profile/profile_tables.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- messages ---- */

/* The strings of a field, each written once, by their numbers. Those of one
 * hash form a chain. */
struct texts {
	const char **text;
	uint32_t *chain;         /* number + 1 of the next; 0: the last */
	size_t count, room, chain_room;
	struct map *by_hash;     /* to number + 1 of the first */
};

/* A file that is being written. The first error stays, and nothing is written
 * after it. */
struct output {
	gzFile gz;
	int failed;              /* errno */
	struct arena *arena;     /* holds the strings */
	struct texts shown, exact;
};

/* A protobuf-c buffer whose bytes go to the output. */
struct sink {
	ProtobufCBuffer base;
	struct output *out;
};

/* As protobuf-c wants it: it cannot say that it failed. */
static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
	struct output *const out = ((struct sink *)(void *)buffer)->out;

	if (out->failed != 0 || size == 0)
		return;
	errno = 0;
	if (gzfwrite(bytes, 1, size, out->gz) != size)
		out->failed = errno != 0 ? errno : EIO;
}

/* Write some fields of the profile. A protobuf message may be written in
 * pieces, one after the other. */
static void put(struct output *out, const Prof__Profile *part)
{
	struct sink sink = { { append }, out };

	protobuf_c_message_pack_to_buffer(&part->base, &sink.base);
}

/* ---- strings ---- */

/* The number of a string; *is_new if it was not there, so that the caller
 * writes it. The copy is the output's. */
static size_t find_or_add(struct output *out, struct texts *t,
			  const char *text, bool *is_new)
{
	uint32_t *const head = map_put(t->by_hash, text_hash(1, text), 0);
	const size_t i = t->count;

	*is_new = false;
	for (uint32_t k = *head; k > 0; k = t->chain[k - 1])
		if (strcmp(t->text[k - 1], text) == 0)
			return k - 1;
	vec_need(&t->text, &t->room, i + 1);
	vec_need(&t->chain, &t->chain_room, i + 1);
	t->text[i] = arena_copy(out->arena, text, strlen(text));
	t->chain[i] = *head;
	t->count = i + 1;
	*head = (uint32_t)t->count;
	*is_new = true;
	return i;
}

/* The number in string_table of a text that is safe already. */
static int64_t put_shown(struct output *out, char *safe)
{
	Prof__Profile part = PROF__PROFILE__INIT;
	bool is_new;
	const size_t i = find_or_add(out, &out->shown, safe, &is_new);

	if (is_new) {
		part.n_string_table = 1;
		part.string_table = &safe;
		put(out, &part);
	}
	return (int64_t)i;
}

/* The number of a string as other tools show it, made safe. */
static int64_t shown(struct output *out, const char *text)
{
	char *const safe = out_escape_terminal(text);
	const int64_t i = put_shown(out, safe);

	mem_free(safe);
	return i;
}

/* The number of a string that is read back exactly: twice its number in
 * string_table or, if it is not safe to be shown, in weft_text, plus 1. */
static uint64_t exact(struct output *out, const char *text)
{
	Prof__Profile part = PROF__PROFILE__INIT;
	char *const safe = out_escape_terminal(text);
	const int is_safe = strcmp(safe, text) == 0;
	const uint64_t shown = is_safe ? (uint64_t)put_shown(out, safe) : 0;
	ProtobufCBinaryData bytes;
	size_t i;
	bool is_new;

	mem_free(safe);
	if (is_safe)
		return shown * 2;
	i = find_or_add(out, &out->exact, text, &is_new);
	if (is_new) {
		bytes.len = strlen(text);
		bytes.data = (uint8_t *)(uintptr_t)text;
		part.n_weft_text = 1;
		part.weft_text = &bytes;
		put(out, &part);
	}
	return i * 2 + 1;
}

/* ---- opening and closing ---- */

static void free_texts(struct texts *t)
{
	map_free(t->by_hash);
	mem_free(t->text);
	mem_free(t->chain);
}

/* The file stays the caller's: zlib closes what it writes to, so it gets a copy
 * of the descriptor. Errors wait for close_output, which frees the output. */
static struct output *open_output(FILE *file)
{
	struct output *const out = mem_alloc(sizeof(*out));
	const int fd = dup(fileno(file));

	out->gz = fd < 0 ? NULL : gzdopen(fd, "wb6");
	out->failed = !out->gz ? errno : 0;
	if (!out->gz && fd >= 0)
		close(fd);
	out->arena = arena_new();
	out->shown.by_hash = map_new();
	out->exact.by_hash = map_new();
	/* String 0 is "" in every profile. */
	shown(out, "");
	return out;
}

/* Frees the output. 0, or -1 with the cause in the chain if anything could not
 * be written, the rest in zlib's buffer included. */
static int close_output(struct output *out)
{
	int failed = out->failed, status;

	if (out->gz) {
		errno = 0;
		status = gzclose(out->gz);
		if (failed == 0 && status != Z_OK)
			failed = errno != 0 ? errno : EIO;
	}
	free_texts(&out->shown);
	free_texts(&out->exact);
	arena_free(out->arena);
	mem_free(out);
	return failed == 0 ? 0 : err_add("%s", strerror(failed));
}

/* ---- samples, for other tools ---- */

enum {
	FRAMES_MAX = 512,      /* of a sample: the innermost ones are kept */
	LABELS_MAX = 4,        /* labels_of has them all */
	VALUES = 3,            /* calls, self, suspended */
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
	int64_t thread_key, tid_key, program_key, coroutine_key;
	uint64_t frames[FRAMES_MAX]; /* locations of one stack */
};

/* Declare a kind of value that samples have; their values come in the order of
 * these. */
static void put_type(struct output *out, const char *type, const char *unit)
{
	Prof__ValueType value = PROF__VALUE_TYPE__INIT, *list = &value;
	Prof__Profile part = PROF__PROFILE__INIT;

	value.type = shown(out, type);
	value.unit = shown(out, unit);
	part.n_sample_type = 1;
	part.sample_type = &list;
	put(out, &part);
}

/* Write a module as a mapping. It claims to have names and lines, so that tools
 * do not look for its file to find them. */
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
	map.filename = shown(p->out, m->path);
	map.build_id = shown(p->out, build_id);
	map.has_functions = map.has_filenames = map.has_line_numbers = 1;
	part.n_mapping = 1;
	part.mapping = &list;
	put(p->out, &part);
}

/* Write a function and its location, both with this id: samples refer to
 * locations only. A function outside of modules has no address. */
static void put_location(struct sampler *p, uint64_t id, const struct func *f)
{
	Prof__Function function = PROF__FUNCTION__INIT, *functions = &function;
	Prof__Line line = PROF__LINE__INIT, *lines = &line;
	Prof__Location place = PROF__LOCATION__INIT, *places = &place;
	Prof__Profile part = PROF__PROFILE__INIT;

	function.id = place.id = line.function_id = id;
	/* system_name stays empty: if it equals the name, go tool pprof reads
	 * it as a C++ name and drops the part in <>. */
	function.name = shown(p->out, f->name);
	function.filename = shown(p->out, f->file);
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
	put(p->out, &part);
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

/* Append a label; key and text are numbers of strings. */
static void add_text(Prof__Label *labels, size_t *count, int64_t key,
		     int64_t text)
{
	prof__label__init(&labels[*count]);
	labels[*count].key = key;
	labels[(*count)++].str = text;
}

/* Fill in the labels of a sample: thread, program, tid, coroutine; return how
 * many. body is the outermost frame of its coroutine, or 0. */
static size_t labels_of(struct sampler *p, uint32_t thread, node_id body,
			Prof__Label *labels)
{
	struct session *const s = p->session;
	size_t n = 0;

	if (thread < s->thread_count) {
		const struct thread *const t = &s->threads[thread];

		add_text(labels, &n, p->thread_key,
			 shown(p->out, t->name));
		add_text(labels, &n, p->program_key, shown(p->out,
			 s->processes[t->process].path));
		prof__label__init(&labels[n]);
		labels[n].key = p->tid_key;
		labels[n++].num = t->tid;
	}
	if (body > 0)
		add_text(labels, &n, p->coroutine_key, shown(p->out,
			 func_get(s->funcs,
				  cct_get(s->cct, body)->func)->name));
	return n;
}

/* The node's own figures, not those of the nodes below it: tools add these up
 * themselves. */
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
	put(p->out, &part);
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
	mem_free(p->body);
	mem_free(thread);
}

/* Write what other tools show beside the figures. */
static void put_about(struct sampler *p, const struct profile_about *about)
{
	Prof__Profile part = PROF__PROFILE__INIT;
	int64_t *const comments = mem_alloc((about->comment_count + 1) *
					    sizeof(*comments));

	for (size_t i = 0; i < about->comment_count; i++)
		comments[i] = shown(p->out, about->comments[i]);
	part.n_comment = about->comment_count;
	part.comment = comments;
	part.time_nanos = p->session->thread_count == 0 ? 0 :
		(int64_t)session_real(p->session,
				      session_first_tick(p->session));
	part.duration_nanos = (int64_t)about->duration;
	part.default_sample_type = shown(p->out, "self");
	put(p->out, &part);
	mem_free(comments);
}

/* All that other tools read. Functions and mappings come before the samples
 * that refer to them. */
static void put_pprof(struct output *out, struct session *s,
		      const struct profile_about *about)
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
	p->thread_key = shown(out, "thread");
	p->tid_key = shown(out, "tid");
	p->program_key = shown(out, "program");
	p->coroutine_key = shown(out, "coroutine");
	put_samples(p);
	put_about(p, about);
	mem_free(p);
}

/* ---- tables, for weft ---- */

/* Rows of one table; readers take up to 65536. So a reader needs little memory
 * at a time, whatever the size of the profile. */
enum { BLOCK_ROWS = 4096 };

/* Writes tables; rows counts those written so far, for weft_end. */
struct writer {
	struct output *out;
	struct session *session;
	uint64_t rows;
};

/* The number that a column has for a row; of a text, the text's number. */
static uint64_t value_of(struct writer *w, const struct profile_field *f,
			 const char *row, size_t i)
{
	const char *text;

	if (f->type == PROFILE_NUMBER)
		return profile_get(f, row, i);
	if (f->type == PROFILE_CHARS)
		return exact(w->out, row + f->offset);
	memcpy(&text, row + f->offset, sizeof(text));
	return exact(w->out, text);
}

/* Fill in the columns of up to BLOCK_ROWS rows. Strings that are new are
 * written on the way, before the table that has their numbers. */
static void fill(struct writer *w, const struct profile_table *t,
		 const char *rows, size_t count, Prof__Column *columns)
{
	size_t column = 0;

	for (size_t f = 0; f < t->field_count; f++) {
		for (size_t i = 0; i < t->fields[f].count; i++, column++) {
			columns[column].n_value = count;
			for (size_t k = 0; k < count; k++)
				columns[column].value[k] = value_of(w,
					&t->fields[f], rows + k * t->row_size,
					i);
		}
	}
}

/* Write a block of rows as a table of columns: the numbers of a column are
 * alike, and so pack well. */
static void put_block(struct writer *w, enum profile_kind kind,
		      const char *rows, size_t count)
{
	const size_t columns = profile_columns(kind);
	Prof__Column *const column = mem_alloc(columns * sizeof(*column));
	Prof__Column **const list = mem_alloc(columns * sizeof(*list));
	uint64_t *const values = mem_alloc(columns * count * sizeof(*values));
	Prof__Table table = PROF__TABLE__INIT, *tables = &table;
	Prof__Profile part = PROF__PROFILE__INIT;

	for (size_t i = 0; i < columns; i++) {
		prof__column__init(&column[i]);
		column[i].value = values + i * count;
		list[i] = &column[i];
	}
	fill(w, &profile_tables[kind], rows, count, column);
	table.kind = (uint64_t)kind;
	table.rows = count;
	table.n_column = columns;
	table.column = list;
	part.n_weft_table = 1;
	part.weft_table = &tables;
	put(w->out, &part);
	w->rows += count;
	mem_free(values);
	mem_free(list);
	mem_free(column);
}

/* Write an array of rows, block by block. */
static void put_rows(struct writer *w, enum profile_kind kind, const void *rows,
		     size_t count)
{
	const size_t size = profile_tables[kind].row_size;

	for (size_t i = 0; i < count; i += BLOCK_ROWS)
		put_block(w, kind, (const char *)rows + i * size,
			  count - i < BLOCK_ROWS ? count - i : BLOCK_ROWS);
}

/* A block of rows that is written when it is full. */
struct block {
	struct writer *w;
	enum profile_kind kind;
	void *rows;
	size_t used;             /* rows */
	node_id last;            /* of the last row */
};

/* Room for the next row, which the caller fills. */
static void *next_row(struct block *b)
{
	const size_t size = profile_tables[b->kind].row_size;

	if (!b->rows)
		b->rows = mem_alloc(BLOCK_ROWS * size);
	if (b->used == BLOCK_ROWS) {
		put_block(b->w, b->kind, b->rows, b->used);
		b->used = 0;
	}
	return (char *)b->rows + b->used++ * size;
}

static void end_block(struct block *b)
{
	if (b->used > 0)
		put_block(b->w, b->kind, b->rows, b->used);
	mem_free(b->rows);
}

/* Write the nodes; a parent is given by how much smaller its id is. */
static void put_nodes(struct writer *w)
{
	struct block b = { .w = w, .kind = PROFILE_NODE };
	struct cct *const t = w->session->cct;

	for (node_id id = 1; id <= cct_count(t); id++) {
		struct cct_node *const n = next_row(&b);

		*n = *cct_get(t, id);
		if (n->parent > 0)
			n->parent = id - n->parent;
	}
	end_block(&b);
}

/* Write how many calls of each node were of which length. Without histograms
 * there are no rows. */
static void put_lengths(struct writer *w)
{
	struct block b = { .w = w, .kind = PROFILE_LENGTH };
	struct cct *const t = w->session->cct;

	for (node_id id = 1; id <= cct_count(t); id++) {
		uint64_t counts[HIST_STEPS] = { 0 };

		if (!cct_hist_counts(t, id, counts))
			break;
		for (uint32_t i = 0; i < HIST_STEPS; i++) {
			if (counts[i] == 0)
				continue;
			*(struct profile_length *)next_row(&b) =
				(struct profile_length){ id - b.last, i,
						      counts[i] };
			b.last = id;
		}
	}
	end_block(&b);
}

/* Write the times off the CPU of nodes that have any. */
static void put_cpu(struct writer *w)
{
	struct block b = { .w = w, .kind = PROFILE_CPU };
	struct cct *const t = w->session->cct;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_cpu cpu = cct_cpu_of(t, id);

		if (cpu.off == 0 && cpu.unknown == 0)
			continue;
		*(struct profile_cpu *)next_row(&b) = (struct profile_cpu){
			id - b.last, cpu.off, cpu.unknown };
		b.last = id;
	}
	end_block(&b);
}

/* Write what samples tell of nodes that have any of it. */
static void put_sampled(struct writer *w)
{
	struct block b = { .w = w, .kind = PROFILE_SAMPLED };
	struct cct *const t = w->session->cct;

	if (w->session->net.period == 0 || !cct_has_samples(t))
		return;
	put_rows(w, PROFILE_NET, &w->session->net, 1);
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_sampled *const n = cct_sampled_of(t, id);

		if (!n->own && !n->other && !n->probe && !n->unsampled &&
		    n->raw == cct_get(t, id)->self)
			continue;
		*(struct profile_sampled *)next_row(&b) =
			(struct profile_sampled){ id - b.last, n->unsampled,
				n->own, n->other, n->probe, n->raw,
				(uint64_t)(sqrt(n->variance) + 0.5) };
		b.last = id;
	}
	end_block(&b);
}

/* What the tree collects, and then the rows of it. */
static void put_collected(struct writer *w)
{
	const struct profile_collected row = {
		(uint64_t)cct_has_hist(w->session->cct),
		(uint64_t)cct_has_cpu(w->session->cct) };

	put_rows(w, PROFILE_COLLECTED, &row, 1);
	put_lengths(w);
	put_cpu(w);
	put_sampled(w);
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
	put_nodes(w);
	put_rows(w, PROFILE_PART, s->parts, s->part_count);
	put_rows(w, PROFILE_STATISTICS, s->statistics, s->statistics_count);
	put_rows(w, PROFILE_EDGE, s->edges, s->edge_count);
	put_rows(w, PROFILE_NAMING, s->namings, s->naming_count);
	put_collected(w);
	put_rows(w, PROFILE_LABEL, s->labels, s->label_count);
}

/* The version comes first, so that a reader can refuse the rest; the number of
 * rows comes last, so that it knows a cut file. */
int profile_write(FILE *to, struct session *s,
		  const struct profile_about *about)
{
	struct writer w = { open_output(to), s, 0 };
	Prof__Profile part = PROF__PROFILE__INIT;

	part.weft_version = PROFILE_VERSION;
	put(w.out, &part);
	put_tables(&w);
	put_pprof(w.out, s, about);
	prof__profile__init(&part);
	part.weft_end = w.rows;
	put(w.out, &part);
	return close_output(w.out);
}
