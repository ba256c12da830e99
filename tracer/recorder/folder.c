/* folder.c - makes and measures the trace directory. Symbolic links are not
 * followed: LTTng would write through them, possibly as root.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/folder.h"
#include "tracer/recorder/message.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 64, LONGEST = PATH_MAX - 256 };

/* A program's name, fit for a file name. */
static void plain_name(char *out, const char *program)
{
	const char *const slash = strrchr(program, '/');
	const char *from = slash ? slash + 1 : program;
	size_t n = 0;

	for (; *from && n < NAME_BYTES - 1; from++, n++)
		out[n] = strchr("/ \t\n:;'\"\\$`*?", *from) ||
			 (unsigned char)*from < ' ' ? '_' : *from;
	out[n] = '\0';
}

static void complain(const char *path)
{
	struct stat st;

	if (errno == EEXIST && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		say("\"%s\" is a symbolic link: name a folder that does not "
		    "exist yet", path);
	else if (errno == EEXIST)
		say("\"%s\" exists already: name another folder with -o",
		    path);
	else if (errno == ENOENT)
		say("cannot make \"%s\": the folder it is to lie in does not "
		    "exist", path);
	else
		say("cannot make \"%s\": %s; name another folder with -o",
		    path, strerror(errno));
}

int folder_make(struct folder *f, const char *wish, const char *program)
{
	char name[NAME_BYTES];
	size_t n;

	plain_name(name, program);
	if (wish)
		snprintf(f->path, sizeof(f->path), "%s", wish);
	else
		snprintf(f->path, sizeof(f->path), "weft-trace-%s-%d", name,
			 (int)getpid());
	/* mkdir would follow a link that is named with a slash behind it. */
	for (n = strlen(f->path); n > 1 && f->path[n - 1] == '/'; n--)
		f->path[n - 1] = '\0';
	f->fd = -1;
	if (mkdir(f->path, 0700) != 0) {
		complain(f->path);
		return -1;
	}
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0 || !realpath(f->path, f->absolute)) {
		say("cannot open \"%s\": %s", f->path, strerror(errno));
		return -1;
	}
	if (strlen(f->absolute) > LONGEST) {
		say("\"%s\" is too long a path", f->path);
		return -1;
	}
	return 0;
}

int folder_put(const struct folder *f, const char *name, const char *text)
{
	const size_t n = strlen(text);
	const int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL |
			      O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	const ssize_t written = write(fd, text, n);

	return close(fd) == 0 && written == (ssize_t)n ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

void folder_remove(const struct folder *f)
{
	nftw(f->absolute, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

static uint64_t found;

static int add(const char *path, const struct stat *st, int type,
	       struct FTW *where)
{
	(void)path;
	(void)where;
	if (type == FTW_F)
		found += (uint64_t)st->st_size;
	return 0;
}

uint64_t folder_bytes(const char *path)
{
	found = 0;
	nftw(path, add, 16, FTW_PHYS);
	return found;
}
