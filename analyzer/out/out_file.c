/* out_file.c - writes a draft beside the file, then renames it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_file.h"

#include "analyzer/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Give the draft its rights and its name, and close it in any case. A draft of
 * mkostemp may be read by its owner only. 0, or an errno: that of the first
 * failure. */
static int finish(FILE *file, const char *draft, const char *path, mode_t mask)
{
	int failed = fflush(file) != 0 || ferror(file) ? errno : 0;

	if (failed == 0 && fchmod(fileno(file), 0666 & ~mask) != 0)
		failed = errno;
	if (fclose(file) != 0 && failed == 0)
		failed = errno;
	if (failed == 0 && rename(draft, path) != 0)
		failed = errno;
	return failed;
}

/* Write a draft, and rename it when it is complete. The draft lies beside the
 * file, because a rename cannot cross file systems. The umask can only be read
 * by setting it. */
static int write_file(const char *path, out_file_fn fn, void *ctx)
{
	const mode_t mask = umask(0);
	char draft[PATH_MAX];
	FILE *file;
	int fd, failed;

	umask(mask);
	if (snprintf(draft, sizeof(draft), "%s.XXXXXX", path) >=
	    (int)sizeof(draft))
		return err_add("the file's name is too long");
	fd = mkostemp(draft, O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "wb");
	if (!file)
		return err_add("%s", strerror(errno));
	if (fn(file, ctx) != 0) {
		unlink(draft);
		fclose(file);
		return -1;
	}
	failed = finish(file, draft, path, mask);
	if (failed != 0)
		unlink(draft);
	return failed == 0 ? 0 : err_add("%s", strerror(failed));
}

int out_file_write(const char *path, out_file_fn fn, void *ctx)
{
	if (strcmp(path, "-") == 0) {
		if (fn(stdout, ctx) == 0 && fflush(stdout) == 0)
			return 0;
		return err_add("cannot write the output");
	}
	if (write_file(path, fn, ctx) != 0)
		return err_add("cannot write \"%s\"", path);
	return 0;
}
