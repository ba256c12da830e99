/* slow_part.c - the later part of a call whose coroutine went from thread to
 * thread, while the earlier part is still to come.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow_state.h"
#include "analyzer/base/vec.h"

static struct piece *part_of(struct slow *s, uint32_t id)
{
	return &s->parts[id - 1];
}

uint32_t slow_part_new(struct slow *s)
{
	uint32_t id = s->part_free;

	if (id != 0) {
		s->part_free = part_of(s, id)->next;
	} else {
		vec_need(&s->parts, &s->part_room, s->part_count + 1);
		id = (uint32_t)++s->part_count;
	}
	*part_of(s, id) = (struct piece){ .is_used = 1 };
	return id;
}

static void free_part(struct slow *s, uint32_t id)
{
	*part_of(s, id) = (struct piece){ .next = s->part_free };
	s->part_free = id;
}

/* What the part became; the one who asks holds that instead. */
static uint32_t resolve(struct slow *s, uint32_t id)
{
	while (part_of(s, id)->next != 0) {
		const uint32_t next = part_of(s, id)->next;

		free_part(s, id);
		id = next;
	}
	return id;
}

/* What was before goes in front of what is there. */
static void put_before(struct slot *to, const struct slot *before)
{
	to->self += before->self;
	to->slept += before->slept;
	to->is_partial |= before->is_partial;
	to->thread = before->thread;
	to->under = before->under;
	to->is_carried = before->is_carried;
}

/* 1: the slot knows all that was before. */
static int settle(struct slow *s, struct slot *slot)
{
	if (slot->part == 0)
		return 1;
	slot->part = resolve(s, slot->part);
	if (!part_of(s, slot->part)->is_whole)
		return 0;
	put_before(slot, &part_of(s, slot->part)->slot);
	free_part(s, slot->part);
	slot->part = 0;
	return 1;
}

/* Its two ends are known. */
static void end_part(struct slow *s, uint32_t id)
{
	const struct piece p = *part_of(s, id);
	struct slow_call call = p.call;
	const ticks wall = call.total + p.slot.slept;

	call.self = p.slot.self;
	call.suspended = p.slot.slept;
	call.begin = wall < p.at ? p.at - wall : 0;
	call.thread = p.slot.thread;
	call.is_partial = p.slot.is_partial;
	free_part(s, id);
	slow_end_carried(s, &p.slot, &call, p.own);
}

static void add_to_part(struct piece *p, const struct slot *slot)
{
	p->slot.self += slot->self;
	p->slot.slept += slot->slept;
	p->slot.is_partial |= slot->is_partial;
}

int slow_part_end(struct slow *s, struct slot *slot,
		  const struct slow_call *call, ticks at, stack_id own)
{
	struct piece *p;

	if (settle(s, slot))
		return 0;
	p = part_of(s, slot->part);
	add_to_part(p, slot);
	p->is_ended = 1;
	p->call = *call;
	p->at = at;
	p->own = own;
	return 1;
}

/* The earlier part has come: a slot as it was at the suspend. */
void slow_part_join(struct slow *s, struct slot *before, uint32_t id)
{
	struct piece *const p = part_of(s, id);

	if (settle(s, before)) {
		put_before(&p->slot, before);
		p->is_whole = 1;
		if (p->is_ended)
			end_part(s, id);
		return;
	}
	add_to_part(part_of(s, before->part), before);
	add_to_part(part_of(s, before->part), &p->slot);
	if (!p->is_ended) {
		p->next = before->part;
		return;
	}
	part_of(s, before->part)->is_ended = 1;
	part_of(s, before->part)->call = p->call;
	part_of(s, before->part)->at = p->at;
	part_of(s, before->part)->own = p->own;
	free_part(s, id);
}

/* It will not come. */
void slow_part_give_up(struct slow *s, uint32_t id)
{
	struct piece *const p = part_of(s, id);

	p->slot.is_partial = 1;
	p->is_whole = 1;
	p->slot.is_carried = 0;
	p->slot.thread = p->call.thread;
	if (p->is_ended)
		end_part(s, id);
}

void slow_part_finish(struct slow *s)
{
	for (uint32_t id = 1; id <= s->part_count; id++) {
		const struct piece *const p = part_of(s, id);

		if (p->is_used && p->is_ended && !p->is_whole)
			slow_part_give_up(s, id);
	}
}
