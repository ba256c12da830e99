/* slow_pieces.c - the later parts of calls whose earlier parts have not come
 * yet: what is known of each, and the call that it becomes a part of. Must not
 * know streams and events.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow/slow_pieces.h"
#include "analyzer/base/vec.h"

#include <assert.h>

/* The later part of a call whose earlier part, on another thread, has not come
 * yet. The open call refers to it until its end (is_ended). The resume that
 * waits for its suspend refers to it until that comes (is_whole). Then the call
 * takes it over, or is counted if it has ended, and the piece is freed. */
struct piece {
	struct slot slot;        /* summed up so far */
	uint32_t next;           /* index + 1: it became a part of that piece;
	                          * or the next free one */
	bool is_used, is_ended, is_whole;
	stack_id own;            /* ended: its coroutine's frames, itself the
	                          * innermost */
	struct slow_call call;   /* ended, at this tick: */
	ticks at;
};

/* If the stack of its entry is known, the call's own frame is put on that:
 * later resumes may have come from elsewhere. */
void slow_pieces_end_carried(struct slow_pieces *all, const struct slot *slot,
			     struct slow_call *call, stack_id own)
{
	struct stack_frame frame;

	slow_list_count(all->list, call);
	if (!slow_list_takes(all->list, call))
		return;
	frame = *stack_table_get(all->stacks, own);
	call->stack = !slot->is_carried ? own :
		stack_table_push(all->stacks, slot->under, frame.func,
				 frame.flags);
	slow_list_put(all->list, call);
}

/* Pieces move when one is added: ask again after slow_pieces_add. */
static struct piece *piece_of(struct slow_pieces *all, uint32_t id)
{
	assert(id > 0 && id <= all->count);
	return &all->piece[id - 1];
}

uint32_t slow_pieces_add(struct slow_pieces *all, uint32_t thread)
{
	uint32_t id = all->free;

	if (id != 0) {
		all->free = piece_of(all, id)->next;
	} else {
		vec_need(&all->piece, &all->room, all->count + 1);
		id = (uint32_t)++all->count;
	}
	*piece_of(all, id) = (struct piece){ .is_used = true,
					     .slot.thread = thread };
	return id;
}

/* The id is used again: nothing may refer to it any more. */
static void free_piece(struct slow_pieces *all, uint32_t id)
{
	*piece_of(all, id) = (struct piece){ .next = all->free };
	all->free = id;
}

/* The piece that this one became a part of, to be referred to instead. Frees
 * the pieces on the way: each is referred to by one call only. */
static uint32_t resolve(struct slow_pieces *all, uint32_t id)
{
	while (piece_of(all, id)->next != 0) {
		const uint32_t next = piece_of(all, id)->next;

		free_piece(all, id);
		id = next;
	}
	return id;
}

/* Put what was before in front of what is there. The call began before, so
 * thread and stack of its entry are from there; func and entry stay. */
static void put_before(struct slot *to, const struct slot *before)
{
	to->self += before->self;
	slow_parts_add(&to->parts, &before->parts);
	to->slept += before->slept;
	to->is_partial |= before->is_partial;
	to->thread = before->thread;
	to->under = before->under;
	to->is_carried = before->is_carried;
}

/* Does the slot know all that was before? If its earlier part has come, the
 * slot takes it over, and the piece is freed. */
static bool settle(struct slow_pieces *all, struct slot *slot)
{
	if (slot->piece == 0)
		return true;
	slot->piece = resolve(all, slot->piece);
	if (!piece_of(all, slot->piece)->is_whole)
		return false;
	put_before(slot, &piece_of(all, slot->piece)->slot);
	free_piece(all, slot->piece);
	slot->piece = 0;
	return true;
}

/* Both ends of the call are known: count it with the times of all its parts,
 * and free the piece. */
static void end_whole(struct slow_pieces *all, uint32_t id)
{
	const struct piece p = *piece_of(all, id);
	struct slow_call call = p.call;
	const ticks wall = call.total + p.slot.slept;

	call.self = p.slot.self;
	call.parts = p.slot.parts;
	call.suspended = p.slot.slept;
	call.begin = wall < p.at ? p.at - wall : 0;
	call.thread = p.slot.thread;
	call.is_partial = p.slot.is_partial;
	free_piece(all, id);
	slow_pieces_end_carried(all, &p.slot, &call, p.own);
}

/* Times of a later part, to those of a piece. */
static void add_to_piece(struct piece *p, const struct slot *slot)
{
	p->slot.self += slot->self;
	slow_parts_add(&p->slot.parts, &slot->parts);
	p->slot.slept += slot->slept;
	p->slot.is_partial |= slot->is_partial;
}

bool slow_pieces_end(struct slow_pieces *all, struct slot *slot,
		     const struct slow_call *call, ticks at, stack_id own)
{
	struct piece *p;

	if (settle(all, slot))
		return false;
	p = piece_of(all, slot->piece);
	add_to_piece(p, slot);
	p->is_ended = true;
	p->call = *call;
	p->at = at;
	p->own = own;
	return true;
}

/* If the earlier part is waiting for a part before it itself, the two later
 * parts become one piece, and the call is counted when the earliest part
 * comes. If that is this very piece (a trace may say so), it never comes. */
void slow_pieces_join(struct slow_pieces *all, struct slot *before,
		      uint32_t id)
{
	struct piece *const p = piece_of(all, id);
	struct piece *whole;

	if (settle(all, before)) {
		put_before(&p->slot, before);
		p->is_whole = true;
		if (p->is_ended)
			end_whole(all, id);
		return;
	}
	whole = piece_of(all, before->piece);
	add_to_piece(whole, before);
	if (whole == p) {
		slow_pieces_give_up(all, id);
		return;
	}
	add_to_piece(whole, &p->slot);
	if (!p->is_ended) {
		assert(before->piece != id);
		p->next = before->piece;
		return;
	}
	whole->is_ended = true;
	whole->call = p->call;
	whole->at = p->at;
	whole->own = p->own;
	free_piece(all, id);
}

void slow_pieces_give_up(struct slow_pieces *all, uint32_t id)
{
	struct piece *const p = piece_of(all, id);

	p->slot.is_partial = true;
	p->is_whole = true;
	p->slot.is_carried = false;
	if (p->is_ended)
		end_whole(all, id);
}

void slow_pieces_finish(struct slow_pieces *all)
{
	for (uint32_t id = 1; id <= all->count; id++) {
		const struct piece *const p = piece_of(all, id);

		if (p->is_used && p->is_ended && !p->is_whole)
			slow_pieces_give_up(all, id);
	}
}

void slow_pieces_fini(struct slow_pieces *all)
{
	mem_free(all->piece);
}
