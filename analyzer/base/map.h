/* map.h - a hash map from a key of two 64-bit numbers to a 32-bit number.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map;
struct map *map_new(void);
void map_free(struct map *);                 /* NULL is allowed */

/* The key's number; 0 if the key is absent, so store numbers from 1 on. */
uint32_t map_find(const struct map *, uint64_t a, uint64_t b);
/* Where the key's number is stored; the number is 0 if the key is new. Valid
 * until the map changes. */
uint32_t *map_put(struct map *, uint64_t a, uint64_t b);
/* Does nothing if the key is absent. */
void map_remove(struct map *, uint64_t a, uint64_t b);
/* Remove all keys; the room is kept. */
void map_clear(struct map *);
size_t map_count(const struct map *);
