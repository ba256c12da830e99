/* chunk_names.c - walks over the items of chunks. A recorded program may have
 * written them, so no length is trusted.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/chunk_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODULE_LEAST = 4 + BUILD_ID_WORDS + STRING_HEAD_WORDS };

/* ---- what was seen ---- */

void name_set_init(struct name_set *s, uint32_t most)
{
	if (s->slot)
		memset(s->slot, 0, s->slots * sizeof(*s->slot));
	s->most = most;
	s->n = s->refused = 0;
}

uint32_t name_set_place(uint64_t hash)
{
	static uint64_t seed;

	if (seed == 0 && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) <= 0)
		seed = 1;
	return (uint32_t)XXH64(&hash, sizeof(hash), seed);
}

static struct name_slot *slot_of(const struct name_set *s, uint64_t hash)
{
	uint32_t at = name_set_place(hash) & (s->slots - 1);

	while (s->slot[at].number != 0 && s->slot[at].hash != hash)
		at = (at + 1) & (s->slots - 1);
	return &s->slot[at];
}

/* False: no memory. */
static bool grow_set(struct name_set *s)
{
	struct name_set more = { .slots = s->slots > 0 ? 2 * s->slots : 64 };

	more.slot = calloc(more.slots, sizeof(*more.slot));
	if (!more.slot)
		return false;
	for (uint32_t i = 0; i < s->slots; i++)
		if (s->slot[i].number != 0)
			*slot_of(&more, s->slot[i].hash) = s->slot[i];
	free(s->slot);
	s->slot = more.slot;
	s->slots = more.slots;
	return true;
}

uint32_t name_set_find(const struct name_set *s, uint64_t hash)
{
	return s->slots > 0 ? slot_of(s, hash)->number : 0;
}

bool name_set_put(struct name_set *s, uint64_t hash, uint32_t number)
{
	if (name_set_find(s, hash) != 0)
		return false;
	if (s->n >= s->most || (s->slots <= 2 * s->n && !grow_set(s))) {
		s->refused++;
		return false;
	}
	*slot_of(s, hash) = (struct name_slot){ hash, number };
	s->n++;
	return true;
}

bool name_set_add(struct name_set *s, uint64_t hash)
{
	return name_set_put(s, hash, 1);
}

uint64_t name_set_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* ---- items ---- */

void chunk_items_add(struct chunk_items *items, uint32_t words)
{
	const uint64_t *const at = items->to;

	if (words == 0)
		return;
	items->item[items->n++] = (struct seen_item){ at, words };
	if (item_type(*at) == ITEM_MODULE && words >= MODULE_LEAST &&
	    at[1] < DICT_MAX_MODULES)
		items->numbers[at[1] / 64] |= UINT64_C(1) << at[1] % 64;
	items->to += words;
	items->room -= words < items->room ? words : items->room;
}

void chunk_items_read(struct chunk_items *items, const uint64_t *chunk,
		      uint32_t words)
{
	struct chunk_header *const h = (void *)(uintptr_t)chunk;
	const uint64_t begin = CHUNK_HEADER_WORDS + (uint64_t)h->records;
	uint64_t left = h->items;

	items->h = h;
	items->room = items->n = 0;
	memset(items->numbers, 0, sizeof(items->numbers));
	if (begin > words || left > words - begin)
		return;
	items->to = (uint64_t *)h + begin;
	for (uint64_t size; left > 0; left -= size) {
		size = item_words(*items->to);
		if (size == 0 || size > left)
			return;
		chunk_items_add(items, (uint32_t)size);
	}
}

uint32_t chunk_items_number(const struct chunk_items *items)
{
	uint32_t i = DICT_MAX_MODULES;

	while (i > 0 && items->numbers[(i - 1) / 64] >> (i - 1) % 64 & 1)
		i--;
	return i > 0 ? i - 1 : DICT_MAX_MODULES;
}

/* Copy the string that begins at at to CHUNK_STRING_MAX + 1 bytes: "" if it was
 * cut or contains a NUL. Returns its words, or 0 if it is not within words. */
static uint64_t read_string(const uint64_t *at, uint64_t words, char *to)
{
	const uint32_t stored = words < 2 ? 0 : string_stored(at[0]);

	to[0] = '\0';
	if (words < 2 || stored > CHUNK_STRING_MAX ||
	    (stored + 7) / 8 > words - 2)
		return 0;
	if (string_length(at[0]) == stored &&
	    !memchr(at + 2, '\0', stored)) {
		memcpy(to, at + 2, stored);
		to[stored] = '\0';
	}
	return 2 + (stored + 7) / 8;
}

bool chunk_names_module(const struct seen_item *i, struct module_item *m)
{
	const uint64_t *const item = i->at;
	const uint8_t *const id = (const void *)(item + 4);

	if (item_type(*item) != ITEM_MODULE || i->words < MODULE_LEAST ||
	    item[1] >= DICT_MAX_MODULES || id[0] > 20)
		return false;
	m->number = (uint32_t)item[1];
	m->id_size = id[0];
	m->id = id + 1;
	return read_string(item + 7, i->words - 7, m->path) > 0;
}

uint64_t chunk_names_module_hash(const uint8_t *id, unsigned id_size,
				 const char *path)
{
	return id_size > 0 ? XXH64(id, id_size, 0) :
	       XXH64(path, strlen(path), 0);
}

bool chunk_names_lua(const struct seen_item *i, struct lua_item *f)
{
	const uint64_t *const item = i->at;
	const uint64_t words = i->words;
	char name[CHUNK_STRING_MAX + 1];
	uint64_t file, more;

	if (item_type(*item) != ITEM_LUA || words < 6)
		return false;
	file = read_string(item + 2, words - 2, f->file);
	more = file == 0 ? 0 :
	       read_string(item + 2 + file, words - 2 - file, name);
	f->line = (uint32_t)(item[1] >> 32);
	f->last_line = (uint32_t)item[1];
	f->source = item[3];
	f->name = 2 + file;
	f->rest = f->name + more;
	f->ordinal = f->rest < words ? item[f->rest] : 0;
	return more > 0;
}

void chunk_names_path(uint32_t pid, const char *file, int i, char *path,
		      size_t size)
{
	if (i == 0)
		snprintf(path, size, "/proc/%u/%s/%s", pid,
			 file[0] == '/' ? "root" : "cwd", file);
	else
		snprintf(path, size, "%s", file);
}

int chunk_names_open(const char *path)
{
	const int at = open(path, O_PATH | O_CLOEXEC);
	char self[40];
	struct stat st;
	int fd = -1;

	if (at < 0)
		return -1;
	/* To open a device may already do something. */
	errno = EINVAL;
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode)) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
		fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	const int error = errno;

	close(at);
	errno = error;
	return fd;
}
