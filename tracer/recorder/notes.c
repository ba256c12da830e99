/* notes.c - makes chunks of notes and names in the sink's room. summary.c knows
 * what the notes say.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/recording.h"

uint32_t notes_make(struct recording *r, uint64_t number, notes_fn *notes,
		    uint32_t flags)
{
	struct meta m;

	meta_begin(&m, sink_room(&r->sink), r->owner.recording, number,
		   &r->rate);
	((struct chunk_header *)m.words)->flags |= flags;
	if (notes)
		notes(r, &m);
	return meta_end(&m);
}

void notes_send_cost(struct recording *r)
{
	const uint64_t number = META_NAMES + r->names_sent++;

	sink_send(&r->sink, sink_room(&r->sink),
		  notes_make(r, number, summary_cost_note, 0));
}

/* The chunks of names in the making. */
struct name_writer {
	struct recording *r;
	notes_send_fn *send;
	struct meta m;             /* words is NULL: none was begun */
	uint64_t number;
};

static void begin_names(struct name_writer *w)
{
	if (w->m.words)
		w->send(w->r, meta_end(&w->m));
	meta_begin(&w->m, sink_room(&w->r->sink), w->r->owner.recording,
		   w->number++, &w->r->rate);
}

/* A lua_names_fn. */
static void write_name(void *ctx, const uint64_t *item, uint32_t words)
{
	struct name_writer *const w = ctx;

	if (w->m.words && meta_item(&w->m, item, words))
		return;
	begin_names(w);
	meta_item(&w->m, item, words);
}

void notes_send_names(struct recording *r, notes_send_fn *send)
{
	/* The pieces of one trace have different ones; snapshots are traces. */
	const uint64_t sent = r->sink.flight ? 0 : r->names_sent;
	struct name_writer w = { .r = r, .send = send,
				 .number = META_NAMES + sent };
	struct lua_names *const names = r->sink.names;
	struct lua_names *const chosen_by = r->selection.names;

	if (!names)
		return;
	r->sink.names = r->selection.names = NULL;
	lua_names_read(names, write_name, &w);
	if (w.m.words)
		send(r, meta_end(&w.m));
	r->names_sent = w.number - META_NAMES;
	r->sink.names = names;
	r->selection.names = chosen_by;
}
