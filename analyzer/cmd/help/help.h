/* help.h - what a command takes, and what is printed about it on a
 * terminal.
 *
 * analyzer/cmd/help: all that is told about commands, each text printed from
 * the rows of the commands' options. Knows no option of a single command. The
 * list of the commands is cmd_help.c's; the other files get it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/args/opt.h"
#include "analyzer/cmd/shared/cmd.h"

/* Bytes of one option's text, with the 0 at its end. */
enum { HELP_SIZE = 800 };

/* The recorder's commands beside "weft record". The last has no name. */
struct help_control { const char *name, *args, *summary; };
extern const struct help_control help_controls[];

/* All options that a command takes, --help last: its own, and those of every
 * command that reads traces. For opt_parse. */
struct help_options { struct opt row[5]; };
struct help_options help_options_of(const struct cmd *);
/* Call fn for the row of each option that help lists. */
void help_each_option(const struct cmd *, opt_fn fn, void *ctx);
/* Was --help among the options that were parsed? */
bool help_is_asked(void);

/* "weft help" alone. The list of commands ends with NULL. */
void help_print_overview(const struct cmd *const *commands);
/* "weft COMMAND --help": usage, what the command is about, its options. */
void help_print_command(const struct cmd *);

/* ---- the man page ------------------------------------------------------- */

/* Print weft(1), the man page of weft and of these commands, NULL at their end,
 * as troff. Without the recorder, its part refers to its own help. record: the
 * recorder's help, or NULL. */
void man_print(const struct cmd *const *commands, const char *record);

/* ---- completion in shells ----------------------------------------------- */

/* The names of the shells, NULL at the end. */
extern const char *const completion_shells[];

/* Print what makes shell number `shell` complete these commands, NULL at their
 * end, and the recorder's. record: its help, or NULL. */
void completion_print(int shell, const struct cmd *const *commands,
		      const char *record);

/* ---- the help of the recorder ------------------------------------------- */

/* Run the recorder, which is another program with a table of options of its
 * own, and return what "weft record --help" prints. NULL if it is
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
