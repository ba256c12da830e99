/* page.c - the page's HTML with the data put into it, as much as fits. The
 * assembler takes the page's own files in; build.mk names them as what this
 * object depends on.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page.h"

#include "analyzer/out/page/page_parts.h"

#include <string.h>

/* ---- the page's own files ----------------------------------------------- */

/* The bytes from `begin` until `end`. */
struct file { const char *begin, *end; };

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
	X(range) X(heat) X(page)

TAKE(html, "page.html")
TAKE(css, "page.css")
#define TAKE_SCRIPT(name) TAKE(name, #name ".js")
SCRIPTS(TAKE_SCRIPT)

static const struct file page_html = TAKEN(html);
static const struct file page_css = TAKEN(css);

#define SCRIPT_ROW(name) TAKEN(name),
static const struct file page_scripts[] = { SCRIPTS(SCRIPT_ROW) };
enum { SCRIPT_COUNT = sizeof(page_scripts) / sizeof(page_scripts[0]) };

/* ---- what fits ---------------------------------------------------------- */

/* What the parts get of the bytes if all need more: a time line is one lane or
 * many, so that what is left of it may be as large as one lane. */
static const unsigned weights[PAGE_PARTS] = {
	[PAGE_FUNCTIONS] = 4, [PAGE_STACKS] = 6, [PAGE_ROWS] = 3,
	[PAGE_COROUTINES] = 1, [PAGE_BODIES] = 1, [PAGE_ARCS] = 2,
	[PAGE_LANES] = 8, [PAGE_CALLS] = 1, [PAGE_SLEEPS] = 1,
	[PAGE_LOCKS] = 1, [PAGE_CHANGES] = 1
};

/* How many bytes a part takes is only known when it is written, so it is
 * written to nowhere first. An estimate by the number of elements would be
 * wrong by what names, and digits of numbers, take. */
static ssize_t count_bytes(void *cookie, const char *bytes, size_t size)
{
	(void)bytes;
	*(size_t *)cookie += size;
	return (ssize_t)size;
}

static size_t size_of(const struct page_parts *p, enum page_part part)
{
	size_t size = 0;
	FILE *const to = fopencookie(&size, "w", (cookie_io_functions_t){
		.write = count_bytes });

	if (!to)
		return 0;
	page_parts_put(to, p, part);
	fclose(to);
	return size;
}

/* Replace what each part needs by what it gets. */
static void share_out(size_t bytes[PAGE_PARTS], size_t left)
{
	bool has_its[PAGE_PARTS] = { false }, is_found = true;
	size_t sum = 0;

	for (enum page_part i = 0; i < PAGE_PARTS; i++)
		sum += weights[i];
	while (is_found) {
		is_found = false;
		for (enum page_part i = 0; i < PAGE_PARTS; i++) {
			if (weights[i] == 0 || has_its[i] ||
			    bytes[i] * sum > left * weights[i])
				continue;
			has_its[i] = is_found = true;
			left -= bytes[i];
			sum -= weights[i];
		}
	}
	for (enum page_part i = 0; i < PAGE_PARTS; i++)
		if (weights[i] > 0 && !has_its[i])
			bytes[i] = left * weights[i] / sum;
}

/* Shorter names before fewer of them. */
static size_t shorten_names(struct page_parts *p, size_t size, size_t bytes)
{
	static const size_t widths[] = { 1000, 250, 60 };

	for (int i = 0; i < 3 && size > bytes; i++) {
		p->width = widths[i];
		size = size_of(p, PAGE_FUNCTIONS);
	}
	return size;
}

/* How many elements are written now. All functions have names at first, also
 * those that are never called and that no limit counts. */
static size_t written(const struct page_parts *p, enum page_part part)
{
	if (part == PAGE_FUNCTIONS && !p->named)
		return func_count(p->page->session->funcs) +
		       p->numbers.gone_count;
	return p->most[part] < p->has[part] ? p->most[part] : p->has[part];
}

/* Returns the size. */
static size_t fit(struct page_parts *p, enum page_part part, size_t size,
		  size_t bytes)
{
	if (part == PAGE_FUNCTIONS)
		size = shorten_names(p, size, bytes);
	while (size > bytes && p->most[part] > 0) {
		/* A little less, as elements differ in size. */
		const double share = (double)bytes / (double)size * 31 / 32;
		const size_t most = (size_t)((double)written(p, part) * share);

		page_parts_limit(p, part, most < p->most[part] ? most :
				 p->most[part] - 1);
		size = size_of(p, part);
	}
	return size;
}

/* Limit the parts until all of them together take no more than so many bytes.
 * A part that needs less than its share leaves the others what it does not
 * need. What cannot be limited (PAGE_REST) comes first. */
static void fit_all(struct page_parts *p, size_t bytes)
{
	/* What the rest may grow by when it says what the parts lack. */
	enum { LACKS = 2000 };
	size_t need[PAGE_PARTS], gets[PAGE_PARTS], rest, left;

	for (enum page_part i = 0; i < PAGE_PARTS; i++)
		need[i] = gets[i] = size_of(p, i);
	rest = need[PAGE_REST] + LACKS;
	left = bytes > rest ? bytes - rest : 0;
	share_out(gets, left);
	/* The others share what the functions really leave. */
	rest = fit(p, PAGE_FUNCTIONS, need[PAGE_FUNCTIONS],
		   gets[PAGE_FUNCTIONS]);
	left = left > rest ? left - rest : 0;
	for (enum page_part i = 0; i < PAGE_PARTS; i++)
		gets[i] = i == PAGE_FUNCTIONS ? 0 : need[i];
	share_out(gets, left);
	for (enum page_part i = 0; i < PAGE_PARTS; i++)
		if (weights[i] > 0 && i != PAGE_FUNCTIONS)
			fit(p, i, need[i], gets[i]);
}

/* ---- the page ----------------------------------------------------------- */

static void put_file(FILE *to, const struct file *f)
{
	fwrite(f->begin, 1, (size_t)(f->end - f->begin), to);
}

/* What stands for a mark of page.html: {{css}}, {{data}} or {{scripts}}. */
static void put_mark(FILE *to, const char *mark, size_t length,
		     const struct page_parts *parts)
{
	if (strncmp(mark, "css", length) == 0) {
		put_file(to, &page_css);
	} else if (strncmp(mark, "data", length) == 0) {
		for (enum page_part i = 0; i < PAGE_PARTS; i++)
			page_parts_put(to, parts, i);
		fputs("}\n", to);
	} else {
		for (size_t i = 0; i < SCRIPT_COUNT; i++)
			put_file(to, &page_scripts[i]);
	}
}

/* The page without its data. */
static size_t size_of_files(void)
{
	size_t size = (size_t)(page_html.end - page_html.begin) +
		      (size_t)(page_css.end - page_css.begin);

	for (size_t i = 0; i < SCRIPT_COUNT; i++)
		size += (size_t)(page_scripts[i].end - page_scripts[i].begin);
	return size;
}

void page_write(FILE *to, const struct page *p)
{
	const char *at = page_html.begin;
	const char *mark;
	struct page_parts parts;

	page_parts_init(&parts, p);
	fit_all(&parts, PAGE_BYTES - size_of_files());
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
