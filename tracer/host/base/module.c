/* module.c - ELF modules by _dl_find_object: no lock, so a hook may ask while
 * another thread holds the loader's. An entry is found again by where its
 * module lies, or, once some module has gone, by what it is.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/module.h"
#include "tracer/host/base/dynamic.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>

_Atomic uint32_t module_epoch;

static struct pointer_map modules;
static _Atomic uint32_t module_count;
static const struct module *_Atomic numbered[MODULES_NUMBERED];

/* The modules found last, by where they start. */
enum { RECENT_BITS = 8 };
static struct module *_Atomic recent[1 << RECENT_BITS];

/* ------------------------------------------------------------------ paths */

/* The lines of /proc/self/maps as they are read: "START-END ... /PATH". */
struct maps {
	uint64_t wanted, start;
	char path[257];      /* of the line at wanted; its end, if it is long */
	size_t length;
	enum { IN_START, IN_OTHER, IN_WANTED, IN_PATH } in;
};

/* Returns whether that was the end of the line that is wanted. */
static bool read_char(struct maps *m, char c)
{
	if (c == '\n') {
		if (m->in == IN_PATH)
			return true;
		m->start = 0;
		m->in = IN_START;
	} else if (m->in == IN_START && c == '-') {
		m->in = m->start == m->wanted ? IN_WANTED : IN_OTHER;
	} else if (m->in == IN_START) {
		m->start = m->start << 4 | (uint64_t)(c <= '9' ? c - '0' :
						      c - 'a' + 10);
	} else if (m->in == IN_PATH || (m->in == IN_WANTED && c == '/')) {
		m->in = IN_PATH;
		if (m->length == sizeof(m->path) - 1)
			memmove(m->path, m->path + 1, --m->length);
		m->path[m->length++] = c;
	}
	return false;
}

/* The real path of the file that is mapped at start; false: not known. */
static bool read_maps(uint64_t start, char path[257])
{
	struct maps m = { .wanted = start };
	const int fd = kernel_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool found = false;
	char text[512];
	long n;

	while (fd >= 0 && !found &&
	       (n = kernel_read(fd, text, sizeof(text))) > 0) {
		for (long i = 0; i < n && !found; i++)
			found = read_char(&m, text[i]);
	}
	if (fd >= 0)
		kernel_close(fd);
	if (found)
		memcpy(path, m.path, sizeof(m.path));
	return found;
}

/* A path that must be cut keeps its end, which says more. The program itself
 * has no name in its link_map; and where a relative path led at dlopen, only
 * the kernel knows. */
static void set_path(struct module *m, const char *name)
{
	const char *const path = name && name[0] ? name : kernel_program;
	const size_t length = strlen(path), room = sizeof(m->path);

	memset(m->path, 0, room);
	if (path[0] == '/' || !read_maps(m->start, m->path))
		memcpy(m->path, length < room ? path :
		       path + (length - (room - 1)),
		       length < room ? length : room - 1);
}

/* ------------------------------------------------------------- build-ids */

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
	int count;
	const ElfW(Phdr) *const part = dynamic_parts((const void *)m->start,
						     &count);

	for (int i = 0; i < count; i++) {
		const uint64_t at = m->bias + part[i].p_vaddr;

		if (part[i].p_type == PT_NOTE && m->build_id_size == 0 &&
		    at >= m->start && at < m->end &&
		    part[i].p_filesz <= m->end - at)
			read_build_id(m, (const ElfW(Nhdr) *)at,
				      part[i].p_filesz);
	}
}

/* ---------------------------------------------------------------- entries */

/* Sets all but epoch and number. */
static void fill_module(struct module *m, const struct dl_find_object *o)
{
	const struct link_map *const map = o->dlfo_link_map;

	m->start = (uint64_t)o->dlfo_map_start;
	m->end = (uint64_t)o->dlfo_map_end;
	m->bias = map->l_addr;
	atomic_store(&m->map, (const void *)map);
	m->build_id_size = 0;
	set_path(m, map->l_name);
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
static struct module *add_module(uint64_t hash, const struct module *now)
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

	fill_module(&now, o);
	hash = XXH64(now.path, strlen(now.path), now.start);
	m = pointer_map_find(&modules, hash, is_same, &now);
	if (!m)
		m = add_module(hash, &now);
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

uint64_t module_code_start(uint64_t address)
{
	/* Version 1; eh_frame, count and table as linkers write them: relative
	 * to its place; plain; relative to the head of the section, sorted. */
	static const uint8_t usual[] = { 1, 0x1b, 0x03, 0x3b };
	const struct { int32_t code, entry; } *table;
	uint32_t low = 0, high;
	const uint32_t *head;
	struct dl_find_object o;
	int64_t at;

	if (_dl_find_object((void *)address, &o) != 0 || !o.dlfo_eh_frame ||
	    memcmp(o.dlfo_eh_frame, usual, sizeof(usual)) != 0)
		return 0;
	head = o.dlfo_eh_frame;
	table = (const void *)(head + 3);
	at = (int64_t)(address - (uint64_t)head);
	for (high = head[2]; low < high;) {
		const uint32_t middle = low + (high - low) / 2;

		if (table[middle].code <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? 0 : (uint64_t)head + (uint64_t)table[low - 1].code;
}
