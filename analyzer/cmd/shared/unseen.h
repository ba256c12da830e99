/* unseen.h - memory that Lua states have and no block is seen of: LuaJIT's in a
 * process that was recorded from later on, or that of an allocator of the
 * program's own.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/load/load.h"
#include "analyzer/watch/heap.h"
#include "analyzer/watch/vm_memory.h"

/* Blocks, and what Lua counts: of one replay. */
struct unseen { struct heap heap; struct vm_memory vms; };

void unseen_init(struct unseen *, const struct session *);
void unseen_fini(struct unseen *);

/* 0, or -1: the cause is in the chain. */
int unseen_read(struct unseen *, struct load *);

/* A sentence on the state that has most, if that is far more than is seen of
 * all; else NULL. The caller frees it. */
char *unseen_text(struct unseen *, const struct session *,
		  const struct heap_table *, ticks from, ticks to);
