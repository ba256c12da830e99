/* test_samples.c - samples from the moment they are noted to the item of the
 * chunk: which chunk gets them, what is left out where there is no room, and in
 * which module they lie. SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"
#include "tracer/recorder/drain/chunk_samples.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PERIOD = 1000, TICK = 10 }; /* between samples */

static struct rate rate = { .hz = 1000000000 };
static struct cpu_watch *w;
static struct samples *s;
static struct pool_process process = { .state = SLOT_USED, .serial = 1 };
static struct pool_owner owner = { .processes = &process, .process_slots = 1 };
static struct code_maps maps;
static uint64_t words[CHUNK_MAX_WORDS];
static struct chunk chunk;
static struct chunk_items items;

/* The recorder keeps all this for as long as it lives. */
static void end(void)
{
	for (uint32_t i = 0; i < maps.map->n; i++)
		free(maps.map->range[i].path);
	free(maps.map->range);
	free(maps.map);
	free(s->at);
	free(w);
}

/* The addresses are those of this program from function on, and then one that
 * is nowhere. */
static void begin(uint32_t n, uint64_t address)
{
	if (w)
		end();
	process.pid = (uint32_t)getpid();
	w = cpu_watch_new(1, &rate);
	w->period = PERIOD;
	s = &w->slot[0].samples;
	samples_begin(s, 100);
	for (uint32_t i = 0; i < n; i++)
		samples_add(s, 100 + TICK * i, address + i);
	samples_reach(s, 100 + TICK * n);
	REQUIRE(code_maps_init(&maps, &owner) == 0);
	code_maps_want_new(&maps);
	code_maps_renew(&maps, 1000);
}

/* Make a chunk between these ticks; with a module for the addresses from
 * 0x400000 on. Returns how many samples it has, or -1: it has no item. */
static int make(uint64_t from, uint64_t to, uint32_t room)
{
	static struct chunk_build b;
	struct chunk_header *const h = (void *)words;
	struct chunk_samples got;
	uint32_t n, at;

	cb_begin(&b, 1, 1, 0, from);
	cb_module(&b, 3, "0123456789abcdefghij", "/bin/prog");
	cb_end(&b, to);
	memcpy(words, b.words, b.n * 8);
	at = CHUNK_HEADER_WORDS + h->records + h->items;
	chunk_items_read(&items, words, at);
	items.room = room;
	chunk_samples_put(w, 0, &maps, &items);
	n = (uint32_t)(items.to - words) - at;
	CHECK(n <= room);
	h->items += n;
	h->funcs = 0;
	h->total_words = at + n;
	cb_sum(words, at + n);
	if (!CHECK(decode_chunk(&chunk, words, at + n) == 0))
		return -2;
	return decode_samples(&chunk, &got) ? (int)got.n : -1;
}

static struct chunk_samples samples_of_chunk(void)
{
	struct chunk_samples got = { 0 };

	decode_samples(&chunk, &got);
	return got;
}

void test_samples_go_to_the_chunk_of_their_time(void)
{
	begin(20, 0x400100);
	/* 100 and 110 are before the chunk; 200 is the next one's. */
	CHECK_EQ(make(115, 200, 1000), 8);
	CHECK_EQ(samples_of_chunk().period, PERIOD);
	CHECK_EQ(samples_of_chunk().from, 115);
	CHECK_EQ(samples_of_chunk().to, 200);
	CHECK_EQ(samples_of_chunk().pair[0], 120);
	CHECK_EQ(samples_of_chunk().pair[1], dict_put_native(3, 0x102));
	CHECK_EQ(cpu_watch_lost(w), 2 + 10);
	CHECK_EQ(make(200, 400, 1000), 10);
	/* No later sample is known. */
	CHECK_EQ(samples_of_chunk().to, 300);
	CHECK_EQ(make(400, 500, 1000), -1);
	CHECK_EQ(cpu_watch_lost(w), 2);
}

void test_samples_without_room_are_thinned_evenly(void)
{
	begin(100, 0x400100);
	CHECK_EQ(make(100, 1100, 64), 25);
	CHECK_EQ(samples_of_chunk().period, 4 * PERIOD);
	CHECK_EQ(samples_of_chunk().pair[2], 140);
	begin(100, 0x400100);
	CHECK_EQ(make(100, 1100, 3), -1);
	CHECK_EQ(cpu_watch_lost(w), 100);
	/* More than are kept: each second one is left out. */
	begin(SAMPLES_MAX + 10, 0x400100);
	CHECK_EQ(make(100, 100 + TICK * (SAMPLES_MAX + 10), 16000),
		 SAMPLES_MAX / 2 + 5);
	CHECK_EQ(samples_of_chunk().period, 2 * PERIOD);
	CHECK_EQ(samples_of_chunk().pair[2], 100 + 2 * TICK);
}

/* After a loss only what came later is known. */
void test_samples_after_a_loss_begin_anew(void)
{
	begin(5, 0x400100);
	samples_begin(s, 150);
	samples_add(s, 145, 0x400100);
	samples_add(s, 160, 0x400100);
	samples_add(s, 160, 0x400200);
	samples_reach(s, 180);
	CHECK_EQ(make(100, 200, 1000), 1);
	CHECK_EQ(samples_of_chunk().from, 150);
	CHECK_EQ(samples_of_chunk().to, 180);
	CHECK_EQ(cpu_watch_lost(w), 5 + 2);
	/* While none are taken, nothing is known. */
	samples_stop(s, 190);
	samples_add(s, 195, 0x400100);
	samples_reach(s, 300);
	CHECK_EQ(make(200, 300, 1000), -1);
}

/* The module that the map knows has a number that the chunk's have not, and
 * lies where the loader says. */
void test_samples_name_modules_that_chunks_do_not(void)
{
	const uint64_t here = (uint64_t)(uintptr_t)make;
	struct chunk_item item = { 0 };
	struct chunk_module m = { 0 };

	begin(3, here);
	samples_add(s, 200, 16);
	samples_reach(s, 300);
	CHECK_EQ(make(100, 300, 1000), 4);
	while (decode_next_item(&chunk, &item))
		if (item.type == ITEM_MODULE)
			decode_module(&item, &m);
	const struct chunk_samples got = samples_of_chunk();

	CHECK_EQ(m.number, DICT_MAX_MODULES - 1);
	CHECK_EQ(dict_module(got.pair[1]), m.number);
	CHECK_EQ(m.bias + dict_offset(got.pair[1]), here);
	CHECK(m.path.stored > 0 && here < m.bias + m.size);
	CHECK(memmem(m.path.bytes, m.path.stored, "test_samples", 12));
	CHECK_EQ(got.pair[7], dict_put_code(16));
	/* The map does not know that address: it may be new. */
	CHECK(maps.any_wanted);
	/* There is no room for the module: its samples are left out. */
	begin(3, here);
	CHECK_EQ(make(100, 200, 8), 0);
}

/* What was mapped lately is known yet, and what another image maps is not. */
void test_samples_of_closed_libraries_are_named(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *const code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE,
				fd, 0);
	const uint64_t at = (uint64_t)(uintptr_t)code;

	REQUIRE(fd >= 0 && code != MAP_FAILED);
	begin(0, 0);
	REQUIRE(code_maps_find(&maps, 0, 1, at));
	munmap(code, page);
	code_maps_want(&maps, 0);
	code_maps_renew(&maps, 1500);
	CHECK_EQ(maps.map[0].read_at, 1500);
	CHECK(code_maps_find(&maps, 0, 1, at));
	CHECK(code_maps_find(&maps, 0, 1, (uint64_t)(uintptr_t)make));
	code_maps_want(&maps, 0);
	code_maps_renew(&maps, 3500);
	CHECK(!code_maps_find(&maps, 0, 1, at));
	/* The thread of the image has died. */
	REQUIRE(mmap(code, page, PROT_READ | PROT_EXEC, MAP_PRIVATE |
		     MAP_FIXED_NOREPLACE, fd, 0) == code);
	process.alive.__data.__lock = FUTEX_OWNER_DIED;
	code_maps_renew(&maps, 4000);
	CHECK_EQ(maps.map[0].read_at, 4000);
	CHECK(!code_maps_find(&maps, 0, 1, at));
	process.alive.__data.__lock = 0;
	code_maps_renew(&maps, 5000);
	CHECK(code_maps_find(&maps, 0, 1, at));
	munmap(code, page);
	close(fd);
}
