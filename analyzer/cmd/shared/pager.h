/* pager.h - what a person reads page by page, as git has it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/cmd/shared/cmd.h"

/* If stdout is a terminal and the command prints text there, send stdout
 * through the pager: WEFT_PAGER, or PAGER, or less, which shows what fits on
 * the screen at once. None if that is empty or "cat". Tables keep the width of
 * the terminal. */
void pager_start(const struct cmd *);
/* Flush stdout and wait until the pager ends, if there is one. */
void pager_end(void);
