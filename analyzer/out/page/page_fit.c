/* page_fit.c - how many bytes a part takes is only known when it is written, so
 * it is written to nowhere first. An estimate by the number of elements would
 * be wrong by what names, and digits of numbers, take.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_fit.h"

#include <stdbool.h>

/* What the parts get of the bytes if all need more: a time line is one lane or
 * many, so that what is left of it may be as large as one lane. */
static const unsigned weights[PAGE_PARTS] = {
	[PAGE_FUNCTIONS] = 4, [PAGE_STACKS] = 6, [PAGE_ROWS] = 3,
	[PAGE_COROUTINES] = 1, [PAGE_BODIES] = 1, [PAGE_ARCS] = 2,
	[PAGE_LANES] = 8, [PAGE_CALLS] = 1, [PAGE_SLEEPS] = 1,
	[PAGE_CHANGES] = 1
};

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

void page_fit(struct page_parts *p, size_t bytes)
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
