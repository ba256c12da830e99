/* identities_print.h - who was recorded: the lists of weft info.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_IDENTITIES_PRINT_H
#define WEFT_ANALYZER_CMD_IDENTITIES_PRINT_H

#include "analyzer/model/session.h"

#include "analyzer/cmd/cells.h"
/* At most so many of each kind; top 0: all. */
void identities_print(const struct session *, size_t top);

/* Is line i of count to be shown? Says once how many are not. */
int identities_print_is_shown(size_t i, size_t count, size_t top,
			      const char *what);

#endif
