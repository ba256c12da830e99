/* code_maps.c - reads /proc/PID/maps, and from the ELF file behind a range
 * where the file wants to be. A file is read when code in it is first asked
 * for.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/code_maps.h"
#include "tracer/recorder/base/baton.h"
#include "tracer/recorder/trace/chunk_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RANGES_MAX = 4096,         /* of a process: more are left out */
	AGAIN_MS = 20,
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

static void free_ranges(struct code_map *map)
{
	for (uint32_t i = 0; i < map->n; i++)
		free(map->range[i].path);
	free(map->range);
	map->range = NULL;
	map->n = 0;
}

/* "start-end rwxp offset major:minor inode      path" */
static void add_line(struct code_map *map, const char *line)
{
	struct code_range r = { 0 };
	char rights[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
		   &r.start, &r.end, rights, &r.offset, &at) < 4 || at == 0 ||
	    rights[2] != 'x' || map->n == RANGES_MAX)
		return;
	if (map->n % 64 == 0) {
		void *const grown = realloc(map->range, (map->n + 64) *
					    sizeof(*map->range));

		if (!grown)
			return;
		map->range = grown;
	}
	/* What is no path is in brackets: [vdso]. */
	if (line[at] == '/')
		r.path = strndup(line + at, strcspn(line + at, "\n"));
	map->range[map->n++] = r;
}

static void read_ranges(struct code_map *map)
{
	char name[64], *line;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%u/maps", map->pid);
	f = fopen(name, "re");
	line = f ? malloc(PATH_BYTES + 128) : NULL;
	while (line && fgets(line, PATH_BYTES + 128, f))
		add_line(map, line);
	free(line);
	if (f)
		fclose(f);
}

static void renew(struct code_maps *m, uint32_t slot, uint64_t now)
{
	const struct pool_process *const p = &m->owner->processes[slot];
	struct code_map fresh = { .process = p->serial, .pid = p->pid,
				  .read_at = now };

	baton_lend();
	read_ranges(&fresh);
	baton_take();
	/* The process may be gone: what was known of it still holds. */
	if (fresh.n == 0 && m->map[slot].process == fresh.process) {
		m->map[slot].read_at = now;
		m->map[slot].is_wanted = false;
		return;
	}
	free_ranges(&m->map[slot]);
	m->map[slot] = fresh;
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

const struct code_range *code_maps_find(struct code_maps *m, uint32_t slot,
					uint32_t process, uint64_t address)
{
	struct code_map *const map = slot < m->owner->process_slots ?
				     &m->map[slot] : NULL;
	uint32_t low = 0, high;

	if (!map)
		return NULL;
	for (high = map->process == process ? map->n : 0; low < high; ) {
		const uint32_t middle = low + (high - low) / 2;

		if (map->range[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (map->process != process || low == map->n ||
	    address < map->range[low].start) {
		code_maps_want(m, slot);
		return NULL;
	}
	if (!map->range[low].path)
		return NULL;
	if (!map->range[low].was_read)
		read_file(map, &map->range[low]);
	return &map->range[low];
}
