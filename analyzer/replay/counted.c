/* counted.c - calls that a chunk counts, in place of records: its own tree is
 * added to the session's. Works on no stack; knows nothing of records.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

#include "analyzer/base/order.h"

/* What a node of the chunk's tree is in ours. */
struct place_of {
	node_id node;
	uint64_t serial;         /* of a coroutine: its calls are outermost */
	uint32_t co;             /* its index + 1 */
};

/* What the calls took was their caller's time until now. It stays that of
 * frames which are left out of the reader's stack, and have names here. */
static void count(struct replay *r, const struct stream *st,
		  struct cct *tree, node_id by, node_id id,
		  const uint64_t *word)
{
	const uint64_t calls = word[1], took = word[2];

	r->calls += calls;
	if (took > 0 && cct_move_self(tree, by, id, took)) {
		cct_add_brief(tree, id, calls);
		return;
	}
	cct_add_untimed(tree, id, calls);
	r->session->counted += calls;
	if (took > 0 && !st->omits)
		replay_unnested(r, st);
}

static node_id add_call(struct replay *r, struct stream *st,
			struct cct *tree, const struct place_of *by,
			const uint64_t *word)
{
	const func_id func = r->func[rec_func(word[0])];
	struct session *const s = r->session;
	uint32_t flags = 0;
	node_id id;

	/* It was borrowed: whose body it is, is not known. */
	if (word[1] == 0 && word[2] != 0)
		flags = CCT_BODY;
	if (by->co)
		flags = replay_time_body_of(r, st, by->serial, by->co);
	/* A handler may run before the coroutine's first function. */
	if (by->co && st->level == 0)
		coroutine_began(&s->coroutines[by->co - 1], func,
				func_get(s->funcs, func)->kind == FUNC_LUA,
				(struct instant){ st->now, st->thread });
	id = cct_child(tree, by->node, func, flags);
	if (word[1] > 0)
		count(r, st, tree, by->node, id, word);
	return id;
}

static struct place_of add(struct replay *r, struct stream *st,
			   struct cct *tree, const struct place_of *by,
			   const uint64_t *word)
{
	struct place_of p = { .node = by->node };

	switch ((enum counted)rec_kind(word[0])) {
	case COUNTED_CALL:
		p.node = add_call(r, st, tree, by, word);
		break;
	case COUNTED_COROUTINE:
		p.serial = word[1];
		p.co = replay_identities_coroutine(r,
			r->session->threads[st->thread].process, word[1]);
		break;
	default:
		p.node = cct_child(tree, by->node,
				   replay_stack_omitted(r, word[1]),
				   CCT_OMITTED);
	}
	return p;
}

/* Where the thread's own stack begins, also for what handlers call on it. */
static node_id begin_of(const struct replay *r, const struct stream *st,
			struct cct **tree)
{
	const struct stream *const own = replay_stream(r, st->thread, 0);

	*tree = r->session->cct;
	if (!own || own->room == 0)
		return cct_root(*tree, st->thread);
	*tree = own->tree;
	return own->frame[0].node;
}

/* The node, on those that lead to it. */
static stack_id push_node(const struct replay_event *e, uint64_t node,
			  struct stack_table *t)
{
	const uint64_t *const word = e->counted->counted +
				     (node - 1) * COUNTED_WORDS;
	const uint64_t by = rec_gap(word[0]);
	const uint64_t *const below = word - (node - by) * COUNTED_WORDS;
	const stack_id id = by > 0 ? push_node(e, by, t) : 0;
	const uint32_t flags = by > 0 && rec_kind(below[0]) ==
		(enum rec_kind)COUNTED_COROUTINE ? STACK_BODY : 0;

	switch ((enum counted)rec_kind(word[0])) {
	case COUNTED_CALL:
		return stack_table_push(t, id, e->names[rec_func(word[0])],
					flags);
	case COUNTED_COROUTINE:
		return id;
	default:
		return stack_table_push(t, id, (func_id)MIN(word[1],
				(uint64_t)UINT32_MAX), flags | STACK_OMITTED);
	}
}

stack_id replay_heap_stack(const struct replay_event *e, struct stack_table *t)
{
	return !e->counted ? stream_stack(e->stream, 0,
					  stream_depth(e->stream), t, 0) :
	       e->node > 0 ? push_node(e, e->node, t) : 0;
}

void replay_counted(struct replay *r, struct stream *st,
		    const struct chunk *chunk)
{
	struct place_of *const of = mem_grow(NULL, chunk->nodes + 1,
					     sizeof(*of));
	const uint64_t *word = chunk->counted;
	struct cct *tree;

	of[0] = (struct place_of){ .node = begin_of(r, st, &tree) };
	for (size_t i = 1; i <= chunk->nodes; i++, word += COUNTED_WORDS)
		of[i] = add(r, st, tree, &of[rec_gap(word[0])], word);
	mem_free(of);
}
