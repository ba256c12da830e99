/* filter.c - patterns, and a new tree made of a session's: each node goes below
 * the place where its parent went, or it is left out.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/filter.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "tracepoints/pattern.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- patterns ----------------------------------------------------------- */

bool filter_match_text(const char *text, const char *pattern)
{
	while (pattern) {
		const char *const p = pattern;
		struct pattern a = pattern_next(&pattern);

		a.p = p; /* no key means anything here */
		if (pattern_match_text(&a, text))
			return true;
	}
	return false;
}

/* "work <x.lua:3>". */
static bool match_lua(const struct pattern *a, const char *name)
{
	const char *end = name + strlen(name);

	while (end > name && strncmp(end, " <", 2) != 0)
		end--;
	return end > name && pattern_match_lua(a, name, end);
}

/* "work <x.lua:3~12ab>", where another source is called x.lua, is also found
 * without the digits that tell them apart: these may not have been known. */
static bool match_alone(const struct pattern *a, const char *name)
{
	enum { DIGITS = 6 }; /* "~12ab>" */
	const size_t n = strlen(name);
	char *alone;
	bool is;

	if (n < DIGITS || name[n - DIGITS] != '~')
		return false;
	alone = mem_grow(NULL, n + 1, 1);
	memcpy(alone, name, n - DIGITS);
	memcpy(alone + n - DIGITS, ">", 2);
	is = pattern_match_text(a, alone);
	mem_free(alone);
	return is;
}

/* "f, g": a linker has folded them, and either is meant. */
static bool match_native(const struct pattern *a, const char *name)
{
	const char *const end = name + text_name_size(name);
	const char *const base = pattern_base_end(name);

	return pattern_match(a, name, end) ||
	       pattern_match(a, name, base < end ? base : end);
}

static bool match_any_native(const struct pattern *a, const char *name)
{
	for (; name; name = text_name_next(name))
		if (match_native(a, name))
			return true;
	return false;
}

static bool match_func(struct session *s, const struct func *f,
		       const struct pattern *a)
{
	switch (a->of) {
	case PATTERN_MODULE:
		return f->kind == FUNC_NATIVE &&
		       pattern_match_path(a, func_elf(s->funcs,
						      f->module)->path);
	case PATTERN_FILE:
		return pattern_match_path(a, f->file);
	case PATTERN_LANGUAGE:
		return pattern_match_text(a, func_language(f));
	default:
		return pattern_match_name(a, f->name) ||
		       (f->kind == FUNC_NATIVE &&
			match_any_native(a, f->name)) ||
		       (f->kind == FUNC_LUA && (match_lua(a, f->name) ||
						match_alone(a, f->name)));
	}
}

bool filter_match_func(struct session *s, func_id id, const char *pattern)
{
	const struct func *const f = func_get(s->funcs, id);

	while (pattern) {
		const struct pattern a = pattern_next(&pattern);

		if (match_func(s, f, &a))
			return true;
	}
	return false;
}

uint8_t *filter_match_funcs(struct session *s, const char *pattern)
{
	struct pattern *a;
	uint8_t *all;
	size_t count;

	if (!pattern)
		return NULL;
	all = mem_alloc(func_count(s->funcs) + 1);
	a = mem_alloc(pattern_room(pattern) * sizeof(*a));
	count = pattern_split(pattern, a);
	for (func_id f = 1; f <= func_count(s->funcs); f++)
		for (size_t i = 0; i < count && !all[f]; i++)
			all[f] = match_func(s, func_get(s->funcs, f), &a[i]);
	mem_free(a);
	return all;
}

uint8_t *filter_left_out(struct session *s, const struct filter *f)
{
	const size_t count = func_count(s->funcs);
	uint8_t *all = filter_match_funcs(s, f->skip);
	uint8_t *const only = filter_match_funcs(s, f->only);

	if (!only)
		return all;
	if (!all)
		all = mem_alloc(count + 1);
	for (func_id id = 1; id <= count; id++) {
		const enum func_kind kind = func_get(s->funcs, id)->kind;

		if ((kind == FUNC_NATIVE || kind == FUNC_CODE ||
		     kind == FUNC_LUA) && !only[id])
			all[id] = 1;
	}
	mem_free(only);
	return all;
}

static bool match_number(uint32_t number, const char *pattern)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	return filter_match_text(text, pattern);
}

bool filter_match_thread(const struct session *s, uint32_t thread,
			 const char *pattern)
{
	return thread < s->thread_count &&
	       (match_number(s->threads[thread].tid, pattern) ||
		filter_match_text(s->threads[thread].name, pattern));
}

bool filter_match_process(const struct session *s, uint32_t process,
			  const char *pattern)
{
	const char *path;

	if (process >= s->process_count)
		return false;
	path = s->processes[process].path;
	return match_number(s->processes[process].pid, pattern) ||
	       filter_match_text(path, pattern) ||
	       filter_match_text(text_base_name(path), pattern);
}

/* A root for all threads has no thread: no pattern matches it. */
static bool has_thread(const struct session *s, const struct filter *f,
		       uint32_t thread)
{
	if (f->thread && !filter_match_thread(s, thread, f->thread))
		return false;
	return !f->process || (thread < s->thread_count &&
	       filter_match_process(s, s->threads[thread].process,
				    f->process));
}

uint8_t *filter_threads(const struct session *s, const struct filter *f)
{
	uint8_t *const threads = mem_alloc(s->thread_count + 1);

	for (uint32_t i = 0; i < s->thread_count; i++)
		threads[i] = has_thread(s, f, i);
	return threads;
}

/* ---- filters ------------------------------------------------------------ */

/* What is known about a node of the old tree. */
enum place {
	IS_IN = 1,       /* its thread and time are asked for */
	IS_CHOSEN = 2,   /* it, or a node above it, is the coroutine's body */
	IS_UNDER = 4,    /* ... is a frame of under */
	IS_FOCUS = 8,    /* ... is a frame of focus */
	LEADS = 16,      /* a node below it is a frame of focus */
	BODY_GONE = 32,  /* it was a body and is skipped: the node on top of it
	                  * becomes its coroutine's outermost frame */
};

struct work {
	struct session *session;
	const struct filter *filter;
	struct cct *from, *to;
	uint8_t *place;          /* by old node: enum place */
	node_id *at;             /* by old node: its new one; 0: none */
	uint8_t *under, *focus, *skip, *count; /* by func: does it match? */
	enum filter_keep keep;
};

/* Which conditions hold at a node, after its parent. */
static uint8_t place_of(const struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->from, id);
	uint8_t p;

	if (!n->parent)
		p = has_thread(w->session, w->filter, n->thread) ? IS_IN : 0;
	else
		p = w->place[n->parent] & (IS_IN | IS_CHOSEN | IS_UNDER |
					   IS_FOCUS);
	if (n->flags & CCT_OUTSIDE)
		p = 0;
	if (n->flags & CCT_CHOSEN)
		p |= IS_CHOSEN;
	if (!n->parent || (n->flags & CCT_OMITTED))
		return p;
	if (w->under && w->under[n->func])
		p |= IS_UNDER;
	if (w->focus && w->focus[n->func])
		p |= IS_FOCUS;
	return p;
}

/* Do all conditions hold that are set? focus: the marks that do for it. */
static bool has_place(const struct work *w, uint8_t p, uint8_t focus)
{
	return (p & IS_IN) && (!w->filter->coroutine || (p & IS_CHOSEN)) &&
	       (!w->under || (p & IS_UNDER)) && (!w->focus || (p & focus));
}

/* Does what happened at the node count? */
static bool counts(const struct work *w, node_id id)
{
	return has_place(w, w->place[id], IS_FOCUS);
}

/* Only with focus, callers of what counts are shown too. */
static bool is_shown(const struct work *w, node_id id)
{
	return has_place(w, w->place[id], IS_FOCUS | LEADS);
}

/* Did nothing happen at the node itself? A finished call may have left nothing
 * but the mark CCT_TIMED. */
static bool is_empty(struct cct *t, node_id id)
{
	const struct cct_node *const n = cct_get(t, id);
	const struct cct_heap heap = cct_heap_of(t, id);

	return heap.taken.blocks + heap.in_use.blocks <= 0 &&
	       n->calls == 0 && n->self == 0 && n->suspended == 0 &&
	       !(n->flags & CCT_TIMED);
}

/* Mark what counts, and what leads there: first from the roots down, then from
 * the leaves up. With a range, nodes go if nothing happened in them and nothing
 * below them counts. Nodes that go lose IS_IN. */
static void mark(struct work *w)
{
	const size_t count = cct_count(w->from);
	uint8_t *const alive = mem_alloc(count + 1);

	for (node_id id = 1; id <= count; id++)
		w->place[id] = place_of(w, id);
	for (node_id id = (node_id)count; id > 0; id--) {
		const struct cct_node *const n = cct_get(w->from, id);

		if (counts(w, id) &&
		    (!w->filter->range || !is_empty(w->from, id) || !n->parent))
			alive[id] = 1;
		if (!alive[id]) {
			w->place[id] &= (uint8_t)~IS_IN;
			continue;
		}
		if (!n->parent)
			continue;
		if (w->filter->range || w->focus)
			alive[n->parent] |= (w->place[n->parent] & IS_IN) != 0;
		if (w->place[id] & (IS_FOCUS | LEADS))
			w->place[n->parent] |= LEADS;
	}
	mem_free(alive);
}

static uint32_t kept_flags(const struct work *w, node_id id)
{
	const uint32_t flags = cct_get(w->from, id)->flags;
	const uint32_t vm = w->keep != FILTER_KEEP_VM ? 0 :
			    session_body_vm(w->session, flags);

	return w->keep == FILTER_KEEP_ALL ? flags :
	       (flags & CCT_SHAPE) | vm << CCT_OF_SHIFT;
}

/* The flags of the skipped body at or above this node. */
static uint32_t flags_of_body(const struct work *w, node_id id)
{
	while (!(cct_get(w->from, id)->flags & CCT_BODY))
		id = cct_get(w->from, id)->parent;
	return kept_flags(w, id) & ~(uint32_t)CCT_OMITTED;
}

/* Find or add the node below its new parent. If the body of its coroutine was
 * skipped, it becomes the body. */
static void add_child(struct work *w, node_id id, node_id parent)
{
	const struct cct_node *const n = cct_get(w->from, id);
	uint32_t flags = kept_flags(w, id);

	if (n->parent && (w->place[n->parent] & BODY_GONE) &&
	    !(flags & CCT_BODY))
		flags |= flags_of_body(w, n->parent);
	w->at[id] = cct_child(w->to, parent, n->func, flags);
	if (counts(w, id))
		cct_add(w->to, w->at[id], w->from, id);
}

/* The frame's time becomes its caller's. But the time in which a coroutine was
 * suspended is neither its resumer's nor a thread's. */
static void skip_node(struct work *w, node_id id, node_id parent)
{
	const struct cct_node *const n = cct_get(w->from, id);
	const bool body = (n->flags & CCT_BODY) ||
			  (w->place[n->parent] & BODY_GONE);

	w->at[id] = parent;
	if (body)
		w->place[id] |= BODY_GONE;
	if (!counts(w, id))
		return;
	cct_add_times(w->to, parent, w->from, id);
	if (body || !cct_get(w->to, parent)->parent)
		cct_get(w->to, parent)->suspended -= n->suspended;
}

/* The frame goes, and its calls stay under its caller. */
static void count_node(struct work *w, node_id id, node_id parent)
{
	const struct cct_node *const n = cct_get(w->from, id);
	const uint32_t flags = w->place[n->parent] & BODY_GONE ?
			       flags_of_body(w, n->parent) : kept_flags(w, id);
	node_id at;

	skip_node(w, id, parent);
	at = cct_child(w->to, parent, n->func, flags & ~(uint32_t)CCT_TIMED);
	if (counts(w, id))
		cct_add_untimed(w->to, at, n->calls);
}

/* Give a node its place in the new tree. If its parent has none (under: nothing
 * above the frame is shown), that is below the root of its thread. */
static void place_node(struct work *w, const node_id *root, node_id id)
{
	const struct cct_node *const n = cct_get(w->from, id);
	node_id parent;

	if (!n->parent) {
		if (!(w->place[id] & IS_IN))
			return;
		w->at[id] = cct_root(w->to, n->thread);
		if (counts(w, id))
			cct_add(w->to, w->at[id], w->from, id);
		return;
	}
	if (!is_shown(w, id))
		return;
	parent = w->at[n->parent];
	if (!parent)
		parent = cct_root(w->to, cct_get(w->from, root[id])->thread);
	assert(parent != 0);
	if (w->skip && w->skip[n->func] && !(n->flags & CCT_OMITTED))
		skip_node(w, id, parent);
	else if (w->count && w->count[n->func] &&
		 !(n->flags & (CCT_OMITTED | CCT_BODY)))
		count_node(w, id, parent);
	else
		add_child(w, id, parent);
}

/* Parents come before their children, so a parent's new place is known. root:
 * by node, the root it is below. */
static void build(struct work *w)
{
	const size_t count = cct_count(w->from);
	node_id *const root = mem_alloc((count + 1) * sizeof(*root));

	for (node_id id = 1; id <= count; id++) {
		const node_id parent = cct_get(w->from, id)->parent;

		root[id] = parent ? root[parent] : id;
		place_node(w, root, id);
	}
	mem_free(root);
}

static void sum(struct cct *t, ticks *self, uint64_t *calls)
{
	for (node_id id = 1; id <= cct_count(t); id++) {
		*self += cct_get(t, id)->self;
		*calls += cct_get(t, id)->calls;
	}
}

/* cct_collect_as comes before nodes are made: what is added before is not
 * collected. */
struct filter_sums filter_apply(struct session *s, const struct filter *f,
				enum filter_keep keep)
{
	const size_t count = cct_count(s->cct);
	struct filter_sums sums = { 0 };
	struct work w = {
		.session = s, .filter = f, .from = s->cct,
		.to = cct_new(SIZE_MAX),
		.place = mem_alloc(count + 1),
		.at = mem_alloc((count + 1) * sizeof(node_id)),
		.under = filter_match_funcs(s, f->under),
		.focus = filter_match_funcs(s, f->focus),
		.skip = filter_left_out(s, f),
		.count = filter_match_funcs(s, f->count),
		.keep = keep };

	sum(w.from, &sums.whole_self, &sums.whole_calls);
	cct_collect_as(w.to, w.from);
	mark(&w);
	build(&w);
	sum(w.to, &sums.self, &sums.calls);
	assert(sums.self <= sums.whole_self);
	assert(sums.calls <= sums.whole_calls);
	cct_take(s->cct, w.to);
	mem_free_all(w.place, w.at, w.under, w.focus, w.skip, w.count);
	return sums;
}
