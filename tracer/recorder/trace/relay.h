/* relay.h - a relay daemon of LTTng on another machine: where it is, and
 * whether it is still there. LTTng itself does not tell that it has lost it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Bytes that may be on their way to a relay daemon, in buffers of both kernels,
 * when it dies. */
enum { RELAY_BYTES = 16 << 20 };

/* Where one listens. All zero: there is none. */
struct relay {
	char host[256];            /* a name or an address */
	char control[6], data[6];  /* ports */
};

/* Read "tcp://HOST", "net://HOST:CONTROL:DATA" and the like, with an IPv6
 * address in brackets. Returns false and leaves *r alone if url is none of
 * these. */
bool relay_read(struct relay *r, const char *url);
/* The same as LTTng takes it. */
void relay_url(const struct relay *r, char *out, unsigned long room);
/* Connect to the control port, and say nothing there: the descriptor can be
 * read once the daemon, or its machine, is gone. Waits for 2 s at most, or as
 * long as a name takes. Negative: it cannot be reached. */
int relay_watch(const struct relay *r);
