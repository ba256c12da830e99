/* sessions.h - made-up sessions for tests of sums and differences.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/mem.h"
#include "analyzer/model/session.h"

#include <stdio.h>
#include <string.h>

/* A session of one process and thread, in ticks of hz. */
static inline struct session *sessions_new(uint64_t hz, const char *thread)
{
	struct session *const s = session_new(0);

	s->tick_hz = hz;
	s->hz_error = 5;
	s->processes = mem_alloc(sizeof(*s->processes));
	s->processes[s->process_count++] = (struct process){
		.recording = hz ^ 77, .pid = 5, .path = "/bin/made-up" };
	s->threads = mem_alloc(sizeof(*s->threads));
	s->threads[s->thread_count++] = (struct thread){ .last = hz };
	snprintf(s->threads[0].name, sizeof(s->threads[0].name), "%s", thread);
	return s;
}

/* A native function of a build, with its name. */
static inline func_id sessions_func(struct session *s, uint8_t build,
				    uint64_t offset, const char *name)
{
	const uint8_t id[20] = { build, 1, 2, 3 };
	const elf_id elf = func_module(s->funcs, "/bin/made-up", id, 20, 4096);
	const func_id f = func_native(s->funcs, elf, offset);

	func_get(s->funcs, f)->name = arena_copy(s->text, name, strlen(name));
	func_get(s->funcs, f)->file = "/src/made-up.c";
	return f;
}

static inline node_id sessions_calls(struct session *s, node_id parent,
				     func_id f, uint64_t calls, ticks self)
{
	const node_id id = cct_child(s->cct, parent, f, 0);
	struct cct_node *const n = cct_get(s->cct, id);

	n->calls += calls;
	n->self += self;
	s->calls += calls;
	cct_time(s->cct, id, calls > 0 ? self / calls : 0);
	return id;
}

/* Add figures to the node of a function without a module. */
static inline node_id sessions_node(struct session *s, node_id parent,
				    const char *name, uint32_t flags,
				    uint64_t calls, ticks self, ticks susp)
{
	const node_id id = cct_child(s->cct, parent,
				     func_special(s->funcs, name), flags);
	struct cct_node *const n = cct_get(s->cct, id);

	n->calls += calls;
	n->self += self;
	n->suspended += susp;
	return id;
}
