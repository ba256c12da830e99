/* out_file.c - writes a draft beside the file, then renames it; a device or a
 * link is written to as it is.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_file.h"

#include "analyzer/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Give the draft its rights and its name, and close it in any case. A draft of
 * mkostemp may be read by its owner only. 0, or an errno: that of the first
 * failure. */
static int finish(FILE *file, const char *from, const char *path, mode_t mask)
{
	int failed = fflush(file) != 0 || ferror(file) ? errno : 0;

	if (failed == 0 && fchmod(fileno(file), 0666 & ~mask) != 0)
		failed = errno;
	if (fclose(file) != 0 && failed == 0)
		failed = errno;
	if (failed == 0 && rename(from, path) != 0)
		failed = errno;
	return failed;
}

/* The draft at hand. Whoever is stopped by a signal takes it away. */
static char draft[PATH_MAX];

static const int stops[] = { SIGHUP, SIGINT, SIGTERM };
enum { STOPS = sizeof(stops) / sizeof(*stops) };
static struct sigaction usual[STOPS]; /* what a pager needs, perhaps */

static void remove_draft(int number)
{
	unlink(draft);
	for (int i = 0; i < STOPS; i++)
		if (stops[i] == number)
			sigaction(number, &usual[i], NULL);
	raise(number);
}

/* From the draft's making to its end. A signal that is ignored stays so. */
static void watch_stops(bool begins)
{
	const struct sigaction watch = { .sa_handler = remove_draft };
	struct sigaction now;

	for (int i = 0; i < STOPS; i++) {
		if (sigaction(stops[i], NULL, &now) != 0)
			continue;
		const bool is_watched = now.sa_handler == remove_draft;

		if (begins && !is_watched && now.sa_handler != SIG_IGN) {
			usual[i] = now;
			sigaction(stops[i], &watch, NULL);
		} else if (!begins && is_watched) {
			sigaction(stops[i], &usual[i], NULL);
		}
	}
}

/* Make the draft. NULL, with the cause in errno; draft is "" then. */
static FILE *open_draft(void)
{
	sigset_t all, before;
	FILE *file;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	fd = mkostemp(draft, O_CLOEXEC);
	if (fd >= 0)
		watch_stops(true);
	sigprocmask(SIG_SETMASK, &before, NULL);
	file = fd < 0 ? NULL : fdopen(fd, "wb");
	return file;
}

/* Write a draft, and rename it when it is complete. The draft lies beside the
 * file, because a rename cannot cross file systems. The umask can only be read
 * by setting it. */
static int write_file(const char *path, out_file_fn fn, void *ctx)
{
	const mode_t mask = umask(0);
	FILE *file;
	int failed;

	umask(mask);
	if (snprintf(draft, sizeof(draft), "%s.XXXXXX", path) >=
	    (int)sizeof(draft))
		return err_add("the file's name is too long");
	file = open_draft();
	if (!file)
		return err_add("%s", strerror(errno));
	if (fn(file, ctx) != 0) {
		unlink(draft);
		watch_stops(false);
		fclose(file);
		return -1;
	}
	failed = finish(file, draft, path, mask);
	if (failed != 0)
		unlink(draft);
	watch_stops(false);
	return failed == 0 ? 0 : err_add("%s", strerror(failed));
}

/* What is no plain file, such as /dev/null, a named pipe or a link, stays what
 * it is. */
static int write_into(const char *path, out_file_fn fn, void *ctx)
{
	FILE *const file = fopen(path, "we");
	int failed;

	if (!file)
		return err_add("%s", strerror(errno));
	if (fn(file, ctx) != 0) {
		fclose(file);
		return -1;
	}
	failed = fflush(file) != 0 || ferror(file) ? errno : 0;
	if (fclose(file) != 0 && failed == 0)
		failed = errno;
	return failed == 0 ? 0 : err_add("%s", strerror(failed));
}

/* "-", or another name for it: what was written to it before stays. */
static bool is_stdout(const char *path)
{
	struct stat link, file, out;

	return strcmp(path, "-") == 0 ||
	       (lstat(path, &link) == 0 && S_ISLNK(link.st_mode) &&
		stat(path, &file) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
		file.st_dev == out.st_dev && file.st_ino == out.st_ino);
}

int out_file_write(const char *path, out_file_fn fn, void *ctx)
{
	struct stat there;
	int status;

	if (is_stdout(path)) {
		if (fn(stdout, ctx) == 0 && fflush(stdout) == 0)
			return 0;
		return err_add("cannot write the output");
	}
	status = lstat(path, &there) == 0 && !S_ISREG(there.st_mode) ?
		 write_into(path, fn, ctx) : write_file(path, fn, ctx);
	return status == 0 ? 0 : err_add("cannot write \"%s\"", path);
}

const char *out_file_beside(const char *folder, const char *ending, char *to,
			    size_t size)
{
	char whole[PATH_MAX];
	size_t length;

	if (strcmp(folder, ".") == 0 && realpath(folder, whole))
		folder = whole;
	length = strlen(folder);
	while (length > 1 && folder[length - 1] == '/')
		length--;
	snprintf(to, size, "%.*s%s", (int)length, folder, ending);
	return to;
}
