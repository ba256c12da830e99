/* page_diff.c - the rows of weft diff. Their words are those of the command.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_diff.h"

#include "analyzer/base/mem.h"
#include "analyzer/merge/diff_match.h"
#include "analyzer/out/out_json.h"

#include <inttypes.h>

void page_numbers_init(struct page_numbers *n, struct session *after,
		       const struct page_before *before)
{
	struct session *const sides[2] = { before ? before->session : NULL,
					   after };
	struct diff_matches m;
	size_t count;

	*n = (struct page_numbers){ .of = NULL };
	if (!before)
		return;
	count = func_count(before->session->funcs);
	n->of = mem_alloc((count + 1) * sizeof(*n->of));
	n->gone = mem_alloc((count + 1) * sizeof(*n->gone));
	diff_match_init(&m, sides);
	for (func_id f = 1; f <= count; f++) {
		n->of[f] = m.list[m.of[0][f]].id[1];
		if (n->of[f] != 0)
			continue;
		n->gone[n->gone_count++] = f;
		n->of[f] = (uint32_t)(func_count(after->funcs) + n->gone_count);
	}
	diff_match_fini(&m);
}

void page_numbers_fini(struct page_numbers *n)
{
	mem_free(n->of);
	mem_free(n->gone);
}

/* ---- rows ---------------------------------------------------------------- */

/* A column: of a row, what is written. */
struct column {
	const char *name;
	double (*get)(const struct diff_row *);
	bool is_time;            /* ns, which become ticks */
};

static double added(const struct diff_row *r) { return r->added; }
static double share(const struct diff_row *r) { return r->share / 100; }
static double was(const struct diff_row *r) { return r->was; }
static double is(const struct diff_row *r) { return r->is; }
static double chance(const struct diff_row *r) { return r->chance; }
static double of_calls(const struct diff_row *r) { return diff_is_of_calls(r); }

static const struct column columns[] = {
	{ "added", added, true }, { "share", share, false },
	{ "was", was, false }, { "is", is, false },
	{ "chance", chance, false }, { "of_calls", of_calls, false }
};

void page_diff_put(FILE *to, const struct page_before *b,
		   const struct session *after, const struct page_numbers *n,
		   size_t most)
{
	const struct diff *const d = b->diff;
	const double tick = (double)after->tick_hz / 1e9;

	fprintf(to, "{\"of\":\"%s\",\"before\":%.17g,\"after\":%.17g,"
		"\"sessions\":[%zu,%zu]", d->has_cpu ? "CPU" : "self",
		d->time[0] * tick, d->time[1] * tick, b->session->part_count,
		after->part_count);
	for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
		fprintf(to, ",\n\"%s\":[", columns[k].name);
		for (size_t i = 0; i < most; i++)
			fprintf(to, i > 0 ? ",%.9g" : "%.9g",
				columns[k].get(&d->rows[i]) *
				(columns[k].is_time ? tick : 1));
		putc(']', to);
	}
	fputs(",\n\"func\":[", to);
	for (size_t i = 0; i < most; i++)
		fprintf(to, i > 0 ? ",%" PRIu32 : "%" PRIu32, d->rows[i].after ?
			d->rows[i].after : n->of[d->rows[i].before]);
	fputs("],\n\"because\":[", to);
	for (size_t i = 0; i < most; i++) {
		if (i > 0)
			putc(',', to);
		out_json_text(to, diff_reason_words(&d->rows[i]));
	}
	fputs("]}", to);
}
