/* made.h - a made-up session: processes, threads, coroutines and functions, at
 * one moment of a random story. What happens is told twice: as chunks, and as
 * lines of plain text.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { MADE_PROCESSES = 3, MADE_THREADS = 6, MADE_VMS = 4, MADE_MODULES = 3,
       MADE_FUNCS = 24, MADE_COROUTINES = 60, MADE_DEPTH = 40,
       MADE_SEGMENTS = 6 };

enum made_kind { MADE_NATIVE, MADE_LUA, MADE_CODE };
enum made_state { MADE_NEW, MADE_SUSPENDED, MADE_RUNNING, MADE_DEAD };

struct made_func {
	enum made_kind kind;
	uint32_t module, line, last_line, ordinal;
	uint64_t offset;         /* or address */
	char source[40], hint[24];
};

struct made_stack {
	struct made_frame { uint32_t func; uint64_t entry; } frame[MADE_DEPTH];
	uint32_t depth;
	struct made_frame body;  /* of a coroutine, under what replaced it */
	int on_body;
};

struct made_coroutine {
	uint32_t process, vm;
	enum made_state state;
	struct made_stack stack;
	uint64_t since;          /* suspended */
	const void *chunk;       /* in which its stack is known to the reader */
	uint64_t chunk_number;
};

/* Chunks of one thread and level. */
struct made_stream {
	struct chunk_build *build;
	uint64_t number, written, end;
	int is_open;
	uint32_t modules, module[MADE_MODULES]; /* number + 1 in this chunk */
	int vm_told[MADE_VMS];
};

struct made_thread {
	uint32_t process, serial;
	int is_alive;
	struct made_stream stream[2];
	uint32_t segment[MADE_SEGMENTS], segments; /* serials; first is 0 */
	struct made_stack own;
	int is_watched;          /* its off-CPU intervals are recorded */
	uint32_t first_func;     /* it prefers those from here on */
};

struct made_chunk { uint64_t *words; size_t n; const void *stream; };

struct made {
	uint64_t recording, random, now;
	FILE *log, *spill;
	uint32_t processes, threads, vms, funcs, coroutines;
	uint32_t path_of[MADE_PROCESSES], label[MADE_PROCESSES + 1];
	uint64_t watched;        /* off-CPU: 0: nothing, 1: all, 2: some */
	struct made_thread thread[MADE_THREADS];
	struct { uint32_t process, abi; } vm[MADE_VMS];
	struct made_func func[MADE_FUNCS];
	struct made_coroutine co[MADE_COROUTINES + 1]; /* by serial */
	struct made_chunk *chunk;
	size_t chunks, chunk_room;
	uint64_t calls;
};

static inline uint64_t made_random(struct made *m, uint64_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random >> 11) % n;
}

/* Once in n times. */
static inline int made_chance(struct made *m, uint64_t n)
{
	return made_random(m, n) == 0;
}

static inline struct made_stack *made_top(struct made *m,
					  struct made_thread *t)
{
	const uint32_t serial = t->segment[t->segments - 1];

	return serial ? &m->co[serial].stack : &t->own;
}

void made_cast_all(struct made *);
const char *made_cast_path(uint32_t module);
const char *made_cast_label(uint32_t label, int is_value);

/* made_chunk.c: chunks, as docs/format.md has them. */
void made_chunk_begin(struct made *, struct made_thread *, int level);
void made_chunk_end(struct made *, struct made_thread *, int level,
		    int is_last);
/* Gap up to now; TIME records for what is long. */
uint64_t made_chunk_gap(struct made *, struct made_stream *);
uint32_t made_chunk_func(struct made *, struct made_thread *, int level,
			 uint32_t func);
void made_chunk_vm(struct made *, struct made_thread *, uint32_t vm);
void made_chunk_meta(struct made *, int is_end);
void made_chunk_write_all(struct made *);

void made_act(struct made *, struct made_thread *);
uint32_t made_act_func(struct made *, struct made_thread *);
void made_switch(struct made *, struct made_thread *);
/* made_handler.c: a signal handler runs, now and for a while, when records
 * words are in the chunk. */
void made_handler(struct made *, struct made_thread *, uint32_t records);
