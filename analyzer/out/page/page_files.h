/* page_files.h - the page's own files, those of browser/, inside the program.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_PAGE_PAGE_FILES_H
#define WEFT_ANALYZER_OUT_PAGE_PAGE_FILES_H

#include <stddef.h>

/* The bytes from `begin` until `end`. */
struct page_file { const char *begin, *end; };

/* page.html has marks for what goes into it: {{css}}, {{data}} and
 * {{scripts}}. */
extern const struct page_file page_html, page_css;
/* In the order in which they go into the page. */
extern const struct page_file page_scripts[];
extern const size_t page_script_count;

#endif
