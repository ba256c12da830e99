/* page_files.c - the assembler takes the files in. build.mk names them as what
 * this object depends on.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_files.h"

/* Paths are from the root of the source, where make runs. */
#define TAKE(name, file) \
	__asm__(".pushsection .rodata\n" \
		"page_bytes_" #name ":\n" \
		".incbin \"analyzer/out/page/browser/" file "\"\n" \
		"page_end_" #name ":\n" \
		".popsection\n"); \
	extern const char page_bytes_##name[] \
		__attribute__((visibility("hidden"))); \
	extern const char page_end_##name[] \
		__attribute__((visibility("hidden")));
#define TAKEN(name) { page_bytes_##name, page_end_##name }

/* Scripts use what stands above them. */
#define SCRIPTS(X) \
	X(data) X(format) X(stacks) X(flame) X(table) X(details) X(timeline) \
	X(heat) X(page)

TAKE(html, "page.html")
TAKE(css, "page.css")
#define TAKE_SCRIPT(name) TAKE(name, #name ".js")
SCRIPTS(TAKE_SCRIPT)

const struct page_file page_html = TAKEN(html);
const struct page_file page_css = TAKEN(css);

#define SCRIPT_ROW(name) TAKEN(name),
const struct page_file page_scripts[] = { SCRIPTS(SCRIPT_ROW) };
const size_t page_script_count =
	sizeof(page_scripts) / sizeof(page_scripts[0]);
