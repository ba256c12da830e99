/* remote.c - reading and writing another process. Symbols are looked up as its
 * loader does, in the tables that it has mapped: the file on the disk may be
 * another one by now.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/remote.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int remote_open(struct remote *r, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	r->pid = pid;
	r->mem = open(path, O_RDWR | O_CLOEXEC);
	return r->mem >= 0 ? 0 : -errno;
}

void remote_close(struct remote *r)
{
	if (r->mem >= 0)
		close(r->mem);
	r->mem = -1;
}

bool remote_read(const struct remote *r, uint64_t at, void *to, size_t n)
{
	return pread(r->mem, to, n, (off_t)at) == (ssize_t)n;
}

bool remote_write(const struct remote *r, uint64_t at, const void *from,
		  size_t n)
{
	return pwrite(r->mem, from, n, (off_t)at) == (ssize_t)n;
}

bool remote_may_write(const struct remote *r, uint64_t from, uint64_t to)
{
	char line[PATH_MAX + 128], rights[8];
	uint64_t begin, end;
	bool may = false;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)r->pid);
	FILE *const f = fopen(line, "re");

	while (f && !may && fgets(line, sizeof(line), f))
		may = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &begin, &end,
			     rights) == 3 && begin <= from && to <= end &&
		      rights[0] == 'r' && rights[1] == 'w';
	if (f)
		fclose(f);
	return may;
}

uint64_t remote_end_at(const struct remote *r, uint64_t at)
{
	char line[PATH_MAX + 128], rights[8];
	uint64_t from, to, end = 0;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)r->pid);
	FILE *const f = fopen(line, "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &from, &to,
			   rights) == 3 && rights[1] == 'w' &&
		    (end ? from == end : from <= at && at < to))
			end = to;
	if (f)
		fclose(f);
	return end;
}

bool remote_status_line(pid_t pid, const char *key, char *line, size_t room)
{
	bool found = false;

	snprintf(line, room, "/proc/%d/status", (int)pid);
	FILE *const f = fopen(line, "re");

	while (f && !found && fgets(line, (int)room, f))
		found = strncmp(line, key, strlen(key)) == 0;
	if (f)
		fclose(f);
	return found;
}

long remote_status(pid_t pid, const char *key)
{
	char line[256];

	return remote_status_line(pid, key, line, sizeof(line)) ?
	       strtol(line + strlen(key), NULL, 10) : -1;
}

/* ---- modules ---- */

static bool is_named(const struct remote *r, const char *path, const void *name)
{
	const char *const slash = strrchr(path, '/');

	(void)r;
	return slash && strncmp(slash + 1, name, strlen(name)) == 0;
}

bool remote_find(const struct remote *r, const char *name,
		 struct remote_module *m)
{
	return remote_find_if(r, is_named, name, m);
}

bool remote_find_if(const struct remote *r, remote_fits_fn *fits,
		    const void *ctx, struct remote_module *m)
{
	char line[PATH_MAX + 128], rights[8];
	bool found = false;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)r->pid);
	FILE *const f = fopen(line, "re");

	memset(m, 0, sizeof(*m));
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t from, to, offset;
		int path = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64
			   " %*s %*s %n", &from, &to, rights, &offset,
			   &path) != 4 || path == 0)
			continue;
		if (!found && offset == 0 && fits(r, line + path, ctx)) {
			found = true;
			m->start = from;
			snprintf(m->path, sizeof(m->path), "%s", line + path);
		}
		if (found && rights[2] == 'x' && m->code == 0 &&
		    strcmp(m->path, line + path) == 0) {
			m->code = from;
			m->code_end = to;
		}
	}
	if (f)
		fclose(f);
	return found;
}

/* ---- symbols ---- */

/* What the module's dynamic section says, as addresses. */
struct tables {
	uint64_t symbols, names, hash;
};

/* The loader makes these entries addresses where they can be written. */
static uint64_t place(uint64_t start, uint64_t value)
{
	return value < start ? start + value : value;
}

static bool read_dynamic(const struct remote *r, uint64_t start, uint64_t at,
			 struct tables *t)
{
	Elf64_Dyn d;

	for (int i = 0; i < 256; i++, at += sizeof(d)) {
		if (!remote_read(r, at, &d, sizeof(d)))
			return false;
		if (d.d_tag == DT_NULL)
			return t->symbols && t->names && t->hash;
		if (d.d_tag == DT_SYMTAB)
			t->symbols = place(start, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRTAB)
			t->names = place(start, d.d_un.d_ptr);
		else if (d.d_tag == DT_GNU_HASH)
			t->hash = place(start, d.d_un.d_ptr);
	}
	return false;
}

/* Of a library, whose addresses begin with 0 in its file. */
static bool find_tables(const struct remote *r, uint64_t start,
			struct tables *t)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	memset(t, 0, sizeof(*t));
	if (!remote_read(r, start, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!remote_read(r, start + head.e_phoff + i * sizeof(part),
				 &part, sizeof(part)))
			return false;
		if (part.p_type == PT_DYNAMIC)
			return read_dynamic(r, start, start + part.p_vaddr, t);
	}
	return false;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The symbol with that number, if it has that name and is defined. */
static uint64_t value_of(const struct remote *r, const struct tables *t,
			 uint64_t start, uint32_t i, const char *name,
			 uint64_t *size)
{
	char text[64] = "";
	Elf64_Sym s;

	if (!remote_read(r, t->symbols + i * sizeof(s), &s, sizeof(s)) ||
	    s.st_shndx == SHN_UNDEF ||
	    !remote_read(r, t->names + s.st_name, text, strlen(name) + 1) ||
	    strcmp(text, name) != 0)
		return 0;
	*size = s.st_size;
	return start + s.st_value;
}

uint64_t remote_object(const struct remote *r, const struct remote_module *m,
		       const char *name, uint64_t *size)
{
	const uint32_t wanted = hash_of(name);
	uint32_t head[4], i, h = 0; /* buckets, first symbol, words, shift */
	struct tables t;
	uint64_t found = 0;

	if (strlen(name) >= 63 || !find_tables(r, m->start, &t) ||
	    !remote_read(r, t.hash, head, sizeof(head)) || head[0] == 0)
		return 0;
	const uint64_t buckets = t.hash + sizeof(head) + head[2] * UINT64_C(8);
	const uint64_t chains = buckets + head[0] * UINT64_C(4);

	if (!remote_read(r, buckets + wanted % head[0] * 4, &i, sizeof(i)) ||
	    i < head[1])
		return 0;
	for (int n = 0; n < 10000 && found == 0 && (h & 1) == 0; n++, i++) {
		if (!remote_read(r, chains + (i - head[1]) * UINT64_C(4), &h,
				 sizeof(h)))
			return 0;
		if ((h | 1) == (wanted | 1))
			found = value_of(r, &t, m->start, i, name, size);
	}
	return found;
}

uint64_t remote_symbol(const struct remote *r, const struct remote_module *m,
		       const char *name)
{
	uint64_t size;

	return remote_object(r, m, name, &size);
}
