/* pool_cleanup.c - finds and removes pools of dead recorders. A living recorder holds
 * a flock on its pool; the lock goes with it, however it ends.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/pool_cleanup.h"
#include "tracer/recorder/pool_owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty file is a pool in the making, not locked yet: it costs nothing and
 * is left alone. */
static int is_stale(int folder, const char *name)
{
	struct stat st;
	const int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC |
			      O_NONBLOCK);

	if (fd < 0)
		return 0;
	const int stale = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			  st.st_uid == getuid() && st.st_size > 0 &&
			  flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return stale;
}

int stale_remove(void)
{
	char prefix[32];
	int removed = 0;
	DIR *const folder = opendir(ARENA_FOLDER);

	if (!folder)
		return 0;
	snprintf(prefix, sizeof(prefix), "weft-%u-", (unsigned)getuid());
	for (const struct dirent *e; (e = readdir(folder)) != NULL; ) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
		    is_stale(dirfd(folder), e->d_name) &&
		    unlinkat(dirfd(folder), e->d_name, 0) == 0)
			removed++;
	}
	closedir(folder);
	return removed;
}
