/* counted.c - the tree of counted calls in the open chunk. Its nodes grow down
 * from the end of the records' room. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/counted.h"
#include "tracer/host/base/break.h"

#include <errno.h>

/* No node: there is no room, or no chunk. Words have an epoch. */
enum { NONE = 0 };

/* ------------------------------------------------------------------ nodes */

/* How many more nodes the open chunk takes. One word is left for the head of
 * the item. */
static uint32_t left_of(const struct thread_state *s)
{
	const int64_t words = s->limit - s->at - 2 * RECORD_SLACK;

	return chunk_is_scrap(s) || words < 0 ? 0 :
	       (uint32_t)words / COUNTED_WORDS;
}

/* The new node's first word is { parent, function, kind }. is_body: of a frame
 * that is borrowed, with which a coroutine begins. */
static uint64_t add_node(struct thread_state *s, uint64_t under,
			 enum counted kind, uint32_t index, uint64_t value,
			 bool is_body)
{
	uint64_t *node;

	if (left_of(s) == 0)
		return NONE;
	node = s->records + pool_record_room(s->buffer_words) -
	       (s->nodes + 1) * COUNTED_WORDS;
	node[0] = (uint64_t)counted_number(under) << REC_GAP_SHIFT |
		  (uint64_t)index << REC_FUNC_SHIFT | kind;
	node[1] = value;
	node[2] = is_body;
	s->nodes++;
	s->limit = node - 1 - RECORD_SLACK;
	chunk_show(&s->head->counted, s->nodes);
	return (uint64_t)s->epoch << 32 | s->nodes * COUNTED_SPREAD;
}

static uint64_t *calls_of(const struct thread_state *s, uint64_t word)
{
	return s->records + pool_record_room(s->buffer_words) -
	       counted_number(word) * COUNTED_WORDS + 1;
}

/* ------------------------------------------------------------------ calls */

/* Keys of what is no function: with a coroutine's serial, and with how many
 * frames are left out. */
#define KEY_COROUTINE (UINT64_C(1) << 61)
#define KEY_OMITTED (UINT64_C(1) << 60)
#define KEY_NO_FUNCTION (KEY_COROUTINE | KEY_OMITTED)

/* The entry of the call, or an empty one that it may take. There are more than
 * a chunk has nodes. */
static struct counted_entry *entry_of(struct thread_state *s, uint64_t key,
				      uint64_t under)
{
	const uint32_t at = counted_place(key, under);
	struct counted_entry *e = &s->counted[at];

	for (uint32_t i = 1; e->under >> 32 == s->epoch &&
	     (e->under != under || e->key != key); i++)
		e = &s->counted[at ^ i];
	return e;
}

/* The function's index in the open chunk; NO_INDEX: there is no room for it. */
static uint32_t index_of(struct thread_state *s, uint64_t key)
{
	const struct table_entry *e = chunk_named(s, key);

	if (!e)
		e = chunk_turned(s, key, key | KEY_COUNTED);
	return e ? rec_func(e->enter) : dictionary_try_name(s, key);
}

static uint64_t add_key(struct thread_state *s, uint64_t key, uint64_t under)
{
	const bool is_lua = (key & KEY_LUA) != 0;
	uint32_t index;

	if (!is_lua && (key & KEY_COROUTINE))
		return add_node(s, under, COUNTED_COROUTINE, 0,
				key & ~KEY_NO_FUNCTION, false);
	if (!is_lua && (key & KEY_OMITTED))
		return add_node(s, under, COUNTED_OMITTED, 0,
				key & ~KEY_NO_FUNCTION, false);
	index = index_of(s, key & ~(KEY_COUNTED | KEY_BODY));
	return index == NO_INDEX ? NONE :
	       add_node(s, under, COUNTED_CALL, index, 0,
			(key & KEY_BODY) != 0);
}

/* The node of calls of this function by that node. */
static uint64_t child(struct thread_state *s, uint64_t key, uint64_t under)
{
	struct counted_entry *e;
	uint64_t word;
	uint32_t at;

	if (under == NONE)
		return NONE;
	e = entry_of(s, key, under);
	if (e->under == under && e->key == key)
		return e->word;
	word = add_key(s, key, under);
	if (word == NONE)
		return NONE;
	e->under = COUNTED_EMPTY; /* a handler may jump away from here */
	barrier();
	at = (uint32_t)(e - s->counted);
	s->counted_used[at / 64] |= UINT64_C(1) << at % 64;
	e->key = key;
	e->word = word;
	e->calls = calls_of(s, word);
	barrier();
	e->under = under;
	return word;
}

/* ------------------------------------------------------------------ stacks
 * of: the state whose stack it is, which is one of a level below where a
 * handler interrupts a hook: its frames keep their own nodes. cut: the chunk
 * was just opened; a stack too deep for it is cut. */

/* A frame that is borrowed has not been called here: with that key, nothing
 * is counted. */
static uint64_t key_of(const struct frame *f)
{
	return f->key | (frame_begins_borrowed(f) ? KEY_BODY : 0);
}

/* Gives nodes to the frames from f on, the first of which is called by that
 * node. Returns the last one's. */
static uint64_t fill_nodes(struct thread_state *s,
			   const struct thread_state *of, struct frame *f,
			   const struct frame *end, uint64_t under)
{
	for (; f < end && under != NONE; f++) {
		under = child(s, key_of(f), under);
		if (of == s)
			counted_give_node(f, under);
	}
	return under;
}

/* What the segment's outermost call stands on: the node, or that of the body
 * under it, which a tail call has replaced. */
static uint64_t body_node(struct thread_state *s, const struct segment *g,
			  const struct frame *outermost, uint64_t under)
{
	return g->body.key != 0 && outermost->tick == g->body.on ?
	       child(s, g->body.key, under) : under;
}

/* The node of the segment's innermost frame; under: of what its outermost one
 * stands on. */
static uint64_t segment_end(struct thread_state *s,
			    const struct thread_state *of,
			    const struct segment *g, struct frame *end,
			    uint64_t under, bool cut)
{
	const uint32_t most = cut ? left_of(s) / 2 :
			      pool_record_room(s->buffer_words) / COUNTED_WORDS;
	const uint32_t outer = cut ? most / 4 : 0;
	struct frame *const base = of->frames + g->base;
	struct frame *f = end;

	while (f > base && (of != s || !counted_has_node(s, f - 1)) &&
	       end - f < most)
		f--;
	if (of == s && f > base && counted_has_node(s, f - 1))
		return fill_nodes(s, of, f, end, f[-1].node);
	if (f < end)
		under = body_node(s, g, base, under);
	if (f - base <= outer)
		return fill_nodes(s, of, base, end, under);
	if (!cut)
		return NONE;
	under = fill_nodes(s, of, base, base + outer, under);
	under = child(s, KEY_OMITTED | (uint64_t)(f - base - outer), under);
	return fill_nodes(s, of, f, end, under);
}

/* The same of a whole stack, on which that node stands. */
static uint64_t stack_end(struct thread_state *s, struct thread_state *of,
			  uint64_t under, bool cut)
{
	const uint32_t segments = of->segments;

	for (uint32_t i = 0; i < segments; i++) {
		const struct segment *const g = &of->segment[i];
		struct frame *const end = depth_recorded_end(of, i);

		if (i > 0)
			under = child(s, KEY_COROUTINE | g->serial, under);
		under = segment_end(s, of, g, end, under, cut);
	}
	return under;
}

/* The node of what runs, made with all those that lead to it. */
static uint64_t caller_node(struct thread_state *s, bool cut)
{
	const struct segment *const g = &s->segment[s->segments - 1];
	uint64_t under = s->frames[0].node;

	if (s->top > s->frames + g->base && counted_has_node(s, s->top - 1))
		return s->top[-1].node;
	for (uint32_t i = 0; i < s->level; i++) {
		struct thread_state *of = s->below;

		while (of->level > i)
			of = of->below;
		if (!of->moving) /* else it may lie anywhere */
			under = stack_end(s, of, under, cut);
	}
	return stack_end(s, s, under, cut);
}

/* ----------------------------------------------------------------- counting */

/* The node of a call that is made now. */
static uint64_t node_now(struct thread_state *s, const struct frame *f,
			 bool cut)
{
	const struct segment *const g = &s->segment[s->segments - 1];
	uint64_t under = caller_node(s, cut);

	if (s->top == s->frames + g->base)
		under = body_node(s, g, f, under);
	return child(s, f->key, under);
}

/* The same in a chunk that was just opened, and yet has no room for all that
 * leads there, or for the function's name. */
static uint64_t node_apart(struct thread_state *s, uint64_t key)
{
	const uint64_t frames = (uint64_t)(s->top - s->frames) - 1;
	uint64_t under = s->frames[0].node, word;

	if (frames > 0)
		under = child(s, KEY_OMITTED | frames, under);
	word = child(s, key, under);
	return word != NONE || under == NONE ? word :
	       add_node(s, under, COUNTED_CALL,
			dictionary_name_poorly(s, key & ~KEY_COUNTED), 0,
			false);
}

/* As a record would be that finds no buffer. From time to time there may be
 * one again. */
static void lose(struct thread_state *s)
{
	chunk_need_call(s);
	if (chunk_is_scrap(s))
		chunk_put(s, rec_put(REC_ENTER, 0, 0));
}

SLOW uint32_t counted_here(struct thread_state *s)
{
	const uint64_t frames = (uint64_t)(s->top - s->frames) - 1;
	const int saved = errno;
	uint64_t word = chunk_is_scrap(s) ? NONE : caller_node(s, false);

	if (word == NONE) {
		s->want_big = true;
		chunk_switch(s, 0);
		word = chunk_is_scrap(s) ? NONE : caller_node(s, true);
	}
	if (word == NONE && frames > 0 && !chunk_is_scrap(s))
		word = child(s, KEY_OMITTED | frames, s->frames[0].node);
	errno = saved;
	return counted_number(word);
}

static uint64_t make_node(struct thread_state *s, const struct frame *f)
{
	uint64_t word;

	if (chunk_is_scrap(s))
		lose(s);
	if (chunk_is_scrap(s))
		return NONE;
	word = node_now(s, f, false);
	if (word != NONE)
		return word;
	s->want_big = true;
	chunk_switch(s, 0);
	if (chunk_is_scrap(s)) {
		lose(s);
		return NONE;
	}
	word = node_now(s, f, true);
	return word != NONE ? word : node_apart(s, f->key);
}

SLOW void counted_enter(struct thread_state *s, const struct frame *f)
{
	const int saved = errno;
	const uint64_t word = make_node(s, f);

	if (word != NONE)
		++*calls_of(s, word);
	*s->top = *f;
	s->top->node = word;
	barrier();
	s->top++;
	errno = saved;
}

bool counted_settle(struct thread_state *s, struct frame *of)
{
	enum { STEPS = 16 };
	const struct frame *const lowest = s->segments == 1 ? s->frames :
		s->frames + s->segment[s->segments - 1].base;
	struct frame *f = of;

	for (int i = 0; !counted_has_node(s, f); i++, f--) {
		if (f <= lowest || i == STEPS)
			return false;
	}
	for (f++; f <= of; f++) {
		const struct counted_entry *const e =
			counted_find(s, key_of(f), f[-1].node);

		if (!e)
			return false;
		counted_give_node(f, e->word);
	}
	return true;
}

void counted_apart(struct thread_state *s, uint64_t key)
{
	const struct frame f = { .key = key | KEY_COUNTED };
	const int saved = errno;
	const uint64_t word = make_node(s, &f);
	uint64_t *calls;

	if (word != NONE) {
		calls = calls_of(s, word);
		++*calls;
		dictionary_counts(s, key, rec_func(calls[-1]));
	}
	errno = saved;
}

/* The caller is the innermost frame while the node is looked for. */
bool counted_make_brief(struct thread_state *s, uint64_t duration)
{
	struct frame *const f = s->top - 1;
	const int saved = errno;
	uint64_t word;

	if (chunk_is_scrap(s) || !counted_is_brief(s, duration))
		return false;
	s->top = f;
	barrier();
	word = node_now(s, f, false);
	barrier();
	s->top = f + 1;
	errno = saved;
	return word != NONE && counted_brief_at(s, calls_of(s, word),
						duration);
}
