/* verdict.h - what is done with the calls of a function: a table in the pool
 * that the recorder writes and hooks read, and how a function is found there.
 * Knows nothing of patterns, nor of how functions are named.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* RECORD, which is also what holds for a function that is not in the table.
 * COUNT: its calls are counted where they are made, no records are written;
 * what it calls stands under its caller. SKIP: nothing is written. A function
 * that is open, or that begins a coroutine, may be recorded all the same:
 * readers leave it out, or count it. */
enum verdict { VERDICT_RECORD = 0, VERDICT_COUNT = 1, VERDICT_SKIP = 2 };

/* The table: a power of two of words, each 0 or `id:62 | verdict:2`. A function
 * stands at its id's place or at one of those that follow. An entry stays where
 * it is for ever; its verdict may change. Hooks look when a chunk
 * meets the function first, so that a thread follows a change with its next
 * chunk. */
enum {
	VERDICT_SLOTS = 1 << 17,
	VERDICT_PROBES = 64,
	VERDICT_BITS = 3,          /* mask of the verdict */
};

static inline uint64_t verdict_mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 32;
}

/* 0 stands for an empty place. */
static inline uint64_t verdict_id(uint64_t hash)
{
	const uint64_t id = verdict_mix(hash, hash >> 29) &
			    ~(uint64_t)VERDICT_BITS;

	return id != 0 ? id : VERDICT_BITS + 1;
}

/* The id of a native function. module: XXH64 (seed 0) of the module's build-id,
 * or of its path if it has none. offset: as in a dictionary's word. */
static inline uint64_t verdict_of_native(uint64_t module, uint64_t offset)
{
	return verdict_id(verdict_mix(module, offset));
}

/* The id of a Lua function, from its item: its source's hash, the word of its
 * lines, and its ordinal. */
static inline uint64_t verdict_of_lua(uint64_t source, uint64_t lines,
				      uint64_t ordinal)
{
	return verdict_id(verdict_mix(verdict_mix(source, lines), ordinal));
}

/* In place of a function's id: of a Lua state, by its serial; with COUNT it is
 * sampled, and none of its calls is counted. */
static inline uint64_t verdict_of_vm(uint32_t serial)
{
	return verdict_id(serial ^ UINT64_C(0x564d5f4c5541));
}

/* In place of a function's id: it is in the table if recording begins with the
 * function (--start-on). And of its module or source, by the same hash: it is
 * there once all its functions are. */
static inline uint64_t verdict_start(uint64_t id)
{
	return verdict_id(id ^ 0x5354415254);
}

static inline uint64_t verdict_start_all(uint64_t hash)
{
	return verdict_id(hash ^ 0x414c4c);
}

/* slots: a power of two, not 0. Any words may be in the table. known: whether
 * the function is in it: then its calls may have had another verdict. What was
 * set before this is seen after it. */
static inline enum verdict verdict_find(const _Atomic uint64_t *table,
					uint32_t slots, uint64_t id,
					bool *known)
{
	uint32_t at = (uint32_t)(id >> 32);

	*known = false;
	for (int i = 0; i < VERDICT_PROBES; i++, at++) {
		const uint64_t word = atomic_load_explicit(
			&table[at & (slots - 1)], memory_order_acquire);

		*known = (word & ~(uint64_t)VERDICT_BITS) == id;
		if (*known)
			return (enum verdict)(word & VERDICT_BITS);
		if (word == 0)
			break;
	}
	return VERDICT_RECORD;
}

/* By the recorder alone. False: there is no room for the function. */
static inline bool verdict_set(_Atomic uint64_t *table, uint32_t slots,
			       uint64_t id, enum verdict verdict)
{
	uint32_t at = (uint32_t)(id >> 32);

	for (int i = 0; i < VERDICT_PROBES; i++, at++) {
		_Atomic uint64_t *const place = &table[at & (slots - 1)];
		const uint64_t word = atomic_load_explicit(place,
						memory_order_relaxed);

		if (word != 0 && (word & ~(uint64_t)VERDICT_BITS) != id)
			continue;
		atomic_store_explicit(place, id | verdict,
				      memory_order_release);
		return true;
	}
	return false;
}
