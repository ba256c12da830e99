/* test_in_carve.c - chunks are found wherever they stand in a file, whole ones
 * only, each once.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/held.h"
#include "analyzer/in/in_carve.h"
#include "analyzer/in/in_find.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"
#include "tracer/recorder/trace/packer.h"

static unsigned char bytes[4 << 20];
static size_t used;
static enum packing form; /* 0: version 1 of the format */

static void junk(size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[used++] = (unsigned char)(i * 7 + 3);
}

/* Returns where the chunk begins. */
static size_t add(uint64_t number, int calls, uint32_t flags)
{
	static uint64_t room[PACKED_MAX_WORDS];
	static struct packer packer;
	static struct chunk_build b;
	const size_t at = used;

	cb_begin(&b, 1, 1, number, 1000 + number * 100000);
	for (int i = 0; i < calls; i++)
		cb_leaf(&b, "f", 1, 1);
	b.header.flags = flags;
	cb_end(&b, 1000 + number * 100000 + 100000);
	if (form == 0) {
		memcpy(bytes + used, b.words, b.n * 8);
		used += b.n * 8;
	} else {
		packer_put(&packer, room, b.words, (uint32_t)b.n, form);
		memcpy(bytes + used, room, strlen((const char *)room) + 1);
		used += strlen((const char *)room) + 1;
	}
	return at;
}

static struct in_carve *carve(void)
{
	struct in_carve *const c = in_carve_new();

	/* The path's buffer is reused by the next test_file. */
	CHECK_EQ(in_carve_file(c, test_file(bytes, used)), 0);
	in_carve_sort(c);
	return c;
}

static void finds_unaligned_chunks(void)
{
	const struct chunk *chunk;
	struct in_carve *c;

	junk(13);
	add(1, 5, 0);
	junk(1);
	add(0, 2, 0);
	junk(100);
	c = carve();
	CHECK_EQ(c->count, 2);
	CHECK_EQ(c->bad, 0);
	CHECK_EQ(c->places[0].key.number, 0);
	chunk = in_carve_load(c, 1);
	REQUIRE(chunk);
	CHECK_EQ(chunk->header.records, 5);
	held_drop(chunk);
	in_carve_free(c);
}

static void refuses_what_is_damaged(void)
{
	struct in_carve *c;
	size_t at;

	at = add(0, 5, 0);
	bytes[at + 120] ^= 1;
	add(1, 5, 0);
	at = add(2, 5, 0);
	used = at + 130; /* cut */
	c = carve();
	CHECK_EQ(c->count, 1);
	CHECK_EQ(c->bad, 2);
	CHECK_EQ(c->places[0].key.number, 1);
	in_carve_free(c);
}

static void keeps_the_longest(void)
{
	struct in_carve *c;

	add(0, 2, CHUNK_PARTIAL);
	add(0, 9, 0);
	add(0, 4, CHUNK_PARTIAL);
	add(0, 9, 0);
	c = carve();
	CHECK_EQ(c->count, 1);
	CHECK_EQ(c->duplicates, 3);
	CHECK_EQ(c->places[0].partial, 0);
	in_carve_free(c);
}

/* Counted calls can make what was taken too early longer. */
static void prefers_the_complete_one(void)
{
	struct in_carve *c;

	add(0, 9, CHUNK_PARTIAL);
	add(0, 4, 0);
	add(0, 12, CHUNK_PARTIAL);
	c = carve();
	CHECK_EQ(c->count, 1);
	CHECK_EQ(c->duplicates, 2);
	CHECK_EQ(c->places[0].partial, 0);
	in_carve_free(c);
}

static void a_damaged_copy_of_a_whole_one_is_no_loss(void)
{
	struct in_carve *c;
	size_t at;

	add(0, 9, 0);
	at = add(0, 9, 0);
	bytes[at + 120] ^= 1;
	c = carve();
	CHECK_EQ(c->count, 1);
	CHECK_EQ(c->bad, 0);
	in_carve_free(c);
}

static void finds_chunks_over_window_borders(void)
{
	struct in_carve *c;
	uint64_t number = 0;

	while (used < sizeof(bytes) - (200 << 10)) {
		add(number++, 7000, 0);
		junk(number % 9);
	}
	c = carve();
	CHECK_EQ(c->count, number);
	CHECK_EQ(c->bad, 0);
	for (size_t i = 0; i < c->count; i++)
		CHECK_EQ(c->places[i].key.number, i);
	in_carve_free(c);
}

void test_in_carve_survives_nothing_but_magics(void)
{
	const uint64_t magic = CHUNK_MAGIC;
	struct in_carve *c;

	for (int i = 0; i < 1000; i++) {
		memcpy(bytes + used, i % 2 ? (const char *)&magic : "WEFT2 n ",
		       8);
		used += 8;
	}
	c = carve();
	CHECK_EQ(c->count, 0);
	in_carve_free(c);
}

/* Counts what is broken where a head is cut off after so many bytes, by
 * another packet of CTF or by the end of the file. */
static uint64_t count_cut(size_t n, bool has_padding, bool by_end)
{
	struct in_carve *const c = in_carve_new();
	const uint32_t packet = IN_PACKET_MAGIC;

	used = add(0, 5, 0) + n;
	memcpy(bytes + used, &packet, sizeof(packet));
	used += by_end ? 0 : sizeof(packet);
	if (!by_end)
		add(1, 5, 0);
	c->has_padding = has_padding;
	CHECK_EQ(in_carve_file(c, test_file(bytes, used)), 0);
	in_carve_sort(c);
	CHECK_EQ(c->count, !by_end);
	const uint64_t bad = c->bad;

	in_carve_free(c);
	return bad;
}

void test_in_carve_finds_no_damage_in_what_packets_leave_over(void)
{
	form = PACKING_LZ4;
	for (size_t n = 8; n < PACKED_HEAD; n++) {
		used = 0;
		CHECK_EQ(count_cut(n, true, false), 0);
		used = 0;
		CHECK_EQ(count_cut(n, true, true), 0);
		used = 0;
		CHECK_EQ(count_cut(n, false, false), 1);
		used = 0;
		CHECK_EQ(count_cut(n, false, true), 1);
	}
}

/* Each in version 1 of the format, and packed in each way. */
#define IN_FORMS(name)                                                         \
	void test_in_carve_##name(void)                                        \
	{                                                                      \
		static const char forms[] = { 0, PACKING_NONE, PACKING_LZ4,    \
					      PACKING_ZSTD };                  \
		for (size_t i = 0; i < sizeof(forms); i++) {                   \
			used = 0;                                              \
			form = (enum packing)forms[i];                         \
			name();                                                \
		}                                                              \
	}
IN_FORMS(finds_unaligned_chunks)
IN_FORMS(refuses_what_is_damaged)
IN_FORMS(keeps_the_longest)
IN_FORMS(prefers_the_complete_one)
IN_FORMS(a_damaged_copy_of_a_whole_one_is_no_loss)
IN_FORMS(finds_chunks_over_window_borders)
