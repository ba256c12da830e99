/* code_maps.h - which code lies where in the recorded processes, as /proc and
 * the files say: for addresses that no chunk names.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/pool_owner.h"

/* A part of a file that can be executed. The fields from bias on are valid once
 * code_maps_find has returned it. */
struct code_range {
	uint64_t start, end;       /* addresses */
	uint64_t offset;           /* of start in the file */
	uint64_t seen_at;          /* ms: it was mapped then */
	char *path;                /* NULL: in no file */
	uint64_t bias, size;       /* as in ITEM_MODULE */
	struct elf_build build;
	bool was_read;
};

struct code_map {
	uint32_t process;          /* serial; 0: not read */
	uint32_t pid;
	uint64_t read_at;          /* ms */
	bool is_wanted;            /* it is to be read */
	struct code_range *range;  /* rising */
	uint32_t n;
};

/* Read /proc for what map->pid maps now, behind what is in the map. */
void code_map_read(struct code_map *map);
/* Put a range in, in place of what lies there; its path is the map's then.
 * False: there is no room, or no memory. */
bool code_map_put(struct code_map *map, const struct code_range *r);
/* The range that holds the address, with what its file says. NULL: none is
 * known. */
const struct code_range *code_map_find(struct code_map *map, uint64_t address);
/* Copy the ranges to an empty map. */
void code_map_copy(struct code_map *to, const struct code_map *from);
/* Make it empty. */
void code_map_free(struct code_map *map);

/* By process slot. */
struct code_maps {
	struct pool_owner *owner;
	struct code_map *map;
	bool any_wanted;
};

/* Returns 0, or negative if there is no memory. What is made here lives as long
 * as the recorder. */
int code_maps_init(struct code_maps *m, struct pool_owner *owner);

/* The map of the process in a slot is to be read, because it has changed. */
void code_maps_want(struct code_maps *m, uint32_t slot);
/* The maps of all processes that none was read of are to be read. */
void code_maps_want_new(struct code_maps *m);
/* Read the maps that are wanted, but none again within 20 ms. What is mapped no
 * more is known for 2 s yet, unless other code is there. now: ms. May lend the
 * turn. */
void code_maps_renew(struct code_maps *m, uint64_t now);

/* The range that holds the address in the process of that slot and serial.
 * NULL: in no file, or not known; then the map is wanted. Valid until the next
 * code_maps_renew. */
const struct code_range *code_maps_find(struct code_maps *m, uint32_t slot,
					uint32_t process, uint64_t address);
