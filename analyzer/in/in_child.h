/* in_child.h - libbabeltrace2 in a process of its own: started, watched, ended.
 * Knows processes; what is read there is in_bt2's.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_CHILD_H
#define WEFT_ANALYZER_IN_IN_CHILD_H

#include "analyzer/in/in_bt2.h"

struct in_child;

/* NULL with a cause when there can be no process. streams: how many stream
 * files there are, for the memory it may use. */
struct in_child *in_child_start(const struct in_source *, size_t count,
				size_t streams);
/* The next chunk's words, the child's, until the next call. 1; 0 at the end;
 * -1 when the child failed, crashed or hung, and in_child_why says so. */
int in_child_next(struct in_child *, const uint64_t **words, size_t *n);
const char *in_child_why(const struct in_child *);
uint64_t in_child_refused(const struct in_child *);
uint64_t in_child_discarded(const struct in_child *);
/* End it, whatever it does. */
void in_child_end(struct in_child *);

#endif
