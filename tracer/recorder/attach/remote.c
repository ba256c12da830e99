/* remote.c - reading and writing another process. Symbols are looked up in the
 * files that it has mapped.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/remote.h"
#include "tracer/recorder/base/elf_file.h"
#include "tracer/recorder/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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
	struct proc_maps m;
	bool may = false;

	for (proc_maps_open(&m, r->pid); !may && proc_maps_next(&m); )
		may = m.start <= from && to <= m.end && m.can_read &&
		      m.can_write;
	proc_maps_close(&m);
	return may;
}

uint64_t remote_end_at(const struct remote *r, uint64_t at)
{
	struct proc_maps m;
	uint64_t end = 0;

	for (proc_maps_open(&m, r->pid); proc_maps_next(&m); )
		if (m.can_write && (end ? m.start == end :
				    m.start <= at && at < m.end))
			end = m.end;
	return end;
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
	struct proc_maps at;
	bool found = false;

	memset(m, 0, sizeof(*m));
	for (proc_maps_open(&at, r->pid); proc_maps_next(&at); ) {
		if (!found && at.offset == 0 && at.path[0] &&
		    fits(r, at.path, ctx)) {
			found = true;
			m->start = at.start;
			m->end = at.end;
			snprintf(m->path, sizeof(m->path), "%s", at.path);
		}
		if (found && at.can_run && m->code == 0 &&
		    strcmp(m->path, at.path) == 0) {
			m->code = at.start;
			m->code_end = at.end;
		}
	}
	return found;
}

/* ---- symbols ---- */

/* Is it what was mapped, by its first bytes: its headers and its build-id? */
static bool is_mapped(const struct remote *r, const struct remote_module *m,
		      int fd)
{
	char mapped[1024], now[sizeof(mapped)];

	return pread(fd, now, sizeof(now), 0) == sizeof(now) &&
	       remote_read(r, m->start, mapped, sizeof(mapped)) &&
	       memcmp(now, mapped, sizeof(now)) == 0;
}

/* The module's file: as the process sees it, as we do; or for root, also if it
 * was removed. Negative: there is none, or it is another one by now. */
static int open_module(const struct remote *r, const struct remote_module *m)
{
	char path[3][PATH_MAX + 64];

	snprintf(path[0], sizeof(*path), "/proc/%d/root%s", (int)r->pid,
		 m->path);
	snprintf(path[1], sizeof(*path), "%s", m->path);
	snprintf(path[2], sizeof(*path), "/proc/%d/map_files/%" PRIx64 "-%"
		 PRIx64, (int)r->pid, m->start, m->end);
	for (int i = 0; i < 3; i++) {
		const int fd = open(path[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd >= 0 && is_mapped(r, m, fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

uint64_t remote_object(const struct remote *r, const struct remote_module *m,
		       const char *name, uint64_t *size)
{
	const int fd = open_module(r, m);
	uint64_t value = 0;

	*size = 0;
	if (fd >= 0 && elf_symbol_find(fd, name, &value, size))
		value += m->start;
	if (fd >= 0)
		close(fd);
	return value;
}

uint64_t remote_symbol(const struct remote *r, const struct remote_module *m,
		       const char *name)
{
	uint64_t size;

	return remote_object(r, m, name, &size);
}
