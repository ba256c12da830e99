/* man.h - the man page weft(1).
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_HELP_MAN_H
#define WEFT_ANALYZER_CMD_HELP_MAN_H

#include "analyzer/cmd/shared/cmd.h"

/* Print the man page of weft and of these commands, NULL at their end, as
 * troff. Without the recorder, its part refers to its own help. record: the
 * recorder's help, or NULL. */
void man_print(const struct cmd *const *commands, const char *record);

#endif
