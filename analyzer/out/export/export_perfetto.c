/* export_perfetto.c - protobuf. All packets are one sequence, so that names are
 * written once, before the first event that has them. Events come track by
 * track; readers sort them by time.
 *
 * The numbers of fields are those that https://perfetto.dev/docs publishes
 * (reference/trace-packet-proto, reference/synthetic-track-event).
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/map.h"
#include "analyzer/model/group.h"
#include "analyzer/out/export/export_spans.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_message.h"

#include <string.h>

/* The values of TrackEvent.type and TracePacket.sequence_flags: interned data
 * begins anew, or is needed. */
enum { BEGIN = 1, END = 2, INSTANT = 3 };
enum { ANEW = 1, NEEDED = 2 };
enum { SEQUENCE = 1 };           /* the only one */

/* Fields of a TracePacket, one of which it has beside its time and flags. */
enum { EVENT = 11, NAMES = 12, DESCRIPTOR = 60 };

struct writer {
	FILE *to;
	struct export_spans t;
	/* The packet at hand and what is in front of it in the file; its event,
	 * names or descriptor; and what is in that. */
	struct out_message head, packet, field, inner;
	size_t track;            /* whose spans are written */
	struct map *flow_of;     /* track and span that a flow leads to */
	uint32_t flows;          /* numbered so far */
	uint64_t *category;      /* by name */
};

/* ---- packets ---- */

/* Write a packet with w->field. at NULL: it has no time; flags 0: none. */
static void put(struct writer *w, unsigned field, const ticks *at,
		unsigned flags)
{
	struct out_message *const p = out_message_begin(&w->packet);

	if (at)
		out_message_number(p, 8, export_spans_ns(&w->t, *at));
	out_message_number(p, 10, SEQUENCE);
	if (field < DESCRIPTOR)
		out_message_add(p, field, &w->field);
	if (flags != 0)
		out_message_number(p, 13, flags);
	if (field == DESCRIPTOR)
		out_message_add(p, field, &w->field);
	out_message_field(out_message_begin(&w->head), 1, OUT_BYTES, p->size,
			  NULL, 0);
	fwrite_unlocked(w->head.bytes, 1, w->head.size, w->to);
	fwrite_unlocked(p->bytes, 1, p->size, w->to);
}

static void put_name(struct writer *w, uint64_t iid, const char *text,
		     bool is_category)
{
	struct out_message *const name = out_message_begin(&w->inner);

	out_message_number(name, 1, iid);
	out_message_text(name, 2, text);
	out_message_add(out_message_begin(&w->field), is_category ? 1 : 2,
			name);
	put(w, NAMES, NULL, is_category && iid == 1 ? ANEW : NEEDED);
}

/* ---- names ---- */

static const char *const categories[] = { "native", "lua", "run", "folded",
					  "missing", "mark", "zone" };
enum { CATEGORIES = sizeof(categories) / sizeof(*categories) };

static uint64_t category_of(const char *name)
{
	for (uint64_t i = 0; i < CATEGORIES; i++)
		if (strcmp(categories[i], name) == 0)
			return i + 1;
	return 1;
}

static void put_names(struct writer *w)
{
	for (uint64_t i = 0; i < CATEGORIES; i++)
		put_name(w, i + 1, categories[i], true);
	w->category = mem_alloc((w->t.names + 1) * sizeof(*w->category));
	for (uint32_t i = 0; i < w->t.names; i++) {
		char *const text = export_spans_text(&w->t, i);

		w->category[i] = category_of(export_spans_category(&w->t, i));
		put_name(w, i + 1, text, false);
		mem_free(text);
	}
}

/* ---- tracks ---- */

static uint64_t process_uuid(uint32_t process)
{
	return (uint64_t)process + 1;
}

static uint64_t track_uuid(const struct writer *w, size_t track)
{
	return w->t.session->process_count + track + 1;
}

static void put_process(struct writer *w, uint32_t process)
{
	struct out_message *const p = out_message_begin(&w->inner);
	struct out_message *const d = out_message_begin(&w->field);
	char name[GROUP_NAME];
	char *const safe = out_escape_terminal(
		group_name_process(w->t.session, process, name));

	out_message_number(p, 1, export_spans_pid(&w->t, process));
	out_message_text(p, 6, safe);
	out_message_number(d, 1, process_uuid(process));
	out_message_add(d, 3, p);
	put(w, DESCRIPTOR, NULL, 0);
	mem_free(safe);
}

/* The nearest track above that is shown: a filter may leave one out that
 * others are below of. Parents come before, so this ends. */
static uint64_t parent_uuid(const struct writer *w, const struct track *k)
{
	const struct track *const all = w->t.found->tracks;
	uint32_t parent = k->parent;

	while (all[parent].coroutine != 0 && all[parent].count == 0)
		parent = all[parent].parent;
	return track_uuid(w, parent);
}

static void put_track(struct writer *w, size_t track)
{
	const struct track *const k = &w->t.found->tracks[track];
	const bool is_thread = k->coroutine == 0 && k->level == 0;
	struct out_message *const t = out_message_begin(&w->inner);
	struct out_message *const d = out_message_begin(&w->field);
	char name[GROUP_NAME];
	char *const safe = out_escape_terminal(
		export_spans_track(&w->t, track, name));

	out_message_number(t, 1, export_spans_pid(&w->t, k->process));
	out_message_number(t, 2, export_spans_tid(&w->t, track));
	out_message_text(t, 5, safe);
	out_message_number(d, 1, track_uuid(w, track));
	if (is_thread)
		out_message_add(d, 4, t);
	else
		out_message_text(d, 2, safe);
	out_message_number(d, 5, k->coroutine != 0 ? parent_uuid(w, k) :
		   process_uuid(k->process));
	put(w, DESCRIPTOR, NULL, 0);
	mem_free(safe);
}

static void put_tracks(struct writer *w)
{
	const struct chronicle_found *const f = w->t.found;

	for (uint32_t i = 0; i < w->t.session->process_count; i++)
		put_process(w, i);
	for (size_t i = 0; i < f->count; i++)
		if (f->tracks[i].count > 0 || f->tracks[i].coroutine == 0)
			put_track(w, i);
}

/* ---- flows ---- */

/* Where the flow of a run leads to: 0, or the number that is stored there. */
static uint32_t *flow_to(struct writer *w, size_t track, const struct span *s)
{
	return map_put(w->flow_of, track,
		       (uint64_t)(s - w->t.found->tracks[track].spans));
}

/* A coroutine's span may be written before the run that leads to it. */
static void number_flows(struct writer *w)
{
	for (size_t i = 0; i < w->t.found->count; i++) {
		const struct track *const k = &w->t.found->tracks[i];

		for (size_t j = 0; j < k->count; j++) {
			const struct span *const s = &k->spans[j];
			const struct span *const to = s->kind == SPAN_RUN ?
				chronicle_of_run(w->t.found, s) : NULL;

			if (to && !(s->flags & SPAN_FOLDED))
				*flow_to(w, s->to, to) = ++w->flows;
		}
	}
}

/* The number of the flow that a span is part of; 0: of none. A run whose
 * coroutine's span has another run's flow is of none. */
static uint64_t flow_of(struct writer *w, const struct span *s)
{
	if (s->kind == SPAN_RUN) {
		const struct span *const to = s->flags & SPAN_FOLDED ? NULL :
			chronicle_of_run(w->t.found, s);

		return to ? *flow_to(w, s->to, to) : 0;
	}
	return map_find(w->flow_of, w->track, (uint64_t)
			(s - w->t.found->tracks[w->track].spans));
}

/* ---- spans ---- */

static void add_calls(struct writer *w, uint64_t calls)
{
	struct out_message *const annotation = out_message_begin(&w->inner);

	out_message_number(annotation, 3, calls);
	out_message_text(annotation, 10, "calls");
	out_message_add(&w->field, 4, annotation);
}

static void put_span(void *ctx, const struct span *s, bool is_end)
{
	struct writer *const w = ctx;
	struct out_message *const event = out_message_begin(&w->field);
	const uint32_t name = is_end ? 0 : export_spans_name(&w->t, s);
	const uint64_t flow = is_end ? 0 : flow_of(w, s);

	if (!is_end)
		out_message_number(event, 3, w->category[name]);
	if (!is_end && s->calls != 1)
		add_calls(w, s->calls);
	out_message_number(event, 9, is_end ? END : BEGIN);
	if (!is_end)
		out_message_number(event, 10, (uint64_t)name + 1);
	out_message_number(event, 11, track_uuid(w, w->track));
	if (flow != 0)
		out_message_fixed(event, s->kind == SPAN_RUN ? 47 : 48, flow);
	put(w, EVENT, is_end ? &s->end : &s->begin, NEEDED);
}

/* ---- marks ---- */

static void put_marks(struct writer *w)
{
	const struct chronicle_found *const f = w->t.found;
	struct out_message *const event = &w->field;

	for (size_t i = 0; i < f->mark_count; i++) {
		char *const name = out_escape_terminal(func_get(
			w->t.session->funcs, f->marks[i].func)->name);

		out_message_number(out_message_begin(event), 3,
				   category_of("mark"));
		out_message_number(event, 9, INSTANT);
		out_message_number(event, 11, track_uuid(w, f->marks[i].track));
		out_message_text(event, 23, name);
		put(w, EVENT, &f->marks[i].at, NEEDED);
		mem_free(name);
	}
}

int export_perfetto_write(FILE *to, const struct export_from *from)
{
	struct writer w = { .to = to, .flow_of = map_new() };

	export_spans_init(&w.t, from);
	number_flows(&w);
	put_names(&w);
	put_tracks(&w);
	for (w.track = 0; w.track < from->chronicle->count; w.track++)
		export_spans_walk(&from->chronicle->tracks[w.track], put_span,
				  &w);
	put_marks(&w);
	mem_free_all(w.head.bytes, w.packet.bytes, w.field.bytes,
		     w.inner.bytes, w.category);
	map_free(w.flow_of);
	export_spans_fini(&w.t);
	return 0;
}
