/* heap.h - memory that a library gives out of its own, for weft record --heap.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* An allocator of Lua's kind: what it was made with, the block or NULL, its
 * size, and its new size; 0: it is given back. */
typedef void *heap_alloc_fn(void *data, void *p, size_t size, size_t wanted);
struct heap_alloc {
	heap_alloc_fn *function;
	void *data;
};

/* One that calls another, which does not get what it gives from malloc, and
 * notes what that does. data: struct heap_alloc. */
heap_alloc_fn heap_alloc_call;
