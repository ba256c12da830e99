/* stack_table.h - distinct stacks, each stored once: a number stands for a
 * stack. Knows frames, their order and how they are called; knows no times and
 * no figures.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/func.h"

typedef uint32_t stack_id; /* a stack, by its innermost frame; 0: empty */

enum stack_flag {
	STACK_BODY = 1,     /* the outermost frame of a coroutine */
	STACK_OMITTED = 2,  /* stands for frames left out; func is how many */
	STACK_BEFORE = 4,   /* open since before the recording saw it */
	STACK_SAMPLED = 8,  /* no frame: what is on top, only ticks of sampled
	                     * Lua saw */
};

struct stack_frame {
	stack_id below;
	func_id func;
	uint32_t flags;
	uint32_t depth;     /* the number of frames, this one included */
};

struct stack_table;
struct stack_table *stack_table_new(void);
void stack_table_free(struct stack_table *);     /* NULL is allowed */

/* The stack with one more frame on top. */
stack_id stack_table_push(struct stack_table *, stack_id, func_id,
			  uint32_t flags);

/* Its innermost frame; needs id > 0. Valid until the next push. */
const struct stack_frame *stack_table_get(const struct stack_table *, stack_id);
/* Without the innermost frames that are a library's (func_is_library). 0: all
 * are. */
stack_id stack_table_own(const struct stack_table *, struct func_table *,
			 stack_id);
/* Its number of frames. */
size_t stack_table_depth(const struct stack_table *, stack_id);

/* A frame's function, or what stands for it: "[12 frames]" for frames left out,
 * "[open before start]" for one that was open before the recording saw it,
 * "[sampled]" before what ticks alone saw.
 * Written to room, or borrowed from the functions; untrusted. */
const char *stack_frame_name(struct func_table *, const struct stack_frame *,
			     char room[48]);
/* So many frames of a stack are in its text; of a deeper one the innermost. */
enum { STACK_TEXT_FRAMES = 256 };
/* The stack's names in one line, outermost first, with `between` between them:
 * "a;b;c", or "[3 frames];d;e". `between` has at most 7 bytes. The names are
 * untrusted and whole. The caller frees the text with mem_free. */
char *stack_table_text(const struct stack_table *, struct func_table *,
		       stack_id, const char *between);
/* The same for a person to read: "main > ... > run". Of a library's functions
 * (func_is_library), only those that the program called are named, and the
 * innermost one. shorten makes what is shown of a name, which is freed; NULL:
 * all of it. */
char *stack_table_line(const struct stack_table *, struct func_table *,
		       stack_id, char *(*shorten)(const char *));
