/* profile_tables.c - the fields of the tables. Knows the structs of the model
 * field by field; knows nothing of how numbers get into a file.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/profile_tables.h"

#include "analyzer/model/session.h"

#include <string.h>

/* Fields for the tables below. MANY: a number, or an array of n numbers; a
 * struct that consists of uint64_t counts is such an array, too. */
#define MANY(s, member, n)                                                     \
	{ offsetof(struct s, member), sizeof(((struct s *)0)->member) / (n),   \
	  PROFILE_NUMBER, n }
#define NUMBER(s, member) MANY(s, member, 1)
#define TEXT(s, member)                                                        \
	{ offsetof(struct s, member), sizeof(char *), PROFILE_TEXT, 1 }
#define CHARS(s, member)                                                       \
	{ offsetof(struct s, member), sizeof(((struct s *)0)->member),         \
	  PROFILE_CHARS, 1 }
#define STATISTICS(s, member)                                                  \
	{ offsetof(struct s, member), sizeof(uint64_t), PROFILE_NUMBER,        \
	  sizeof(struct statistics) / sizeof(uint64_t) }

/* Pointers and the counts of lists are left out: each list is a kind of its
 * own. */
static const struct profile_field head[] = {
	NUMBER(session, tick_hz), NUMBER(session, base_tick),
	NUMBER(session, base_mono), NUMBER(session, base_real),
	NUMBER(session, chunks), NUMBER(session, records),
	NUMBER(session, calls), NUMBER(session, words),
	NUMBER(session, duplicate_chunks), NUMBER(session, bad_chunks),
	NUMBER(session, unnested), NUMBER(session, hz_error),
	NUMBER(session, gap_total),
	MANY(session, beyond, sizeof(struct beyond) / sizeof(uint64_t)),
	NUMBER(session, counted),
};

/* A build-id has 20 bytes: it is two numbers of 8 bytes and one of 4. */
static const struct profile_field module[] = {
	TEXT(elf_module, path), NUMBER(elf_module, build_id_size),
	{ offsetof(struct elf_module, build_id), 8, PROFILE_NUMBER, 2 },
	{ offsetof(struct elf_module, build_id) + 16, 4, PROFILE_NUMBER, 1 },
	NUMBER(elf_module, size),
};

static const struct profile_field func[] = {
	NUMBER(func, kind), NUMBER(func, module), NUMBER(func, offset),
	TEXT(func, source), NUMBER(func, source_hash),
	NUMBER(func, source_length), NUMBER(func, line),
	NUMBER(func, last_line), TEXT(func, hint), TEXT(func, name),
	TEXT(func, file), NUMBER(func, file_line), NUMBER(func, untold_return),
	NUMBER(func, ordinal), NUMBER(func, counted),
	NUMBER(func, noted),
};

static const struct profile_field process[] = {
	NUMBER(process, recording), NUMBER(process, serial),
	NUMBER(process, parent), NUMBER(process, pid), NUMBER(process, start),
	TEXT(process, path),
};

static const struct profile_field thread[] = {
	NUMBER(thread, process), NUMBER(thread, serial), NUMBER(thread, tid),
	CHARS(thread, name), NUMBER(thread, chunks), NUMBER(thread, records),
	NUMBER(thread, calls), NUMBER(thread, marks), NUMBER(thread, first),
	NUMBER(thread, last), NUMBER(thread, traced), NUMBER(thread, cpu_ns),
	NUMBER(thread, missing_chunks), NUMBER(thread, missing_records),
	NUMBER(thread, unnested), NUMBER(thread, unplaced),
	NUMBER(thread, open), NUMBER(thread, gaps), NUMBER(thread, known),
	NUMBER(thread, offcpu), NUMBER(thread, missing),
	NUMBER(thread, headless), MANY(thread, lost, LOST_REASONS),
	NUMBER(thread, skipped), NUMBER(thread, cpu_unknown),
};

static const struct profile_field vm[] = {
	NUMBER(vm, process), NUMBER(vm, serial), NUMBER(vm, abi),
	NUMBER(vm, flags),
};

static const struct profile_field note[] = {
	TEXT(note, key), TEXT(note, value),
};

static const struct profile_field gap[] = {
	NUMBER(gap, thread), NUMBER(gap, from), NUMBER(gap, to),
	NUMBER(gap, chunks), NUMBER(gap, records),
};

/* child and sibling follow from the order of the nodes. */
static const struct profile_field node[] = {
	NUMBER(cct_node, parent), NUMBER(cct_node, func),
	NUMBER(cct_node, flags), NUMBER(cct_node, thread),
	NUMBER(cct_node, calls), NUMBER(cct_node, self),
	NUMBER(cct_node, suspended), NUMBER(cct_node, min),
	NUMBER(cct_node, max),
};

static const struct profile_field part[] = {
	NUMBER(part, recording), NUMBER(part, start), NUMBER(part, duration),
	NUMBER(part, calls), NUMBER(part, complete), TEXT(part, command),
	TEXT(part, host), NUMBER(part, cpu), NUMBER(part, work),
	NUMBER(part, error),
};

static const struct profile_field statistics[] = {
	NUMBER(func_statistics, func),
	STATISTICS(func_statistics, calls), STATISTICS(func_statistics, self),
	STATISTICS(func_statistics, total),
	STATISTICS(func_statistics, suspended),
	STATISTICS(func_statistics, cost), STATISTICS(func_statistics, sleep),
	STATISTICS(func_statistics, work), STATISTICS(func_statistics, wait),
	STATISTICS(func_statistics, fastest), STATISTICS(func_statistics, on),
};

static const struct profile_field edge[] = {
	NUMBER(edge_statistics, caller), NUMBER(edge_statistics, func),
	STATISTICS(edge_statistics, rate),
};

static const struct profile_field naming[] = {
	TEXT(naming, file), TEXT(naming, why), NUMBER(naming, asked),
	NUMBER(naming, named), NUMBER(naming, hinted),
	NUMBER(naming, is_refused),
};

static const struct profile_field collected[] = {
	NUMBER(profile_collected, hist), NUMBER(profile_collected, cpu),
};

static const struct profile_field length[] = {
	NUMBER(profile_length, back), NUMBER(profile_length, step),
	NUMBER(profile_length, calls),
};

static const struct profile_field cpu[] = {
	NUMBER(profile_cpu, back), NUMBER(profile_cpu, off),
	NUMBER(profile_cpu, unknown), NUMBER(profile_cpu, ready),
};

static const struct profile_field label[] = {
	NUMBER(label, recording), NUMBER(label, process), TEXT(label, key),
	TEXT(label, value),
};

static const struct profile_field net[] = {
	NUMBER(net, is_net), NUMBER(net, period), NUMBER(net, own),
	NUMBER(net, other), NUMBER(net, probe), NUMBER(net, astray),
	NUMBER(net, contradicted), NUMBER(net, raw), NUMBER(net, unsampled),
	NUMBER(net, has_raw),
};

static const struct profile_field sampled[] = {
	NUMBER(profile_sampled, back), NUMBER(profile_sampled, unsampled),
	NUMBER(profile_sampled, own), NUMBER(profile_sampled, other),
	NUMBER(profile_sampled, probe), NUMBER(profile_sampled, raw),
	NUMBER(profile_sampled, variance),
};

static const struct profile_field counted[] = {
	NUMBER(profile_counted, back), NUMBER(profile_counted, untimed),
	NUMBER(profile_counted, brief), NUMBER(profile_counted, noted),
};

#define TABLE(type, fields)                                                    \
	{ sizeof(type), fields, sizeof(fields) / sizeof((fields)[0]) }

const struct profile_table profile_tables[PROFILE_KINDS] = {
	[PROFILE_HEAD] = TABLE(struct session, head),
	[PROFILE_MODULE] = TABLE(struct elf_module, module),
	[PROFILE_FUNC] = TABLE(struct func, func),
	[PROFILE_PROCESS] = TABLE(struct process, process),
	[PROFILE_THREAD] = TABLE(struct thread, thread),
	[PROFILE_VM] = TABLE(struct vm, vm),
	[PROFILE_NOTE] = TABLE(struct note, note),
	[PROFILE_GAP] = TABLE(struct gap, gap),
	[PROFILE_NODE] = TABLE(struct cct_node, node),
	[PROFILE_PART] = TABLE(struct part, part),
	[PROFILE_STATISTICS] = TABLE(struct func_statistics, statistics),
	[PROFILE_EDGE] = TABLE(struct edge_statistics, edge),
	[PROFILE_NAMING] = TABLE(struct naming, naming),
	[PROFILE_COLLECTED] = TABLE(struct profile_collected, collected),
	[PROFILE_LENGTH] = TABLE(struct profile_length, length),
	[PROFILE_CPU] = TABLE(struct profile_cpu, cpu),
	[PROFILE_LABEL] = TABLE(struct label, label),
	[PROFILE_NET] = TABLE(struct net, net),
	[PROFILE_SAMPLED] = TABLE(struct profile_sampled, sampled),
	[PROFILE_COUNTED] = TABLE(struct profile_counted, counted),
};

uint64_t profile_get(const struct profile_field *f, const void *row, size_t i)
{
	uint64_t value = 0;

	/* Little-endian, as everything that weft records or runs on. */
	memcpy(&value, (const char *)row + f->offset + i * f->size, f->size);
	return value;
}

int profile_set(const struct profile_field *f, void *row, size_t i,
		  uint64_t value)
{
	if (f->size < 8 && value >> (8 * f->size) != 0)
		return -1;
	memcpy((char *)row + f->offset + i * f->size, &value, f->size);
	return 0;
}
