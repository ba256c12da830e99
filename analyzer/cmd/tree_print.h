/* tree_print.h - the lines of a tree, as a table or as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_TREE_PRINT_H
#define WEFT_ANALYZER_CMD_TREE_PRINT_H

#include "analyzer/tables/tree_walk.h"

struct tree_print {
	struct session *session;
	struct tree_view view;
	int is_bottom_up;
	enum tree_key key;       /* siblings by this, descending */
	double min;              /* percent; the table leaves out less: by total,
	                          * bottom up by key */
	size_t depth;            /* levels below the root; 0: all */
	int depth_is_given;      /* by the user, who need not be told */
	ticks time;              /* of all roots: what shares are parts of */
	uint64_t calls;          /* the same */
};

void tree_print_table(const struct tree_print *);
void tree_print_csv(const struct tree_print *);

#endif
