/* prof_write.c - a session as a profile: its tables for weft, then what other
 * tools show.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/prof.h"

#include "analyzer/base/mem.h"
#include "analyzer/model/hist.h"
#include "analyzer/profile/prof_kind.h"
#include "analyzer/profile/prof_out.h"
#include "analyzer/profile/prof_sample.h"

#include <string.h>

enum { BLOCK_ROWS = 4096 };

struct writer {
	struct prof_out *out;
	struct session *session;
	uint64_t rows;
};

static uint64_t value_of(struct writer *w, const struct prof_field *f,
			 const char *row, size_t i)
{
	const char *text;

	if (f->type == PROF_NUMBER)
		return prof_kind_get(f, row, i);
	if (f->type == PROF_CHARS)
		return prof_out_text(w->out, row + f->offset);
	memcpy(&text, row + f->offset, sizeof(text));
	return prof_out_text(w->out, text);
}

/* The columns of up to BLOCK_ROWS rows. */
static void fill(struct writer *w, const struct prof_table *t, const char *rows,
		 size_t count, Prof__Column *columns)
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

static void put_block(struct writer *w, enum prof_kind kind, const char *rows,
		      size_t count)
{
	const size_t columns = prof_kind_columns(kind);
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
	fill(w, &prof_tables[kind], rows, count, column);
	table.kind = (uint64_t)kind;
	table.rows = count;
	table.n_column = columns;
	table.column = list;
	part.n_weft_table = 1;
	part.weft_table = &tables;
	prof_out_put(w->out, &part);
	w->rows += count;
	mem_free(values);
	mem_free(list);
	mem_free(column);
}

static void put_rows(struct writer *w, enum prof_kind kind, const void *rows,
		     size_t count)
{
	const size_t size = prof_tables[kind].row_size;

	for (size_t i = 0; i < count; i += BLOCK_ROWS)
		put_block(w, kind, (const char *)rows + i * size,
			  count - i < BLOCK_ROWS ? count - i : BLOCK_ROWS);
}

/* The nodes, with their parents told by how far back they stand. */
static void put_nodes(struct writer *w)
{
	struct cct *const t = w->session->cct;
	struct cct_node *const block = mem_alloc(BLOCK_ROWS * sizeof(*block));
	size_t used = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		block[used] = *cct_get(t, id);
		if (block[used].parent > 0)
			block[used].parent = id - block[used].parent;
		if (++used == BLOCK_ROWS || id == cct_count(t)) {
			put_block(w, PROF_NODE, (const char *)block, used);
			used = 0;
		}
	}
	mem_free(block);
}

/* A block of rows that is written when it is full. */
struct block {
	struct writer *w;
	enum prof_kind kind;
	void *rows;
	size_t used;
	node_id last;
};

static void *next_row(struct block *b)
{
	const size_t size = prof_tables[b->kind].row_size;

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

static void put_lengths(struct writer *w)
{
	struct block b = { .w = w, .kind = PROF_LENGTH };
	struct cct *const t = w->session->cct;

	for (node_id id = 1; id <= cct_count(t); id++) {
		uint64_t counts[HIST_STEPS] = { 0 };

		if (!cct_hist_counts(t, id, counts))
			break;
		for (uint32_t i = 0; i < HIST_STEPS; i++) {
			if (counts[i] == 0)
				continue;
			*(struct prof_length *)next_row(&b) =
				(struct prof_length){ id - b.last, i,
						      counts[i] };
			b.last = id;
		}
	}
	end_block(&b);
}

static void put_cpu(struct writer *w)
{
	struct block b = { .w = w, .kind = PROF_CPU };
	struct cct *const t = w->session->cct;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_cpu cpu = cct_cpu_of(t, id);

		if (cpu.off == 0 && cpu.unknown == 0)
			continue;
		*(struct prof_cpu *)next_row(&b) = (struct prof_cpu){
			id - b.last, cpu.off, cpu.unknown };
		b.last = id;
	}
	end_block(&b);
}

static void put_collected(struct writer *w)
{
	const struct prof_collected row = {
		(uint64_t)cct_has_hist(w->session->cct),
		(uint64_t)cct_has_cpu(w->session->cct) };

	put_rows(w, PROF_COLLECTED, &row, 1);
	put_lengths(w);
	put_cpu(w);
}

/* What a profile does not list is told by its number. */
static struct session head_of(const struct session *s)
{
	struct session head = *s;

	head.beyond.coroutines += s->coroutine_count;
	for (size_t i = 0; i < s->coroutine_count; i++)
		head.beyond.inferred += s->coroutines[i].inferred;
	head.beyond.folded = cct_deeper(s->cct);
	return head;
}

static void put_tables(struct writer *w)
{
	struct session *const s = w->session;
	const struct session head = head_of(s);

	put_rows(w, PROF_HEAD, &head, 1);
	put_rows(w, PROF_MODULE, func_elf(s->funcs, 1),
		 func_elf_count(s->funcs));
	put_rows(w, PROF_FUNC, func_get(s->funcs, 1), func_count(s->funcs));
	put_rows(w, PROF_PROCESS, s->processes, s->process_count);
	put_rows(w, PROF_THREAD, s->threads, s->thread_count);
	put_rows(w, PROF_VM, s->vms, s->vm_count);
	put_rows(w, PROF_NOTE, s->notes, s->note_count);
	put_rows(w, PROF_GAP, s->gaps, s->gap_count);
	put_nodes(w);
	put_rows(w, PROF_PART, s->parts, s->part_count);
	put_rows(w, PROF_STATISTICS, s->statistics, s->statistics_count);
	put_rows(w, PROF_EDGE, s->edges, s->edge_count);
	put_rows(w, PROF_NAMING, s->namings, s->naming_count);
	put_collected(w);
	put_rows(w, PROF_LABEL, s->labels, s->label_count);
}

int prof_write(FILE *to, struct session *s, const struct prof_about *about)
{
	struct writer w = { prof_out_new(to), s, 0 };
	Prof__Profile part = PROF__PROFILE__INIT;

	part.weft_version = PROF_VERSION;
	prof_out_put(w.out, &part);
	put_tables(&w);
	prof_sample_put(w.out, s, about);
	prof__profile__init(&part);
	part.weft_end = w.rows;
	prof_out_put(w.out, &part);
	return prof_out_free(w.out);
}
