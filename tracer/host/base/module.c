/* module.c - ELF modules by _dl_find_object: no lock, so a hook may ask while
 * another thread holds the loader's. Entries are added and never changed, but
 * for their epoch. SPDX-License-Identifier: MIT */
#include "tracer/host/base/module.h"
#include "tracepoints/chunk.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

_Atomic uint32_t module_epoch;

static struct module modules[DICT_MAX_MODULES];
static _Atomic uint32_t module_count;

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

/* Sets all but ready and epoch. The program itself has no name in its
 * link_map. */
static void fill(struct module *m, const struct dl_find_object *o)
{
	const struct link_map *const map = o->dlfo_link_map;

	m->start = (uint64_t)o->dlfo_map_start;
	m->end = (uint64_t)o->dlfo_map_end;
	m->bias = map->l_addr;
	m->map = map;
	m->build_id_size = 0;
	memset(m->path, 0, sizeof(m->path));
	if (map->l_name && map->l_name[0] != '\0')
		copy_path(m->path, sizeof(m->path), map->l_name);
	else if (readlink("/proc/self/exe", m->path, sizeof(m->path) - 1) < 0)
		m->path[0] = '\0';
	read_notes(m);
}

/* Is it the entry of this object, or of one that lay there before? */
static bool is_at(const struct module *m, const struct dl_find_object *o)
{
	return atomic_load_explicit(&m->ready, memory_order_acquire) &&
	       m->map == o->dlfo_link_map &&
	       m->start == (uint64_t)o->dlfo_map_start &&
	       m->end == (uint64_t)o->dlfo_map_end;
}

/* If some module has gone since this one was seen: is it the same that lies
 * there now? A program that closes and opens a library again and again must
 * not use up the table, so the entry is used again if it is. */
static bool still_is(struct module *m, const struct dl_find_object *o,
		    uint32_t epoch)
{
	struct module now;

	if (atomic_load(&m->epoch) == epoch)
		return true;
	fill(&now, o);
	if (now.bias != m->bias || strcmp(now.path, m->path) != 0 ||
	    now.build_id_size != m->build_id_size ||
	    memcmp(now.build_id, m->build_id, m->build_id_size) != 0)
		return false;
	atomic_store(&m->epoch, epoch);
	return true;
}

/* The latest entry comes first: of several modules that lay there, it is the
 * one that lies there now. Two threads may add the same module at once; both
 * entries are right. */
int module_find(uint64_t address, const struct module **found)
{
	const uint32_t epoch = atomic_load(&module_epoch);
	struct dl_find_object o;
	uint32_t n;

	if (_dl_find_object((void *)address, &o) != 0)
		return -1;
	n = atomic_load(&module_count);
	for (uint32_t i = n; i-- > 0;) {
		if (i < DICT_MAX_MODULES && is_at(&modules[i], &o) &&
		    still_is(&modules[i], &o, epoch)) {
			*found = &modules[i];
			return (int)i;
		}
	}
	if (n >= DICT_MAX_MODULES)
		return -1;
	n = atomic_fetch_add(&module_count, 1);
	if (n >= DICT_MAX_MODULES)
		return -1;
	fill(&modules[n], &o);
	atomic_store(&modules[n].epoch, epoch);
	atomic_store_explicit(&modules[n].ready, 1, memory_order_release);
	*found = &modules[n];
	return (int)n;
}

const struct module *module_get(uint32_t number)
{
	return &modules[number];
}
