/* budget_item.c - which calls a chunk may not have, or counts, as its own item
 * says. Modules that only this item names get a number, but no addresses: the
 * chunk's process may have them elsewhere, or not at all.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/budget/budget.h"

#include <assert.h>
#include <string.h>

/* The number that each module has in the chunk; BUDGET_NONE. */
struct numbers { uint32_t of[BUDGET_MODULES]; };

static void note_numbers(struct numbers *n, struct budget *b,
			 const struct chunk_items *items)
{
	struct module_item m;
	uint32_t module;

	memset(n, 0xff, sizeof(*n));
	for (uint32_t i = 0; i < items->n; i++) {
		if (!chunk_names_module(&items->item[i], &m))
			continue;
		module = budget_functions_module(&b->all, &items->item[i], &m);
		if (module != BUDGET_NONE)
			n->of[module] = m.number;
	}
}

/* Where its module has no number in the chunk, it gets one. */
static void put_module(struct numbers *n, const uint64_t *module_item,
		       uint32_t module, struct chunk_items *items)
{
	const uint32_t words = (uint32_t)item_words(*module_item);
	const uint32_t number = chunk_items_number(items);

	if (n->of[module] != BUDGET_NONE || number == DICT_MAX_MODULES ||
	    words > items->room)
		return;
	memcpy(items->to, module_item, words * 8);
	items->to[1] = n->of[module] = number;
	chunk_items_add(items, words);
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

void budget_put(struct budget *b, struct chunk_items *items)
{
	static struct numbers n;
	const struct chunk_header *const h = items->h;
	const struct budget_functions *const all = &b->all;
	uint32_t size = 1, at = 1;

	if (b->changes == 0)
		return;
	note_numbers(&n, b, items);
	for (uint32_t k = 0; k < all->spanned_n; k++) {
		const uint32_t i = all->spanned[k];
		const uint32_t module = all->known[i].module;

		if (!is_touched(&all->known[i], h))
			continue;
		put_module(&n, all->module[module].item, module, items);
		if (n.of[module] != BUDGET_NONE)
			size += put_function(b, i, 0, h, NULL);
	}
	if (size == 1 || size > items->room) {
		b->untold += size > 1;
		return;
	}
	items->to[0] = item_put(ITEM_DEMOTED, size);
	for (uint32_t k = 0; k < all->spanned_n; k++) {
		const uint32_t i = all->spanned[k];
		const uint32_t number = n.of[all->known[i].module];

		if (number != BUDGET_NONE)
			at += put_function(b, i, number, h, items->to + at);
	}
	assert(at == size);
	chunk_items_add(items, size);
}
