/* test_census.c - processes, threads and Lua states of the chunks that were
 * sent.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/chunk_build.h"
#include "tracer/recorder/trace/census.h"

#include <string.h>

static struct chunk_build b;
static struct chunk_items items;

static void note(struct census *c, uint32_t process, uint32_t thread,
		 uint64_t vm)
{
	size_t at;

	cb_begin(&b, process, thread, 0, 100);
	at = cb_item(&b);
	for (int i = 0; i < 3; i++)
		cb_item_word(&b, vm);
	cb_item_end(&b, at, vm > 0 ? ITEM_VM : ITEM_NOTHING);
	cb_end(&b, 200);
	chunk_items_read(&items, b.words, (uint32_t)b.n);
	census_note(c, &items);
}

void test_census_counts_each_once(void)
{
	static struct census c; /* never freed, as in the recorder */

	census_begin(&c);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 1000; i++)
			note(&c, 1 + i % 7, 1 + i, i % 3);
	CHECK_EQ(c.set[CENSUS_PROCESSES].n, 7);
	CHECK_EQ(c.set[CENSUS_THREADS].n, 1000);
	/* The states 1 and 2 in each process. */
	CHECK_EQ(c.set[CENSUS_VMS].n, 14);
}

void test_census_mistrusts_items(void)
{
	static struct census c; /* never freed, as in the recorder */
	uint64_t words[CHUNK_HEADER_WORDS + 4] = { 0 };
	struct chunk_header *const h = (void *)words;

	census_begin(&c);
	h->process = h->thread = 1;
	h->items = 4;
	words[CHUNK_HEADER_WORDS] = item_put(ITEM_NOTHING, 2);
	words[CHUNK_HEADER_WORDS + 2] = item_put(ITEM_VM, 1u << 30);
	for (int i = 0; i < 2; i++) {
		chunk_items_read(&items, words, CHUNK_HEADER_WORDS + 4);
		CHECK_EQ(items.n, 1);
		census_note(&c, &items);
		words[CHUNK_HEADER_WORDS + 2] = 0;
	}
	CHECK_EQ(c.set[CENSUS_THREADS].n, 1);
	CHECK_EQ(c.set[CENSUS_VMS].n, 0);
}
