/* test_places.c - which call a sample belongs to: the innermost one that is
 * recorded, at its very tick; which threads and times count.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/places.h"
#include "tests/unit/told.h"

#include <inttypes.h>

/* outer from 10 to 40, in it inner from 20 to 30; nothing from 40 to 50. A
 * sample at each of these ticks, and one on the last tick. */
static void give_thread(uint32_t n, uint32_t module)
{
	static const uint64_t at[] = { 9, 10, 19, 20, 29, 30, 39, 40, 50 };
	size_t item;

	cb_begin(&b, 1, n, 0, 0);
	cb_module(&b, module, "0123456789abcdefghij", "/bin/prog");
	item = cb_item(&b);
	cb_item_word(&b, 250000);
	cb_item_word(&b, 0);
	cb_item_word(&b, 50);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		cb_item_word(&b, at[i]);
		cb_item_word(&b, i == 3 ? dict_put_code(0) :
			     dict_put_native(module, 0x100 + n));
	}
	cb_item_end(&b, item, ITEM_SAMPLES);
	cb_enter(&b, "outer", 10);
	cb_leaf(&b, "inner", 10, 10);
	cb_leave(&b, "outer", 10);
	give(50);
}

static void tell(struct session *s, const struct places *found)
{
	char text[200];

	snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " ns",
		 found->samples, found->period);
	add(text);
	for (size_t i = 0; i < found->count; i++) {
		const struct place *const p = &found->places[i];

		snprintf(text, sizeof(text), "; %s %s+%" PRIx64 " %" PRIu64,
			 func_get(s->funcs, p->func)->source,
			 p->module == 0 ? "" :
			 func_elf(s->funcs, p->module)->path, p->offset,
			 p->samples);
		add(text);
	}
}

/* Of two threads, or of the first one alone. */
static const char *found(bool both, ticks from, ticks to)
{
	struct session *const s = session_new(0);
	uint8_t funcs[10], threads[] = { 1, both };
	const struct places_options options = {
		.funcs = s->funcs, .wanted = funcs,
		.wanted_count = sizeof(funcs), .threads = threads,
		.thread_count = 2, .from = from, .to = to };
	struct places_watch *const w = places_new(&options);

	told[0] = '\0';
	memset(funcs, 1, sizeof(funcs));
	funcs[0] = 0;
	replay = replay_new(s, &places_sink, w);
	for (uint32_t n = 1; n <= 2; n++)
		give_thread(n, n + 5);
	replay_finish(replay);
	tell(s, places_finish(w));
	replay_free(replay);
	places_free(w);
	session_free(s);
	return told;
}

void test_places_are_of_the_innermost_call(void)
{
	CHECK_STR(found(false, 0, 0), "9 of 250000 ns; "
		  "=outer /bin/prog+101 4; =inner +0 1; "
		  "=inner /bin/prog+101 1");
	CHECK_STR(found(true, 0, 0), "18 of 250000 ns; "
		  "=outer /bin/prog+101 4; =outer /bin/prog+102 4; "
		  "=inner +0 2; =inner /bin/prog+101 1; "
		  "=inner /bin/prog+102 1");
}

void test_places_are_inside_the_range(void)
{
	CHECK_STR(found(false, 19, 30), "3 of 250000 ns; "
		  "=outer /bin/prog+101 1; =inner +0 1; "
		  "=inner /bin/prog+101 1");
}
