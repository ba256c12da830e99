/* help.h - what people are told about commands and options, all of it printed
 * from their tables.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_HELP_H
#define WEFT_ANALYZER_CMD_HELP_H

#include "analyzer/cmd/cmd.h"

#include <stdio.h>

#ifndef WEFT_VERSION
#define WEFT_VERSION "0.1.0"
#endif

void help_version(FILE *);
void help_overview(FILE *);                        /* "weft help" */
void help_command(FILE *, const struct cmd *);     /* "weft X --help" */
void help_completion(FILE *);                      /* for bash */
/* weft(1). record_help is what "weft record --help" prints, or NULL. */
void help_man(FILE *, const char *record_help);

#endif
