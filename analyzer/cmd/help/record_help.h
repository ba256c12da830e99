/* record_help.h - the help of the recorder, which is another program and keeps
 * its options in a table of its own.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_HELP_RECORD_HELP_H
#define WEFT_ANALYZER_CMD_HELP_RECORD_HELP_H

/* Run the recorder and return what "weft record --help" prints. NULL if it is
 * not installed or says nothing. The caller frees it with mem_free. */
char *record_help_read(void);

enum { RECORD_HELP_NAME = 32, RECORD_HELP_ARG = 80 };
/* The next option in the help, which has a line "  -o, --output=DIR ..." for
 * each: its name, and what follows that up to the next space. Lines of other
 * shapes are passed over, so a recorder of another version costs options of the
 * completion, but breaks nothing. Returns where to go on, or NULL at the end,
 * and if help is NULL. */
const char *record_help_next(const char *help, char name[RECORD_HELP_NAME],
			     char arg[RECORD_HELP_ARG]);

#endif
