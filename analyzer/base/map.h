/* map.h - a hash map from two 64-bit keys to a 32-bit number.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_BASE_MAP_H
#define WEFT_ANALYZER_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map;
struct map *map_new(void);
void map_free(struct map *);

/* 0 when the key is absent: store numbers from 1 on. */
uint32_t map_find(const struct map *, uint64_t a, uint64_t b);
/* Where the key's number stands, 0 if it is new; valid until the next call. */
uint32_t *map_put(struct map *, uint64_t a, uint64_t b);
void map_remove(struct map *, uint64_t a, uint64_t b);
void map_clear(struct map *);
size_t map_count(const struct map *);

#endif
