/* weft_main.c - the `weft` command: hands over to the recording or to the
 * analyzing half, whichever the subcommand belongs to. Knows nothing else.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CANNOT = 2 };

/* PREFIX/bin/weft -> PREFIX/libexec/weft/NAME */
static int find_half(const char *name, char *out, size_t room)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return -1;
	self[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *const slash = strrchr(self, '/');

		if (!slash)
			return -1;
		*slash = '\0';
	}
	const int length = snprintf(out, room, "%s/libexec/weft/%s", self,
				    name);

	return length > 0 && (size_t)length < room ? 0 : -1;
}

static void complain(const char *half, const char *path)
{
	const int records = strcmp(half, "weft-record") == 0;

	if (errno == ENOENT)
		fprintf(stderr, "weft: the %s half is not installed (package "
			"%s): there is no \"%s\"\n",
			records ? "recording" : "analyzing",
			records ? "weft-record" : "weft-analyze", path);
	else
		fprintf(stderr, "weft: cannot run \"%s\": %s\n", path,
			strerror(errno));
}

/* Help and version, too, are the analyzing half's to print; where it is not
 * installed, say at least what can be done. */
static void print_short_help(void)
{
	fputs("usage: weft record [options] -- program args\n"
	      "       weft report DIR    (and tree, coroutines, dump, info "
	      "...: the analyzing half)\n", stderr);
}

int main(int argc, char **argv)
{
	const int records = argc > 1 && strcmp(argv[1], "record") == 0;
	const char *const half = records ? "weft-record" : "weft-analyze";
	char path[PATH_MAX], name[] = "weft record";

	if (find_half(half, path, sizeof(path)) != 0) {
		fprintf(stderr, "weft: cannot find out where weft is "
			"installed\n");
		return CANNOT;
	}
	if (records) {
		argv[1] = name;
		execv(path, argv + 1);
	} else {
		execv(path, argv);
	}
	complain(half, path);
	if (argc < 2)
		print_short_help();
	return CANNOT;
}
