/* tree_text.h - small trees for tests, as text: a line a node, "PATH CALLS SELF
 * SUSPENDED", and what a view makes of them. Included whole.
 * A path begins with its thread: "0;a;~b;[c]" is c, standing for omitted
 * frames, called by b, the body of a coroutine that a resumed on thread 0.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"
#include "analyzer/tables/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline node_id tree_text_node(struct session *s, char *path)
{
	char *rest;
	const char *word = strtok_r(path, ";", &rest);
	node_id at = cct_root(s->cct, (uint32_t)atoi(word));

	while ((word = strtok_r(NULL, ";", &rest)) != NULL) {
		const uint32_t flags = word[0] == '~' ? CCT_BODY :
				       word[0] == '[' ? CCT_OMITTED : 0;

		at = cct_child(s->cct, at, func_special(s->funcs,
			       word + (word[0] == '~')), flags);
	}
	return at;
}

static inline struct session *tree_text_read(const char *text)
{
	struct session *const s = session_new(0);
	char path[256];
	uint64_t calls, self, suspended;
	int used;

	while (sscanf(text, "%255s %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
		      path, &calls, &self, &suspended, &used) == 4) {
		struct cct_node *const n =
			cct_get(s->cct, tree_text_node(s, path));

		n->calls += calls;
		n->self += self;
		n->suspended += suspended;
		text += used;
	}
	return s;
}

/* Rows as "a.b calls+recursive self total suspended" lines: as many dots as
 * levels, ~ for one that crosses, xN for N levels folded. */
struct tree_text { struct session *s; char text[4096]; size_t depth; };

static inline bool tree_text_row(void *ctx, const struct tree_row *row)
{
	struct tree_text *const t = ctx;
	char *const end = t->text + strlen(t->text);
	char levels[16] = "";

	if (row->levels > 1)
		snprintf(levels, sizeof(levels), "x%" PRIu32, row->levels);
	snprintf(end, (size_t)(t->text + sizeof(t->text) - end),
		 "%.*s%s%s%s %" PRIu64 "+%" PRIu64 " %" PRIu64 " %" PRIu64
		 " %" PRIu64 "\n", (int)row->depth, "................",
		 row->crosses ? "~" : "",
		 row->kind == TREE_ROOT ? "root" :
		 row->kind == TREE_OUTSIDE ? "outside" :
		 func_get(t->s->funcs, row->f.func)->name, levels,
		 row->f.calls - row->f.recursive, row->f.recursive, row->f.self,
		 row->f.total, row->f.suspended);
	return t->depth == 0 || row->depth < t->depth;
}
