/* record_help.c - runs the recorder and reads what it prints.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/help/help.h"
#include "analyzer/base/child.h"
#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the recorder's help, with the 0 at its end. */
enum { RECORD_MAX = 1 << 16 };

/* The recorder's options are known to that program alone. More than fits is not
 * its help. */
char *record_help_read(void)
{
	char path[PATH_MAX], *word, *command, *text;
	FILE *from;

	if (child_find_recorder(path) != 0)
		return NULL;
	word = out_escape_shell(path);
	command = mem_print("%s --help", word);
	text = mem_alloc(RECORD_MAX);
	from = popen(command, "r");
	mem_free_all(word, command);
	if (from) {
		text[fread(text, 1, RECORD_MAX - 1, from)] = '\0';
		pclose(from);
	}
	if (text[0])
		return text;
	mem_free(text);
	return NULL;
}

const char *record_help_next(const char *help, char name[RECORD_HELP_NAME],
			     char arg[RECORD_HELP_ARG])
{
	while (help && *help) {
		const char *at = help + strspn(help, " ");

		help += strcspn(help, "\n");
		help += *help == '\n';
		if (at[0] == '-' && at[1] != '-')
			at += strcspn(at, " \n") + 1;
		arg[0] = '\0';
		if (sscanf(at, "--%31[a-z-]=%79[^ \n]", name, arg) >= 1)
			return help;
	}
	return NULL;
}

