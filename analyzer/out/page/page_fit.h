/* page_fit.h - keeps a page's data within a number of bytes.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_PAGE_PAGE_FIT_H
#define WEFT_ANALYZER_OUT_PAGE_PAGE_FIT_H

#include "analyzer/out/page/page_parts.h"

/* Limit the parts until all of them together take no more than so many bytes.
 * A part that needs less than its share leaves the others what it does not
 * need. What cannot be limited (PAGE_REST) comes first. */
void page_fit(struct page_parts *, size_t bytes);

#endif
