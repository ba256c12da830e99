/* weft_main.c - the `weft` command: starts the recorder or the analyzer,
 * depending on the subcommand. Knows nothing else.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/control.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CANNOT = 2 };

/* PREFIX/bin/weft -> PREFIX/libexec/weft/NAME */
static int find_part(const char *name, char *out, size_t room)
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

static void explain(bool records, const char *path)
{
	if (errno == ENOENT)
		fprintf(stderr, "weft: the %s is not installed: install the "
			"package %s; there is no \"%s\"\n",
			records ? "recorder" : "analyzer",
			records ? "weft-record" : "weft-analyze", path);
	else
		fprintf(stderr, "weft: cannot run \"%s\": %s\n", path,
			strerror(errno));
}

static bool is_recorders(const char *command)
{
	static const char *const names[] = { "record",
#define X(name, args, summary) #name,
		CONTROL_COMMANDS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], command) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const bool records = argc > 1 && is_recorders(argv[1]);
	char path[PATH_MAX], name[] = "weft record";

	if (find_part(records ? "weft-record" : "weft-analyze", path,
		      sizeof(path)) != 0) {
		fprintf(stderr, "weft: cannot find out where weft is "
			"installed\n");
		return CANNOT;
	}
	if (records && strcmp(argv[1], "record") == 0)
		argv[1] = name;
	execv(path, argv + records);
	explain(records, path);
	/* The analyzer prints help and version. Without it, say at least what
	 * can be done. */
	if (argc < 2)
		fputs("usage: weft record [options] -- program [args]\n"
		      "       weft report DIR    (and tree, coroutines, dump, "
		      "info ...: needs the analyzer)\n", stderr);
	return CANNOT;
}
