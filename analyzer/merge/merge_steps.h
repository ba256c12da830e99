/* merge_steps.h - steps of a merge that have a file of their own; used by the
 * files of merge alone.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_MERGE_STEPS_H
#define WEFT_ANALYZER_MERGE_MERGE_STEPS_H

#include "analyzer/base/mem.h"
#include "analyzer/model/session.h"

#include <stdbool.h>
#include <string.h>

/* For every id of one session, the id of the same thing in another: modules and
 * functions by id (from 1 on), the others by index. */
struct merge_ids {
	elf_id *module;
	func_id *func;
	uint32_t *process, *thread, *vm;
};

/* Zeroed arrays for all ids of the session; freed with merge_ids_fini. */
static inline struct merge_ids merge_ids_of(const struct session *s)
{
	return (struct merge_ids){
		mem_alloc((func_elf_count(s->funcs) + 1) * sizeof(elf_id)),
		mem_alloc((func_count(s->funcs) + 1) * sizeof(func_id)),
		mem_alloc((s->process_count + 1) * sizeof(uint32_t)),
		mem_alloc((s->thread_count + 1) * sizeof(uint32_t)),
		mem_alloc((s->vm_count + 1) * sizeof(uint32_t)) };
}

/* Free the arrays; the struct itself is the caller's. */
static inline void merge_ids_fini(struct merge_ids *ids)
{
	mem_free(ids->module);
	mem_free(ids->func);
	mem_free(ids->process);
	mem_free(ids->thread);
	mem_free(ids->vm);
}

/* A copy of the text that lives as long as the session. */
static inline const char *merge_copy(const struct session *s, const char *text)
{
	return text[0] == '\0' ? "" :
	       arena_copy(s->text, text, strlen(text));
}

/* The first of two texts in alphabetical order; "" comes last. */
static inline const char *merge_first(const char *a, const char *b)
{
	if (a[0] == '\0' || b[0] == '\0')
		return a[0] == '\0' ? b : a;
	return strcmp(a, b) <= 0 ? a : b;
}

/* Add the notes of a session to those of a sum. Both lists are sorted by key,
 * then value. is_first: the sum is empty, so that every note is kept. */
void merge_notes_add(struct session *sum, const struct session *from,
		     bool is_first);

/* Sort the notes of a trace's session, keep each key once, and make the notes
 * on losses at least as large as what its threads lost. */
void merge_notes_normalize(struct session *);

/* Compute the statistics and edges of a trace's session whose times are in
 * nanoseconds: figures over this one session. */
void merge_statistics_of_one(struct session *);

/* A new session with every list in the order of its contents. Both are the
 * caller's to free; they share nothing. The argument must be a merged session:
 * one of a trace may have equal threads, whose order would not be defined. */
struct session *merge_sort(struct session *);

#endif
