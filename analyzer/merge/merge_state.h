/* merge_state.h - what the files of combine share.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_MERGE_STATE_H
#define WEFT_ANALYZER_MERGE_MERGE_STATE_H

#include "analyzer/merge/merge.h"

struct merge {
	struct session *sum;       /* in order of arrival until the end */
	struct map *processes, *threads; /* by hash of their names */
	struct map *vms;         /* by process and kind; number */
	struct map *statistics, *edges;     /* by function; caller and function */
	int no_hist;             /* a session told no lengths of calls */
	size_t process_room, thread_room, note_room, part_room, statistics_room,
	       edge_room, naming_room, label_room, vm_room;
};

/* A trace's times are its ticks; those of a sum are nanoseconds. */
static inline uint64_t merge_ns(const struct session *from, ticks t)
{
	return from->part_count > 0 ? t : session_ns(from, t);
}

/* Of two texts the one that is first in the alphabet, "" being last. */
const char *merge_first(const char *a, const char *b);

/* A copy that lives as long as the sum. */
const char *merge_own(const struct merge *, const char *text);

/* Add the modules and functions of a session; gives the sum's ids. */
void merge_func_join(struct merge *, struct session *, elf_id *module,
		       func_id *func);

/* Add who ran in a session; fills the arrays with the sum's indices. */
void merge_identities_join(struct merge *, const struct session *,
			 uint32_t *process, uint32_t *thread, uint32_t *vm);

/* Add the tree of a session; the arrays give the sum's ids. */
void merge_tree_join(struct merge *, struct session *,
		       const func_id *func, const uint32_t *thread,
		       const uint32_t *vm);

/* Add the notes of a session; is_first: there are none yet. Both lists are
 * sorted by key, then value. */
void merge_notes_join(struct merge *, const struct session *,
			int is_first);
/* Give a trace's own session the notes that sums need: sorted, each once, with
 * losses at least as large as its threads counted. Frees nothing. */
void merge_notes_lift(struct session *);

/* Of a session of one trace, in nanoseconds: figures over this one session. */
void merge_statistics_lift(struct session *);
/* Add figures over sessions; func[] gives the sum's ids. */
void merge_statistics_join(struct merge *, const struct session *,
			 const func_id *func);

/* The same session with all lists in their order. */
struct session *merge_sort(struct session *);

#endif
