/* page_parts.h - the parts of a page's data, each of so many elements and no
 * more. Knows nothing of bytes.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/page/page_source.h"
#include "analyzer/tables/fold.h"

#include <stdio.h>

/* In the order in which they are written. The rest has no elements that could
 * be left out: what stands on top, the threads' names, counts over time. */
enum page_part {
	PAGE_REST, PAGE_FUNCTIONS, PAGE_STACKS, PAGE_ROWS, PAGE_COROUTINES,
	PAGE_BODIES, PAGE_ARCS, PAGE_LANES, PAGE_CALLS, PAGE_SLEEPS,
	PAGE_LOCKS, PAGE_CHANGES, PAGE_PARTS
};

/* A page with its limits. */
struct page_parts {
	const struct page *page;
	size_t width;            /* columns of a function's name, file,
	                          * module */
	size_t has[PAGE_PARTS];  /* elements that there are, */
	size_t most[PAGE_PARTS]; /* and how many of them are written, those that
	                          * matter most: functions with a name, stacks,
	                          * rows, lanes and so on. Change it by
	                          * page_parts_limit */
	/* Private: what follows from the limits. */
	struct fold *fold, *fold_before;
	struct page_numbers numbers;
	uint8_t *named;          /* by func_id: has a name; NULL: all have */
	uint32_t *arcs, *sleeps; /* indices; what matters most is first */
	uint32_t *lanes;         /* indices, by falling time */
	uint32_t *lane_number;   /* by index, from 1 on; 0: left out */
};

/* Ends with page_parts_fini. The page is borrowed until then. */
void page_parts_init(struct page_parts *, const struct page *);
void page_parts_fini(struct page_parts *);

/* Write no more than `most` elements of the part. */
void page_parts_limit(struct page_parts *, enum page_part, size_t most);

/* Write the part as members of the data's object. */
void page_parts_put(FILE *, const struct page_parts *, enum page_part);
