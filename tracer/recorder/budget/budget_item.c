/* budget_item.c - which calls a chunk may not have, or counts, as its own item
 * says. Modules that only this item names get a number, but no addresses: the
 * chunk's process may have them elsewhere, or not at all.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/budget/budget.h"
#include "tracer/recorder/names/chunk_names.h"

#include <assert.h>
#include <string.h>

/* The modules that it has. */
struct numbers {
	struct budget *b;
	uint32_t number[BUDGET_MODULES]; /* by module; BUDGET_NONE */
	uint64_t used[DICT_MAX_MODULES / 64];
};

/* A chunk_item_fn. */
static void note_number(void *ctx, const struct chunk_header *h,
			const uint64_t *item, uint64_t words)
{
	struct numbers *const n = ctx;
	uint32_t module;

	(void)h;
	if (item_type(*item) != ITEM_MODULE || words < 2 ||
	    item[1] >= DICT_MAX_MODULES)
		return;
	n->used[item[1] / 64] |= UINT64_C(1) << item[1] % 64;
	module = budget_functions_module(&n->b->all, item, words);
	if (module != BUDGET_NONE)
		n->number[module] = (uint32_t)item[1];
}

static void note_numbers(struct numbers *n, struct budget *b,
			 const uint64_t *chunk)
{
	const struct chunk_header *const h = (const void *)chunk;

	n->b = b;
	memset(n->number, 0xff, sizeof(n->number));
	memset(n->used, 0, sizeof(n->used));
	chunk_names_each(chunk, CHUNK_HEADER_WORDS + h->records + h->items,
			 note_number, n);
}

/* Where its module has no number in the chunk, it gets one. Returns the words
 * that were written. */
static uint32_t put_module(struct numbers *n, uint32_t module, uint64_t *to,
			   uint32_t room)
{
	const uint64_t *const item = n->b->all.module[module].item;
	const uint32_t words = (uint32_t)item_words(*item);
	uint32_t number = DICT_MAX_MODULES;

	while (number > 0 && n->used[(number - 1) / 64] >>
	       (number - 1) % 64 & 1)
		number--;
	if (n->number[module] != BUDGET_NONE || number == 0 || words > room)
		return 0;
	memcpy(to, item, words * 8);
	to[1] = --number;
	n->number[module] = number;
	n->used[number / 64] |= UINT64_C(1) << number % 64;
	return words;
}

/* A span that says something of the chunk's calls, with that verdict. */
static const struct budget_span *span_of(const struct budget_known *k,
					 const struct chunk_header *h,
					 enum verdict verdict)
{
	return budget_known_span(k, verdict, h->tick_begin, h->tick_end);
}

static bool is_touched(const struct budget_known *k,
		       const struct chunk_header *h)
{
	return span_of(k, h, VERDICT_COUNT) || span_of(k, h, VERDICT_SKIP);
}

static void put_words(uint64_t *to, enum demoted kind, uint64_t from,
		      uint64_t until)
{
	to[1] |= kind;
	to[2] = from;
	to[3] = until;
}

/* What a chunk once leaves out it leaves out until its end. */
static void put_span(const struct chunk_header *h,
		     const struct budget_span *span,
		     const struct budget_window *w, uint64_t *to)
{
	const bool is_opened_later = span->to <= h->pair_tick;
	const uint64_t end = is_opened_later ? span->to : h->tick_end;

	if (span->verdict == VERDICT_SKIP && w && span->from <= w->from)
		put_words(to, DEMOTED_WINDOW, w->from,
			  w->to < h->tick_end ? w->to : h->tick_end);
	else
		put_words(to, span->verdict == VERDICT_SKIP ? DEMOTED_SKIPPED :
			  DEMOTED_COUNTED, span->from < h->tick_begin ?
			  h->tick_begin : span->from, end);
}

/* DEMOTED_WORDS for each verdict that the function had. Returns the words; to
 * may be NULL. */
static uint32_t put_function(const struct budget *b, uint32_t i,
			     uint32_t number, const struct chunk_header *h,
			     uint64_t *to)
{
	const struct budget_known *const k = &b->all.known[i];
	const struct budget_function *const f = &b->all.function[i];
	uint32_t words = 0;

	for (int v = VERDICT_COUNT; v <= VERDICT_SKIP; v++) {
		const struct budget_span *const span =
			span_of(k, h, (enum verdict)v);

		if (!span)
			continue;
		if (to) {
			to[words] = dict_put_native(number, k->offset);
			to[words + 1] = demoted_put((enum demoted)0,
						    f->rate, f->ns);
			put_span(h, span, budget_window_of(b, h), to + words);
		}
		words += DEMOTED_WORDS;
	}
	return words;
}

uint32_t budget_put(struct budget *b, const uint64_t *chunk, uint64_t *to,
		    uint32_t room)
{
	static struct numbers n;
	const struct chunk_header *const h = (const void *)chunk;
	const struct budget_functions *const all = &b->all;
	uint32_t words = 0, at, size = 1;

	if (b->changes == 0)
		return 0;
	note_numbers(&n, b, chunk);
	for (uint32_t k = 0; k < all->spanned_n; k++) {
		const uint32_t i = all->spanned[k];
		const uint32_t module = all->known[i].module;

		if (!is_touched(&all->known[i], h))
			continue;
		words += put_module(&n, module, to + words, room - words);
		if (n.number[module] != BUDGET_NONE)
			size += put_function(b, i, 0, h, NULL);
	}
	if (size == 1 || size > room - words) {
		b->untold += size > 1;
		return words;
	}
	at = words;
	to[at++] = item_put(ITEM_DEMOTED, size);
	for (uint32_t k = 0; k < all->spanned_n; k++) {
		const uint32_t i = all->spanned[k];
		const uint32_t number = n.number[all->known[i].module];

		if (number != BUDGET_NONE)
			at += put_function(b, i, number, h, to + at);
	}
	assert(at == words + size);
	return at;
}
