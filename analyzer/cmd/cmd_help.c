/* cmd_help.c - "weft help": what there is. Also prints the man page and the
 * shell completion, so that they are made of the same rows.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/help.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int arg_man, arg_completion, arg_version;

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "man", .to = &arg_man,
	  .help = "print the man page weft(1), as troff" },
	{ .type = OPT_FLAG, .name = "completion", .to = &arg_completion,
	  .help = "print completion for bash" },
	{ .type = OPT_FLAG, .name = "version", .to = &arg_version,
	  .help = "print weft's version" },
	{ .type = OPT_END }
};

enum { TEXT_MAX = 1 << 16 };

/* The recorder, beside this program; it may not be installed. */
static int recorder_path(char *path, size_t size)
{
	const ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (length <= 0)
		return -1;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if ((size_t)(slash - path) + sizeof("/weft-record") > size)
		return -1;
	strcpy(slash, "/weft-record");
	return access(path, X_OK);
}

static void read_all(int from, char *text)
{
	size_t size = 0;
	ssize_t got;

	while (size < TEXT_MAX - 1 &&
	       (got = read(from, text + size, TEXT_MAX - 1 - size)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		size += got < 0 ? 0 : (size_t)got;
	}
	text[size] = '\0';
}

/* What "weft record --help" prints: its options are in the recorder's own
 * table. NULL without a recorder; freed with mem_free. */
static char *record_help(void)
{
	char path[PATH_MAX];
	int ends[2];
	char *text;
	pid_t child;

	if (recorder_path(path, sizeof(path)) != 0 || pipe(ends) != 0)
		return NULL;
	child = fork();
	if (child == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execl(path, "weft record", "--help", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	text = mem_alloc(TEXT_MAX);
	if (child > 0)
		read_all(ends[0], text);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (text[0] == '\0') {
		mem_free(text);
		return NULL;
	}
	return text;
}

static enum cmd_exit run(int count, char **operands)
{
	const struct cmd *cmd;

	if (arg_version) {
		help_version(stdout);
	} else if (arg_completion) {
		help_completion(stdout);
	} else if (arg_man) {
		char *const record = record_help();

		help_man(stdout, record);
		mem_free(record);
	} else if (count == 0 || strcmp(operands[0], "record") == 0) {
		char *const record = count == 0 ? NULL : record_help();

		if (record)
			fputs(record, stdout);
		else
			help_overview(stdout);
		mem_free(record);
	} else {
		cmd = cmd_find(operands[0]);
		if (!cmd) {
			err_add("there is no command \"%s\"", operands[0]);
			return CMD_USAGE;
		}
		help_command(stdout, cmd);
	}
	return CMD_OK;
}

const struct cmd cmd_help = {
	"help", "[COMMAND]", "tell about weft or one of its commands",
	"Without a command, lists them all.", opts, run
};
