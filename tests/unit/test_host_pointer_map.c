/* test_host_pointer_map.c - the map that threads add to without a lock.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/host/base/pointer_map.h"

#include <pthread.h>

enum { MANY = 20000, THREADS = 4 };

static uint64_t values[MANY];

static bool is(const void *entry, const void *key)
{
	return *(const uint64_t *)entry == *(const uint64_t *)key;
}

static void sum(void *entry, const void *context)
{
	*(uint64_t *)(uintptr_t)context += *(const uint64_t *)entry;
}

void test_pointer_map_finds_what_was_added(void)
{
	struct pointer_map m = { .table = { NULL } };
	uint64_t total = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t key = i;

		values[i] = i;
		CHECK(!pointer_map_find(&m, i, is, &key));
		CHECK(pointer_map_add(&m, i, is, &key, &values[i]) ==
		      &values[i]);
	}
	for (uint64_t i = 0; i < MANY; i++)
		CHECK(pointer_map_find(&m, i, is, &i) == &values[i]);
	pointer_map_each(&m, sum, &total);
	CHECK_EQ(total, (uint64_t)MANY * (MANY - 1) / 2);
}

/* More entries of one hash than one table has places for. */
void test_pointer_map_keeps_entries_of_one_hash(void)
{
	struct pointer_map m = { .table = { NULL } };

	for (uint64_t i = 0; i < 100; i++) {
		values[i] = i;
		pointer_map_add(&m, 7, is, &i, &values[i]);
	}
	for (uint64_t i = 0; i < 100; i++)
		CHECK(pointer_map_find(&m, 7, is, &i) == &values[i]);
}

static struct pointer_map shared;

static void *add_all(void *first)
{
	uint64_t *const mine = first;
	size_t kept = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		mine[i] = i;
		kept += pointer_map_add(&shared, i, is, &i, &mine[i]) ==
			&mine[i];
	}
	return (void *)kept;
}

/* Each key gets one entry, whoever adds it. */
void test_pointer_map_has_one_entry_a_key_for_all_threads(void)
{
	static uint64_t own[THREADS][MANY];
	pthread_t t[THREADS];
	size_t kept = 0;

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, add_all, own[i]) == 0);
	for (int i = 0; i < THREADS; i++) {
		void *n;

		CHECK(pthread_join(t[i], &n) == 0);
		kept += (size_t)n;
	}
	CHECK_EQ(kept, MANY);
}
