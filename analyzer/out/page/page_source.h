/* page_source.h - what a page is made from.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/page/page_diff.h"
#include "analyzer/out/page/page_moments.h"
#include "analyzer/tables/callers.h"
#include "analyzer/tables/coroutines.h"
#include "analyzer/tables/flat.h"
#include "analyzer/watch/waits/locks.h"
#include "analyzer/watch/waits/path.h"

/* What was waited for, by falling waiting. */
struct page_locks {
	const struct waits *waits;
	const struct locks_object *list; size_t count;
};

/* What the time of the slowest request was spent in. */
struct page_path {
	func_id func;
	struct path_who who;
	const struct path_step *steps; size_t count;
};

/* The most bytes in use in each of so many equal parts of the lanes' time;
 * mean: as struct heap_table has it. */
struct page_memory { uint64_t mean; const double *most; size_t parts; };

/* What a page shows. All is borrowed; texts are untrusted. */
struct page {
	struct session *session;
	const char *title;       /* what was recorded, in a few words */
	const char *head;        /* the lines at the top of reports */
	const struct flat *flat; /* by function */
	const struct callers *callers;
	const struct coroutine_row *coroutines;
	size_t coroutine_count;  /* of these rows */
	const struct coroutine_group *bodies;
	size_t body_count;
	/* NULL where they are not known, as of a profile: */
	const struct chronicle_found *moments; /* with calls and sleeps */
	const struct page_calls *calls;
	const struct sleeps *sleeps;
	const struct page_locks *locks;
	const struct page_path *path;
	const struct page_memory *memory;
	/* NULL unless two sides are compared: all above is of the one after. */
	const struct page_before *before;
};
