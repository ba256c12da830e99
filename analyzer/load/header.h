/* header.h - the lines at the top of every report.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/load/load.h"

#include <stdio.h>

/* Program, date, duration, how many threads and such, what was lost, which part
 * is shown: a few lines. Untrusted bytes are made safe for a terminal. */
void header_begin(FILE *, const struct load *);

/* For --csv: what was lost, the notes, and which part is shown, as lines "#
 * ..." on stderr. stdout stays free for rows. */
void header_print_losses(const struct load *);

/* CMD_OK if the tree has a call; else CMD_UNREADABLE with the cause in the
 * chain, which says whether the filters or the recording left none. */
enum cmd_exit header_need_calls(const struct load *);
