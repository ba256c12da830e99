/* test_budget_item.c - what the budget learns from chunks, and what it writes
 * into them: for which functions, of which times, in which modules.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/chunk_build.h"
#include "tracer/recorder/budget/budget.h"

#include <stdio.h>

enum { SLOTS = 256, ROOM = 1000 };

static _Atomic uint64_t verdicts[SLOTS];
static struct pool pool;
static struct pool_owner owner = { .pool = &pool, .verdicts = verdicts,
				   .verdict_slots = SLOTS };
static struct rate rate = { .hz = 1000000000 };
static struct budget budget;
static struct chunk_build build;
static struct chunk_items items;
static uint64_t *item;

static void end(void)
{
	struct budget_functions *const all = &budget.all;

	for (uint32_t i = 0; i < all->modules; i++)
		free(all->module[i].item);
	free(all->module);
	free(all->known);
	free(all->function);
	free(all->slot);
	free(all->spanned);
}

static void begin(void)
{
	memset((void *)verdicts, 0, sizeof(verdicts));
	CHECK_EQ(budget_init(&budget, 0.05, &owner, &rate), 0);
}

/* A chunk of a process, in which that function was called n times. */
static void make(uint32_t process, const char *function, uint64_t n,
		 uint64_t from, uint64_t to)
{
	cb_begin(&build, process, process, 0, from);
	for (uint64_t i = 0; i < n; i++)
		cb_leaf(&build, function, 1, 1);
	cb_end(&build, to);
}

static void note_chunk(void)
{
	chunk_items_read(&items, build.words, (uint32_t)build.n);
	budget_note(&budget, &items, (uint32_t)build.n);
}

/* Returns the words that it writes behind the chunk. */
static uint32_t put_chunk(void)
{
	chunk_items_read(&items, build.words, (uint32_t)build.n);
	item = items.to;
	items.room = ROOM;
	budget_put(&budget, &items);
	return (uint32_t)(items.to - item);
}

static void note(const char *function, uint64_t n, uint64_t ms)
{
	make(1, function, n, 1, 1 + ms * 1000000);
	note_chunk();
}

static uint32_t number_of(const char *function)
{
	const struct budget_functions *const all = &budget.all;
	const uint64_t offset = strtoull(function, NULL, 16);

	for (uint32_t i = 0; i < all->n; i++)
		if (all->known[i].offset == offset)
			return i;
	abort();
}

/* The DEMOTED item's words for a chunk without that function; 0: none. */
static uint32_t put(uint64_t from, uint64_t to, const uint64_t **demoted)
{
	uint32_t words, at = 0;

	make(2, "0x9900", 1, from, to);
	words = put_chunk();
	while (at < words && item_type(item[at]) != ITEM_DEMOTED)
		at += (uint32_t)item_words(item[at]);
	*demoted = item + at;
	return at < words ? (uint32_t)item_words(item[at]) : 0;
}

static void turn(const char *function, enum verdict verdict, uint64_t now)
{
	const uint32_t i = number_of(function);

	budget.all.function[i].verdict = verdict;
	budget_functions_turn(&budget.all, i, verdict, now);
	budget.changes++;
}

/* What was recorded between two demotions is all there. */
void test_budget_item_knows_each_time_of_a_demotion(void)
{
	const uint64_t *d;

	begin();
	note("0x1200", 10, 1);
	CHECK_EQ(put(50, 90, &d), 0);
	turn("0x1200", VERDICT_SKIP, 100);
	turn("0x1200", VERDICT_RECORD, 200);
	turn("0x1200", VERDICT_COUNT, 300);
	turn("0x1200", VERDICT_SKIP, 400);
	CHECK_EQ(put(50, 90, &d), 0);
	CHECK_EQ(put(210, 290, &d), 0);
	/* Opened while it was skipped: until its end. */
	REQUIRE(put(150, 250, &d) == 1 + DEMOTED_WORDS);
	CHECK_EQ(d[2] & 15, DEMOTED_SKIPPED);
	CHECK_EQ(d[3], 150);
	CHECK_EQ(d[4], 250);
	REQUIRE(put(250, 350, &d) == 1 + DEMOTED_WORDS);
	CHECK_EQ(d[2] & 15, DEMOTED_COUNTED);
	CHECK_EQ(d[3], 300);
	REQUIRE(put(350, 450, &d) == 1 + 2 * DEMOTED_WORDS);
	CHECK_EQ(d[2] & 15, DEMOTED_COUNTED);
	CHECK_EQ(d[6] & 15, DEMOTED_SKIPPED);
	CHECK_EQ(d[7], 400);
	CHECK_EQ(d[8], 450);
	end();
}

/* The module lies elsewhere in other processes: nothing says where. */
void test_budget_item_gives_modules_no_addresses(void)
{
	const uint64_t *d;

	begin();
	note("0x1200", 10, 1);
	turn("0x1200", VERDICT_SKIP, 100);
	/* A chunk that does not name the module itself. */
	cb_begin(&build, 2, 2, 0, 200);
	cb_leaf(&build, "lua", 1, 1);
	cb_end(&build, 300);
	REQUIRE(put_chunk() > 0);
	CHECK_EQ(item_type(item[0]), ITEM_MODULE);
	CHECK_EQ(item[2], MODULE_NOWHERE);
	/* The module's own number, where there is one. */
	REQUIRE(put(200, 300, &d) > 0);
	CHECK_EQ(item_type(item[0]), ITEM_DEMOTED);
	CHECK_EQ(dict_module(d[1]), 1);
	end();
}

void test_budget_knows_as_many_functions_as_there_are(void)
{
	char name[16];

	begin();
	for (uint32_t i = 0; i < 40; i++) {
		cb_begin(&build, 1, 1, i, 1);
		for (uint32_t k = 0; k < 1000; k++) {
			snprintf(name, sizeof(name), "0x%x",
				 16 * (1000 * i + k + 1));
			cb_leaf(&build, name, 1, 1);
		}
		cb_end(&build, 1000000);
		note_chunk();
	}
	CHECK_EQ(budget.all.n, 40000);
	CHECK_EQ(budget.all.refused, 0);
	for (uint32_t i = 0; i < 40000; i += 997)
		CHECK_EQ(budget_functions_find(&budget.all, 0,
					       16 * (i + 1)), i);
	/* Those for which there is no room are told. */
	budget.all.most = 40000;
	CHECK_EQ(budget_functions_find(&budget.all, 0, 8), BUDGET_NONE);
	CHECK_EQ(budget.all.refused, 1);
	end();
}

/* Those for which there is no room are told. */
void test_budget_knows_so_many_modules_and_no_more(void)
{
	uint64_t module[10] = { item_put(ITEM_MODULE, 10) };
	const struct seen_item seen = { module, 10 };
	struct module_item m;

	begin();
	module[7] = string_put(2, 2);
	memcpy(module + 9, "/m", 2);
	for (uint64_t i = 0; i < BUDGET_MODULES + 2; i++) {
		module[4] = 4 | i << 8; /* the build-id */
		CHECK(chunk_names_module(&seen, &m));
		CHECK_EQ(budget_functions_module(&budget.all, &seen, &m),
			 i < BUDGET_MODULES ? i : BUDGET_NONE);
	}
	CHECK_EQ(budget.all.modules, BUDGET_MODULES);
	CHECK_EQ(budget.all.refused, 2);
	end();
}

/* Counted calls are calls. */
void test_budget_counts_before_it_skips_what_chunks_bring(void)
{
	uint32_t i;

	begin();
	for (int k = 0; k < 60; k++)
		note("0x1200", 8000, 5);
	budget.samples = 10000;
	budget.probes = 600;
	budget_beat(&budget, 1000);
	i = number_of("0x1200");
	REQUIRE(budget.all.function[i].verdict == VERDICT_COUNT);
	CHECK_EQ(budget.counted, 1);
	CHECK_EQ(budget.skipped, 0);
	cb_begin(&build, 1, 1, 0, budget.changed_at);
	cb_func(&build, "0x1200");
	const size_t at = cb_item(&build);

	cb_item_word(&build, COUNTED_CALL);
	cb_item_word(&build, 4000000);
	cb_item_word(&build, 0);
	cb_item_end(&build, at, ITEM_COUNTED);
	cb_end(&build, budget.changed_at + 300000000);
	note_chunk();
	budget.samples = 10000;
	budget.probes = 1000;
	budget_beat(&budget, 2000);
	CHECK_EQ(budget.all.function[i].verdict, VERDICT_SKIP);
	CHECK(budget.all.function[i].rate > 1e7);
	CHECK_EQ(budget.counted, 0);
	CHECK_EQ(budget.skipped, 1);
	end();
}

/* So many chunks, each with 7,500 calls in so many ms. Is the function
 * demoted? */
static bool is_demoted(double call_ns, int chunks, uint64_t ms)
{
	uint32_t changes;

	begin();
	budget.call_ns = call_ns;
	for (int i = 0; i < chunks; i++)
		note("0x1200", 7500, ms);
	budget_beat(&budget, 1000);
	changes = budget.changes;
	end();
	return changes > 0;
}

/* Without samples, a call costs what was measured, if anything was. Calls take
 * a tenth of the time if each costs 40 ns. */
void test_budget_item_of_calls_that_cost_less_takes_more(void)
{
	CHECK(is_demoted(0, 100, 3));
	CHECK(is_demoted(40, 100, 3));
	CHECK(!is_demoted(20, 100, 3));
}

/* Within 40 ms, if recording should take more than three times the limit: 0.18
 * of the time, at 24 ns. Not by a cost that was not measured, nor where samples
 * say something else. */
void test_budget_item_sees_soon_what_is_far_above_the_limit(void)
{
	CHECK(is_demoted(24, 40, 1));
	CHECK(!is_demoted(24, 10, 1));
	CHECK(!is_demoted(18, 40, 1));
	CHECK(!is_demoted(0, 40, 1));
	begin();
	budget.call_ns = 24;
	for (int i = 0; i < 40; i++)
		note("0x1200", 7500, 1);
	budget.samples = 10000;
	budget.probes = 400;
	budget_beat(&budget, 1000);
	CHECK_EQ(budget.changes, 0);
	end();
}
