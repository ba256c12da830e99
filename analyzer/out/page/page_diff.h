/* page_diff.h - what a page has of the sessions from before a change, beside
 * those from after it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/merge/diff.h"

#include <stdio.h>

/* All is borrowed. */
struct page_before {
	struct session *session;
	const char *head;        /* the lines at the top of reports */
	const struct diff *diff;
	bool is_raw;             /* only one side has net times: both are raw */
};

/* The functions of both sides by one number: those from after the change have
 * their own ids, those that are gone have higher ones. */
struct page_numbers {
	uint32_t *of;            /* by func_id before */
	func_id *gone;           /* ids before */
	size_t gone_count;
};
/* before NULL: there is no other side. Ends with page_numbers_fini. */
void page_numbers_init(struct page_numbers *, struct session *after,
		       const struct page_before *before);
void page_numbers_fini(struct page_numbers *);

/* Write the first `most` rows as JSON, column by column. Times are ticks of the
 * session after, so that the scripts show them as they show all others. */
void page_diff_put(FILE *, const struct page_before *,
		   const struct session *after, const struct page_numbers *,
		   size_t most);
