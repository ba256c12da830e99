/* page.c - the page's HTML with the data put into it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page.h"

#include "analyzer/out/page/page_files.h"
#include "analyzer/out/page/page_fit.h"

#include <string.h>

static void put_file(FILE *to, const struct page_file *f)
{
	fwrite(f->begin, 1, (size_t)(f->end - f->begin), to);
}

static void put_data(FILE *to, const struct page_parts *parts)
{
	for (enum page_part i = 0; i < PAGE_PARTS; i++)
		page_parts_put(to, parts, i);
	fputs("}\n", to);
}

/* What stands for a mark of page.html. */
static void put_mark(FILE *to, const char *mark, size_t length,
		     const struct page_parts *parts)
{
	if (strncmp(mark, "css", length) == 0)
		put_file(to, &page_css);
	else if (strncmp(mark, "data", length) == 0)
		put_data(to, parts);
	else
		for (size_t i = 0; i < page_script_count; i++)
			put_file(to, &page_scripts[i]);
}

/* The page without its data. */
static size_t size_of_files(void)
{
	size_t size = (size_t)(page_html.end - page_html.begin) +
		      (size_t)(page_css.end - page_css.begin);

	for (size_t i = 0; i < page_script_count; i++)
		size += (size_t)(page_scripts[i].end - page_scripts[i].begin);
	return size;
}

void page_write(FILE *to, const struct page *p)
{
	const char *at = page_html.begin;
	const char *mark;
	struct page_parts parts;

	page_parts_init(&parts, p);
	page_fit(&parts, PAGE_BYTES - size_of_files());
	while ((mark = memmem(at, (size_t)(page_html.end - at), "{{", 2))) {
		const char *const end = memmem(mark,
			(size_t)(page_html.end - mark), "}}", 2);

		fwrite(at, 1, (size_t)(mark - at), to);
		put_mark(to, mark + 2, (size_t)(end - mark - 2), &parts);
		at = end + 2;
	}
	fwrite(at, 1, (size_t)(page_html.end - at), to);
	page_parts_fini(&parts);
}
