/* archive_copy.c - files into a folder, whatever their names are. Links are not
 * followed: the folder is ours, but names come from the recorded program.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/archive_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool is_tame(const char *path)
{
	return path[0] != '/' && path[0] != '\0' &&
	       strncmp(path, "../", 3) != 0 && !strstr(path, "/../") &&
	       !strstr(path, "//") && path[strlen(path) - 1] != '/';
}

/* Open the folder that the path's last name is in; *name is that name. */
static int open_folder(int folder, char *path, char **name)
{
	int at = dup(folder);

	for (*name = path; at >= 0; ) {
		char *const slash = strchr(*name, '/');
		int next;

		if (!slash)
			break;
		*slash = '\0';
		if (mkdirat(at, *name, 0700) != 0 && errno != EEXIST)
			next = -1;
		else
			next = openat(at, *name, O_RDONLY | O_DIRECTORY |
				      O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
		*name = slash + 1;
	}
	return at;
}

static bool has_room(int folder, uint64_t bytes)
{
	struct statvfs fs;

	/* Half of what is free stays free. */
	return fstatvfs(folder, &fs) != 0 || fs.f_frsize == 0 ||
	       bytes / fs.f_frsize < fs.f_bavail / 2;
}

static int copy_bytes(int from, int to, uint64_t size)
{
	char bytes[1 << 16];
	off_t at = 0;

	while ((uint64_t)at < size) {
		const uint64_t left = size - (uint64_t)at;
		const ssize_t n = pread(from, bytes, left < sizeof(bytes) ?
					(size_t)left : sizeof(bytes), at);

		if (n <= 0 || write(to, bytes, (size_t)n) != n)
			return -1;
		at += n;
	}
	return 0;
}

static int64_t copy_to(int folder, const char *name, int from, uint64_t size,
		       const char **why)
{
	const int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL |
			      O_NOFOLLOW | O_CLOEXEC, 0600);

	if (to < 0 && errno == EEXIST)
		return 0;
	*why = strerror(errno);
	if (to < 0)
		return -1;
	errno = 0;
	if (copy_bytes(from, to, size) == 0 && close(to) == 0)
		return (int64_t)size;
	*why = errno != 0 ? strerror(errno) : "it changed meanwhile";
	close(to);
	unlinkat(folder, name, 0);
	return -1;
}

int64_t archive_copy_file(int folder, const char *path, int from,
			  uint64_t limit, const char **why)
{
	char copy[PATH_MAX], *name;
	struct stat st;
	int64_t bytes = -1;
	int at;

	*why = "its name will not do";
	if (!is_tame(path) || strlen(path) >= sizeof(copy))
		return -1;
	strcpy(copy, path);
	*why = "it is no file";
	if (fstat(from, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	*why = "the archive would become too large";
	if ((uint64_t)st.st_size > limit ||
	    !has_room(folder, (uint64_t)st.st_size))
		return -1;
	*why = "its folder cannot be made";
	at = open_folder(folder, copy, &name);
	if (at < 0)
		return -1;
	bytes = copy_to(at, name, from, (uint64_t)st.st_size, why);
	close(at);
	return bytes;
}
