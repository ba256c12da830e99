/* dynamic.c - reads dynamic sections. Unlike dlsym, a search that finds nothing
 * neither calls malloc nor leaves an error for dlerror.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/dynamic.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

/* Where this entry points. The loader has made it an address if the section
 * lies in memory that can be written; else it is an offset. */
static const void *place(const struct link_map *map, const ElfW(Dyn) *d)
{
	return (const void *)(d->d_un.d_ptr < map->l_addr ?
			      map->l_addr + d->d_un.d_ptr : d->d_un.d_ptr);
}

bool dynamic_read(struct dynamic *d, const struct link_map *map)
{
	memset(d, 0, sizeof(*d));
	d->map = map;
	for (const ElfW(Dyn) *e = map->l_ld; e && e->d_tag != DT_NULL; e++) {
		switch (e->d_tag) {
		case DT_SYMTAB: d->symbols = place(map, e); break;
		case DT_STRTAB: d->names = place(map, e); break;
		case DT_GNU_HASH: d->hash = place(map, e); break;
		case DT_VERSYM: d->versions = place(map, e); break;
		case DT_VERNEED: d->needs = place(map, e); break;
		case DT_JMPREL: d->relocs[0] = place(map, e); break;
		case DT_RELA: d->relocs[1] = place(map, e); break;
		case DT_PLTRELSZ: d->sizes[0] = e->d_un.d_val; break;
		case DT_RELASZ: d->sizes[1] = e->d_un.d_val; break;
		default: break;
		}
	}
	for (int k = 0; k < 2; k++) {
		if (!d->relocs[k])
			d->sizes[k] = 0;
	}
	return d->symbols && d->names;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

enum { HIDDEN_VERSION = 0x8000 };

/* older: one that only programs which ask for its version get. */
static void *find(const struct dynamic *d, const char *name, bool older)
{
	const uint32_t wanted = hash_of(name), *const h = d->hash;
	const uint64_t *filter;
	const uint32_t *buckets, *chains;
	uint64_t both;
	uint32_t i;

	if (!h || h[0] == 0 || h[2] == 0)
		return NULL;
	filter = (const uint64_t *)(h + 4);
	buckets = (const uint32_t *)(filter + h[2]);
	chains = buckets + h[0];
	both = UINT64_C(1) << wanted % 64 |
	       UINT64_C(1) << (wanted >> h[3]) % 64;
	if ((filter[wanted / 64 % h[2]] & both) != both)
		return NULL;
	for (i = buckets[wanted % h[0]]; i >= h[1]; i++) {
		const uint32_t c = chains[i - h[1]];
		const ElfW(Sym) *const s = &d->symbols[i];

		if ((c | 1) == (wanted | 1) && s->st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(s->st_info) != STT_GNU_IFUNC &&
		    (d->versions && d->versions[i] & HIDDEN_VERSION) == older &&
		    strcmp(d->names + s->st_name, name) == 0)
			return (void *)(d->map->l_addr + s->st_value);
		if (c & 1)
			break;
	}
	return NULL;
}

void *dynamic_find(const struct dynamic *d, const char *name)
{
	void *const usual = find(d, name, false);

	return usual ? usual : find(d, name, true);
}

bool dynamic_has_older(const struct dynamic *d, const char *name)
{
	const void *const older = find(d, name, true);

	return older && older != find(d, name, false);
}

/* In a list, each says how many bytes behind it the next lies; 0: none does. */
#define BEHIND(p, bytes) \
	((bytes) == 0 ? NULL : (const void *)((const char *)(p) + (bytes)))

const char *dynamic_version(const struct dynamic *d, const ElfW(Sym) *symbol)
{
	const unsigned wanted = !d->versions || !d->needs ? 0 :
		d->versions[symbol - d->symbols] & (HIDDEN_VERSION - 1u);

	if (wanted < 2) /* of no version */
		return NULL;
	for (const ElfW(Verneed) *n = d->needs; n; n = BEHIND(n, n->vn_next)) {
		const ElfW(Vernaux) *v = BEHIND(n, n->vn_aux);

		while (v && v->vna_other != wanted)
			v = BEHIND(v, v->vna_next);
		if (v)
			return d->names + v->vna_name;
	}
	return NULL;
}

bool dynamic_has_constructors(const struct link_map *map)
{
	const ElfW(Dyn) *d = map->l_ld;

	while (d->d_tag != DT_NULL && d->d_tag != DT_INIT_ARRAYSZ)
		d++;
	return d->d_tag == DT_INIT_ARRAYSZ && d->d_un.d_val > sizeof(void *);
}

/* The parts of the program, if one of them lies there. */
static const ElfW(Phdr) *parts_of_program(uint64_t start, int *count)
{
	const ElfW(Phdr) *const part = (const void *)getauxval(AT_PHDR);
	const int n = part ? (int)getauxval(AT_PHNUM) : 0;
	uint64_t bias = 0;

	*count = 0;
	for (int i = 0; i < n; i++) {
		if (part[i].p_type == PT_PHDR)
			bias = (uint64_t)part - part[i].p_vaddr;
	}
	for (int i = 0; i < n; i++) {
		if (part[i].p_type == PT_LOAD &&
		    start - bias - part[i].p_vaddr < part[i].p_memsz)
			*count = n;
	}
	return part;
}

/* The loader knows each part of a program by itself where there are gaps
 * between them, as on aarch64. */
const ElfW(Phdr) *dynamic_parts(const void *start, int *count)
{
	const ElfW(Ehdr) *const head = start;

	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return parts_of_program((uint64_t)start, count);
	*count = head->e_phentsize != sizeof(ElfW(Phdr)) ||
		 head->e_phnum > 128 ? 0 : head->e_phnum;
	return (const void *)((const char *)start + head->e_phoff);
}

const struct link_map *dynamic_module_at(const void *address)
{
	struct dl_find_object o;

	return address && _dl_find_object((void *)(uintptr_t)address, &o) == 0 ?
	       o.dlfo_link_map : NULL;
}
