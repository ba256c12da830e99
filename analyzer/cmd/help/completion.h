/* completion.h - completion of weft's commands and options in shells.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_HELP_COMPLETION_H
#define WEFT_ANALYZER_CMD_HELP_COMPLETION_H

#include "analyzer/cmd/shared/cmd.h"

/* The names of the shells, NULL at the end. */
extern const char *const completion_shells[];

/* Print what makes shell number `shell` complete these commands, NULL at their
 * end, and the recorder's. record: its help, or NULL. */
void completion_print(int shell, const struct cmd *const *commands,
		      const char *record);

#endif
