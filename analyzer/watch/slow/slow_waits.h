/* slow_waits.h - parts of the time of a stream's open calls that are not told
 * call by call: off the CPU, collecting garbage. Private to slow.c.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/slow/slow_list.h"

/* By depth, as the stack was when a part was last added: the parts while that
 * call was the innermost, or one that it made and that has ended. All zero at
 * first; mem_free frees `at`. */
struct slow_waits {
	struct slow_wait { ticks entry; struct slow_parts parts; } *at;
	size_t count, room;
};

/* So much more, while the stack is as it is. */
void slow_waits_add(struct slow_waits *, const struct stream *,
		    const struct slow_parts *);

/* Add the parts that a call, which is on the stack or was until now, has had
 * since it came there. */
void slow_waits_of(struct slow_waits *, const struct stream *, size_t depth,
		   ticks entry, struct slow_parts *to);
