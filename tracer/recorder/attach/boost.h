/* boost.h - a thread of another process runs before others for a moment, if we
 * may run before others. The kernel lends it our priority, and takes it back
 * when we end, also if we are killed: nothing of the thread is changed.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

/* Begin. It lasts until boost_end, for BOOST_MS at most. Without a real-time
 * priority of the caller, and before Linux 5.14, it does nothing. */
enum { BOOST_MS = 50 };
void boost_begin(pid_t tid);
/* End, within two milliseconds. */
void boost_end(void);
