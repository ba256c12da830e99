/* module.c - ELF modules by _dl_find_object: no lock, so a hook may ask while
 * another thread holds the loader's. An entry is found again by where its
 * module lies, or, once some module has gone, by what it is.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/module.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

_Atomic uint32_t module_epoch;

static struct pointer_map modules;
static _Atomic uint32_t module_count;
static const struct module *_Atomic numbered[MODULES_NUMBERED];

/* The modules found last, by where they start. */
enum { RECENT_BITS = 8 };
static struct module *_Atomic recent[1 << RECENT_BITS];

/* A path that must be cut keeps its end, which says more. */
static void copy_path(char *to, size_t room, const char *from)
{
	const size_t length = strlen(from);

	if (length >= room)
		from += length - (room - 1);
	memcpy(to, from, strlen(from) + 1);
}

/* From a note segment of that many bytes, which is not trusted. */
static void read_build_id(struct module *m, const ElfW(Nhdr) *note, size_t size)
{
	const char *at = (const char *)note, *const end = at + size;

	while ((size_t)(end - at) >= sizeof(*note)) {
		const ElfW(Nhdr) *const n = (const void *)at;
		const size_t name = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		const size_t desc = ((size_t)n->n_descsz + 3) & ~(size_t)3;

		at += sizeof(*n);
		if (name > (size_t)(end - at) ||
		    desc > (size_t)(end - at) - name)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    memcmp(at, "GNU", 4) == 0) {
			m->build_id_size = (uint8_t)(n->n_descsz <
				sizeof(m->build_id) ? n->n_descsz :
				sizeof(m->build_id));
			memcpy(m->build_id, at + name, m->build_id_size);
			return;
		}
		at += name + desc;
	}
}

/* The notes are mapped: the code that asks runs in this very module. */
static void read_notes(struct module *m)
{
	const ElfW(Ehdr) *const head = (const ElfW(Ehdr) *)m->start;
	const ElfW(Phdr) *part;

	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phentsize != sizeof(*part) || head->e_phnum > 128)
		return;
	part = (const ElfW(Phdr) *)(m->start + head->e_phoff);
	for (int i = 0; i < head->e_phnum; i++) {
		const uint64_t at = m->bias + part[i].p_vaddr;

		if (part[i].p_type == PT_NOTE && m->build_id_size == 0 &&
		    at >= m->start && at < m->end &&
		    part[i].p_filesz <= m->end - at)
			read_build_id(m, (const ElfW(Nhdr) *)at,
				      part[i].p_filesz);
	}
}

/* Sets all but epoch and number. The program itself has no name in its
 * link_map. */
static void fill(struct module *m, const struct dl_find_object *o)
{
	const struct link_map *const map = o->dlfo_link_map;

	m->start = (uint64_t)o->dlfo_map_start;
	m->end = (uint64_t)o->dlfo_map_end;
	m->bias = map->l_addr;
	atomic_store(&m->map, (const void *)map);
	m->build_id_size = 0;
	memset(m->path, 0, sizeof(m->path));
	if (map->l_name && map->l_name[0] != '\0')
		copy_path(m->path, sizeof(m->path), map->l_name);
	else if (readlink("/proc/self/exe", m->path, sizeof(m->path) - 1) < 0)
		m->path[0] = '\0';
	read_notes(m);
}

/* The match of modules. A program that closes and opens a library again and
 * again must not use up memory: its entry is used again if it is the same one
 * that lies there now. */
static bool is_same(const void *entry, const void *key)
{
	const struct module *const m = entry, *const now = key;

	return m->start == now->start && m->end == now->end &&
	       m->bias == now->bias && strcmp(m->path, now->path) == 0 &&
	       m->build_id_size == now->build_id_size &&
	       memcmp(m->build_id, now->build_id, m->build_id_size) == 0;
}

/* Two threads may add the same module at once; one number is then unused. */
static struct module *add(uint64_t hash, const struct module *now)
{
	struct module *const made = memory_get(sizeof(*made));

	if (!made)
		return NULL;
	memcpy(made, now, sizeof(*made));
	made->number = atomic_fetch_add(&module_count, 1);
	if (made->number < MODULES_NUMBERED)
		atomic_store(&numbered[made->number], made);
	return pointer_map_add(&modules, hash, is_same, now, made);
}

/* By what it is: some module may have gone since it was seen. */
static struct module *look_up(const struct dl_find_object *o, uint32_t epoch)
{
	struct module now, *m;
	uint64_t hash;

	fill(&now, o);
	hash = XXH64(now.path, strlen(now.path), now.start);
	m = pointer_map_find(&modules, hash, is_same, &now);
	if (!m)
		m = add(hash, &now);
	if (m) {
		atomic_store(&m->map, (const void *)o->dlfo_link_map);
		atomic_store(&m->epoch, epoch);
	}
	return m;
}

bool module_find(uint64_t address, const struct module **found)
{
	const uint32_t epoch = atomic_load(&module_epoch);
	struct module *_Atomic *place;
	struct dl_find_object o;
	struct module *m;

	if (_dl_find_object((void *)address, &o) != 0)
		return false;
	place = &recent[hash_place((uint64_t)o.dlfo_map_start, RECENT_BITS)];
	m = atomic_load(place);
	if (!m || m->start != (uint64_t)o.dlfo_map_start ||
	    m->end != (uint64_t)o.dlfo_map_end ||
	    atomic_load(&m->map) != o.dlfo_link_map ||
	    atomic_load(&m->epoch) != epoch) {
		m = look_up(&o, epoch);
		atomic_store(place, m);
	}
	*found = m;
	return true;
}

const struct module *module_get(uint32_t number)
{
	return atomic_load(&numbered[number]);
}
