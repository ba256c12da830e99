/* code_maps.c - reads /proc/PID/maps, and from the ELF file behind a range
 * where the file wants to be. A file is read when code in it is first asked
 * for.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/code_maps.h"
#include "tracer/recorder/base/turn.h"
#include "tracer/recorder/base/proc.h"
#include "tracer/recorder/names/chunk_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RANGES_MAX = 4096,         /* of a process: more are left out */
	AGAIN_MS = 20,
	KEPT_MS = 2000,            /* longer than a chunk is filled */
	PATH_BYTES = 4096,
};

int code_maps_init(struct code_maps *m, struct pool_owner *owner)
{
	m->owner = owner;
	m->any_wanted = false;
	m->map = calloc(owner->process_slots, sizeof(*m->map));
	return m->map ? 0 : -1;
}

void code_maps_want(struct code_maps *m, uint32_t slot)
{
	if (slot >= m->owner->process_slots)
		return;
	m->map[slot].is_wanted = true;
	m->any_wanted = true;
}

void code_maps_want_new(struct code_maps *m)
{
	for (uint32_t i = 0; i < m->owner->process_slots; i++) {
		const struct pool_process *const p = &m->owner->processes[i];

		if (atomic_load(&p->state) == SLOT_USED &&
		    p->serial != m->map[i].process)
			code_maps_want(m, i);
	}
}

/* ---- reading /proc ---- */

void code_map_free(struct code_map *map)
{
	for (uint32_t i = 0; i < map->n; i++)
		free(map->range[i].path);
	free(map->range);
	map->range = NULL;
	map->n = 0;
}

/* The path is the map's then. False: there is no room. */
static bool add_range(struct code_map *map, const struct code_range *r)
{
	if (map->n == RANGES_MAX)
		return false;
	if (map->n % 64 == 0) {
		void *const grown = realloc(map->range, (map->n + 64) *
					    sizeof(*map->range));

		if (!grown)
			return false;
		map->range = grown;
	}
	map->range[map->n++] = *r;
	return true;
}

void code_map_read(struct code_map *map)
{
	struct proc_maps m;

	for (proc_maps_open(&m, (pid_t)map->pid); proc_maps_next(&m); ) {
		/* What is no path is in brackets: [vdso]. */
		const struct code_range r = {
			.start = m.start, .end = m.end, .offset = m.offset,
			.seen_at = map->read_at,
			.path = m.can_run && m.path[0] == '/' ?
				strdup(m.path) : NULL };

		if (m.can_run && !add_range(map, &r))
			free(r.path);
	}
}

/* Whether the process is still what registered itself there: the kernel marks
 * the mutexes of all its threads before it gives it another image. */
static bool is_same_image(const struct pool_owner *o, uint32_t slot,
			  uint32_t process)
{
	const struct pool_process *const p = &o->processes[slot];

	if (p->serial != process)
		return false;
	if (!pool_mutex_died(&p->alive))
		return true;
	for (uint32_t i = 0; i < o->thread_slots; i++)
		if (o->threads[i].process == process &&
		    pool_mutex_held(&o->threads[i].alive))
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const uint64_t x = ((const struct code_range *)a)->start;
	const uint64_t y = ((const struct code_range *)b)->start;

	return x < y ? -1 : x > y;
}

/* A library may have been closed since it was sampled: chunks come later than
 * the samples in them. */
static void keep_old(struct code_map *fresh, struct code_map *old)
{
	const uint32_t n = fresh->n;
	uint32_t k = 0;

	for (uint32_t i = 0; i < old->n; i++) {
		struct code_range *const r = &old->range[i];

		while (k < n && fresh->range[k].end <= r->start)
			k++;
		if (fresh->read_at - r->seen_at >= KEPT_MS ||
		    (k < n && fresh->range[k].start < r->end))
			continue;
		if (add_range(fresh, r))
			r->path = NULL;
	}
	if (fresh->n > n)
		qsort(fresh->range, fresh->n, sizeof(*fresh->range), by_start);
}

static void renew(struct code_maps *m, uint32_t slot, uint64_t now)
{
	const struct pool_process *const p = &m->owner->processes[slot];
	struct code_map *const known = &m->map[slot];
	struct code_map fresh = { .process = p->serial, .pid = p->pid,
				  .read_at = now };

	known->is_wanted = false;
	turn_lend();
	code_map_read(&fresh);
	turn_take();
	if (!is_same_image(m->owner, slot, fresh.process))
		code_map_free(&fresh);
	/* The process may be gone: what was known of it still holds. */
	if (fresh.n == 0 && known->process == fresh.process) {
		known->read_at = now;
		return;
	}
	if (known->process == fresh.process)
		keep_old(&fresh, known);
	/* It may be wanted again meanwhile. */
	fresh.is_wanted = known->is_wanted;
	code_map_free(known);
	*known = fresh;
}

void code_maps_renew(struct code_maps *m, uint64_t now)
{
	if (!m->any_wanted)
		return;
	m->any_wanted = false;
	for (uint32_t i = 0; i < m->owner->process_slots; i++) {
		const struct code_map *const map = &m->map[i];

		if (!map->is_wanted)
			continue;
		if (map->process == m->owner->processes[i].serial &&
		    now - map->read_at < AGAIN_MS)
			m->any_wanted = true;
		else
			renew(m, i, now);
	}
}

/* ---- finding ---- */

static int open_file(const struct code_map *map, const struct code_range *r)
{
	char *const path = malloc(PATH_BYTES + 64);
	int fd = -1;

	for (int i = 0; path && i < CHUNK_NAMES_PATHS && fd < 0; i++) {
		chunk_names_path(map->pid, r->path, i, path, PATH_BYTES + 64);
		fd = chunk_names_open(path);
	}
	free(path);
	return fd;
}

/* Without the file, the range says nearly as much. */
static void read_file(const struct code_map *map, struct code_range *r)
{
	const int fd = open_file(map, r);
	uint64_t address = r->offset, end = 0;

	r->was_read = true;
	if (fd >= 0) {
		if (elf_build_read(fd, &r->build) != 0 ||
		    !elf_load_read(fd, r->offset, &address, &end))
			address = r->offset;
		close(fd);
	}
	r->bias = address <= r->start ? r->start - address : 0;
	r->size = end > r->end - r->bias ? end : r->end - r->bias;
}

/* The first range that ends above the address; n: none does. */
static uint32_t first_above(const struct code_map *map, uint64_t address)
{
	uint32_t low = 0, high = map->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (map->range[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct code_range *code_map_find(struct code_map *map, uint64_t address)
{
	const uint32_t i = first_above(map, address);

	if (i == map->n || address < map->range[i].start)
		return NULL;
	if (map->range[i].path && !map->range[i].was_read)
		read_file(map, &map->range[i]);
	return &map->range[i];
}

const struct code_range *code_maps_find(struct code_maps *m, uint32_t slot,
					uint32_t process, uint64_t address)
{
	struct code_map *const map = slot < m->owner->process_slots ?
				     &m->map[slot] : NULL;
	const struct code_range *r;

	if (!map)
		return NULL;
	r = map->process == process ? code_map_find(map, address) : NULL;
	if (!r)
		code_maps_want(m, slot);
	return r && r->path ? r : NULL;
}

/* ---- changing ---- */

bool code_map_put(struct code_map *map, const struct code_range *r)
{
	const uint32_t i = first_above(map, r->start);
	uint32_t k = i;

	while (k < map->n && map->range[k].start < r->end)
		free(map->range[k++].path);
	if (k > i) {
		memmove(&map->range[i + 1], &map->range[k],
			(map->n - k) * sizeof(*r));
		map->n -= k - i - 1;
	} else if (add_range(map, r)) {
		memmove(&map->range[i + 1], &map->range[i],
			(map->n - 1 - i) * sizeof(*r));
	} else {
		return false;
	}
	map->range[i] = *r;
	return true;
}

void code_map_copy(struct code_map *to, const struct code_map *from)
{
	for (uint32_t i = 0; i < from->n; i++) {
		struct code_range r = from->range[i];

		r.path = r.path ? strdup(r.path) : NULL;
		if (!add_range(to, &r))
			free(r.path);
	}
}
