/* prof_kind.c - the tables' columns.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/prof_kind.h"

#include "analyzer/model/session.h"

#include <string.h>

#define MANY(s, member, n)                                                     \
	{ offsetof(struct s, member), sizeof(((struct s *)0)->member) / (n),   \
	  PROF_NUMBER, n }
#define NUMBER(s, member) MANY(s, member, 1)
#define TEXT(s, member)                                                        \
	{ offsetof(struct s, member), sizeof(char *), PROF_TEXT, 1 }
#define CHARS(s, member)                                                       \
	{ offsetof(struct s, member), sizeof(((struct s *)0)->member),         \
	  PROF_CHARS, 1 }
#define SPREAD(s, member)                                                      \
	{ offsetof(struct s, member), sizeof(uint64_t), PROF_NUMBER,           \
	  sizeof(struct statistics) / sizeof(uint64_t) }

static const struct prof_field head[] = {
	NUMBER(session, tick_hz), NUMBER(session, base_tick),
	NUMBER(session, base_mono), NUMBER(session, base_real),
	NUMBER(session, chunks), NUMBER(session, records),
	NUMBER(session, calls), NUMBER(session, words),
	NUMBER(session, duplicate_chunks), NUMBER(session, bad_chunks),
	NUMBER(session, unnested), NUMBER(session, hz_error),
	NUMBER(session, gap_total),
	MANY(session, beyond, sizeof(struct beyond) / sizeof(uint64_t)),
};

/* A build-id, as three numbers. */
static const struct prof_field module[] = {
	TEXT(elf_module, path), NUMBER(elf_module, build_id_size),
	{ offsetof(struct elf_module, build_id), 8, PROF_NUMBER, 2 },
	{ offsetof(struct elf_module, build_id) + 16, 4, PROF_NUMBER, 1 },
	NUMBER(elf_module, size),
};

static const struct prof_field func[] = {
	NUMBER(func, kind), NUMBER(func, module), NUMBER(func, offset),
	TEXT(func, source), NUMBER(func, source_hash),
	NUMBER(func, source_length), NUMBER(func, line),
	NUMBER(func, last_line), TEXT(func, hint), TEXT(func, name),
	TEXT(func, file), NUMBER(func, file_line), NUMBER(func, untold_return),
	NUMBER(func, ordinal),
};

static const struct prof_field process[] = {
	NUMBER(process, recording), NUMBER(process, serial),
	NUMBER(process, parent), NUMBER(process, pid), NUMBER(process, start),
	TEXT(process, path),
};

static const struct prof_field thread[] = {
	NUMBER(thread, process), NUMBER(thread, serial), NUMBER(thread, tid),
	CHARS(thread, name), NUMBER(thread, chunks), NUMBER(thread, records),
	NUMBER(thread, calls), NUMBER(thread, marks), NUMBER(thread, first),
	NUMBER(thread, last), NUMBER(thread, traced), NUMBER(thread, cpu_ns),
	NUMBER(thread, missing_chunks), NUMBER(thread, missing_records),
	NUMBER(thread, unnested), NUMBER(thread, unplaced),
	NUMBER(thread, open), NUMBER(thread, gaps), NUMBER(thread, known),
	NUMBER(thread, offcpu), NUMBER(thread, missing),
	NUMBER(thread, headless), MANY(thread, lost, LOST_REASONS),
};

static const struct prof_field vm[] = {
	NUMBER(vm, process), NUMBER(vm, serial), NUMBER(vm, abi),
	NUMBER(vm, flags),
};

static const struct prof_field note[] = { TEXT(note, key), TEXT(note, value) };

static const struct prof_field gap[] = {
	NUMBER(gap, thread), NUMBER(gap, from), NUMBER(gap, to),
	NUMBER(gap, chunks), NUMBER(gap, records),
};

static const struct prof_field node[] = {
	NUMBER(cct_node, parent), NUMBER(cct_node, func),
	NUMBER(cct_node, flags), NUMBER(cct_node, thread),
	NUMBER(cct_node, calls), NUMBER(cct_node, self),
	NUMBER(cct_node, suspended), NUMBER(cct_node, min),
	NUMBER(cct_node, max),
};

static const struct prof_field part[] = {
	NUMBER(part, recording), NUMBER(part, start), NUMBER(part, duration),
	NUMBER(part, calls), NUMBER(part, complete), TEXT(part, command),
	TEXT(part, host), NUMBER(part, cpu),
};

static const struct prof_field spread[] = {
	NUMBER(func_statistics, func), SPREAD(func_statistics, calls),
	SPREAD(func_statistics, self), SPREAD(func_statistics, total),
	SPREAD(func_statistics, suspended), SPREAD(func_statistics, cost),
	SPREAD(func_statistics, sleep), SPREAD(func_statistics, work),
	SPREAD(func_statistics, wait), SPREAD(func_statistics, fastest),
};

static const struct prof_field edge[] = {
	NUMBER(edge_statistics, caller), NUMBER(edge_statistics, func),
	SPREAD(edge_statistics, rate),
};

static const struct prof_field naming[] = {
	TEXT(naming, file), TEXT(naming, why), NUMBER(naming, asked),
	NUMBER(naming, named), NUMBER(naming, hinted),
	NUMBER(naming, is_refused),
};

static const struct prof_field collected[] = {
	NUMBER(prof_collected, hist), NUMBER(prof_collected, cpu),
};

static const struct prof_field length[] = {
	NUMBER(prof_length, back), NUMBER(prof_length, step),
	NUMBER(prof_length, calls),
};

static const struct prof_field cpu[] = {
	NUMBER(prof_cpu, back), NUMBER(prof_cpu, off),
	NUMBER(prof_cpu, unknown),
};

static const struct prof_field label[] = {
	NUMBER(label, recording), NUMBER(label, process), TEXT(label, key),
	TEXT(label, value),
};

#define TABLE(type, fields)                                                    \
	{ sizeof(type), fields, sizeof(fields) / sizeof((fields)[0]) }

const struct prof_table prof_tables[PROF_KINDS] = {
	[PROF_HEAD] = TABLE(struct session, head),
	[PROF_MODULE] = TABLE(struct elf_module, module),
	[PROF_FUNC] = TABLE(struct func, func),
	[PROF_PROCESS] = TABLE(struct process, process),
	[PROF_THREAD] = TABLE(struct thread, thread),
	[PROF_VM] = TABLE(struct vm, vm),
	[PROF_NOTE] = TABLE(struct note, note),
	[PROF_GAP] = TABLE(struct gap, gap),
	[PROF_NODE] = TABLE(struct cct_node, node),
	[PROF_PART] = TABLE(struct part, part),
	[PROF_STATISTICS] = TABLE(struct func_statistics, spread),
	[PROF_EDGE] = TABLE(struct edge_statistics, edge),
	[PROF_NAMING] = TABLE(struct naming, naming),
	[PROF_COLLECTED] = TABLE(struct prof_collected, collected),
	[PROF_LENGTH] = TABLE(struct prof_length, length),
	[PROF_CPU] = TABLE(struct prof_cpu, cpu),
	[PROF_LABEL] = TABLE(struct label, label),
};

size_t prof_kind_columns(enum prof_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < prof_tables[kind].field_count; i++)
		n += prof_tables[kind].fields[i].count;
	return n;
}

uint64_t prof_kind_get(const struct prof_field *f, const void *row, size_t i)
{
	uint64_t value = 0;

	/* Little-endian, as everything that weft records or runs on. */
	memcpy(&value, (const char *)row + f->offset + i * f->size, f->size);
	return value;
}

int prof_kind_set(const struct prof_field *f, void *row, size_t i,
		  uint64_t value)
{
	if (f->size < 8 && value >> (8 * f->size) != 0)
		return -1;
	memcpy((char *)row + f->offset + i * f->size, &value, f->size);
	return 0;
}
