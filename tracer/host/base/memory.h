/* memory.h - memory for the Lua side's tables: taken once, never given back.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_BASE_MEMORY_H
#define WEFT_TRACER_HOST_BASE_MEMORY_H

#include "tracer/host/base/base.h"

/* Zeroed, 16-byte aligned; NULL: none left. Hook-safe: no lock, no malloc; does
 * not change errno. */
void *memory_get(size_t size);

/* Can this byte be read? A system call. Hook-safe. */
int memory_readable(const void *at);

/* Copy size bytes from an address that may be wrong; whether it worked. */
int memory_copy(void *to, const void *from, size_t size);

#endif
