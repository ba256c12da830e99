/* export_perfetto.c - protobuf. All packets are one sequence, so that names are
 * written once, before the first event that has them. Events come track by
 * track; readers sort them by time.
 *
 * The numbers of fields are those that https://perfetto.dev/docs publishes
 * (reference/trace-packet-proto, reference/synthetic-track-event). Messages are
 * put together here: protobuf-c takes ten times as long, and most are small.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/group.h"
#include "analyzer/out/export/export_spans.h"
#include "analyzer/out/out_escape.h"

#include <string.h>

/* The values of TrackEvent.type and TracePacket.sequence_flags: interned data
 * begins anew, or is needed. */
enum { BEGIN = 1, END = 2, INSTANT = 3 };
enum { ANEW = 1, NEEDED = 2 };
enum { SEQUENCE = 1 };           /* the only one */

/* Fields of a TracePacket, one of which it has beside its time and flags. */
enum { EVENT = 11, NAMES = 12, DESCRIPTOR = 60 };

/* A message that is put together, its fields by rising numbers. */
struct message { uint8_t *bytes; size_t size, room; };

struct writer {
	FILE *to;
	struct export_spans t;
	/* The packet at hand and what is in front of it in the file; its event,
	 * names or descriptor; and what is in that. */
	struct message head, packet, field, inner;
	size_t track;            /* whose spans are written */
	struct map *flow_of;     /* track and span that a flow leads to */
	uint32_t flows;          /* numbered so far */
	uint64_t *category;      /* by name */
};

/* ---- messages ---- */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static struct message *begin(struct message *m)
{
	m->size = 0;
	return m;
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		*at++ = (uint8_t)(value | 128);
	*at++ = (uint8_t)value;
	return at;
}

/* Append a field's key, a number, and so many bytes. */
static inline void add(struct message *m, unsigned key, uint64_t number,
		       const void *bytes, size_t size)
{
	uint8_t *at;

	vec_need(&m->bytes, &m->room, m->size + 20 + size);
	at = put_varint(put_varint(m->bytes + m->size, key), number);
	if (size > 0)
		at = mempcpy(at, bytes, size);
	m->size = (size_t)(at - m->bytes);
}

static void add_number(struct message *m, unsigned field, uint64_t value)
{
	add(m, field << 3 | VARINT, value, NULL, 0);
}

static void add_fixed(struct message *m, unsigned field, uint64_t value)
{
	uint8_t *at;

	vec_need(&m->bytes, &m->room, m->size + 20);
	at = put_varint(m->bytes + m->size, field << 3 | FIXED64);
	m->size = (size_t)((uint8_t *)mempcpy(at, &value, 8) - m->bytes);
}

static void add_bytes(struct message *m, unsigned field, const void *bytes,
		      size_t size)
{
	add(m, field << 3 | BYTES, size, bytes, size);
}

static void add_text(struct message *m, unsigned field, const char *text)
{
	add_bytes(m, field, text, strlen(text));
}

static void add_message(struct message *m, unsigned field,
			const struct message *inner)
{
	add_bytes(m, field, inner->bytes, inner->size);
}

/* Write a packet with w->field. at NULL: it has no time; flags 0: none. */
static void put(struct writer *w, unsigned field, const ticks *at,
		unsigned flags)
{
	struct message *const p = begin(&w->packet);

	if (at)
		add_number(p, 8, export_spans_ns(&w->t, *at));
	add_number(p, 10, SEQUENCE);
	if (field < DESCRIPTOR)
		add_message(p, field, &w->field);
	if (flags != 0)
		add_number(p, 13, flags);
	if (field == DESCRIPTOR)
		add_message(p, field, &w->field);
	add(begin(&w->head), 1 << 3 | BYTES, p->size, NULL, 0);
	fwrite_unlocked(w->head.bytes, 1, w->head.size, w->to);
	fwrite_unlocked(p->bytes, 1, p->size, w->to);
}

static void put_name(struct writer *w, uint64_t iid, const char *text,
		     bool is_category)
{
	struct message *const name = begin(&w->inner);

	add_number(name, 1, iid);
	add_text(name, 2, text);
	add_message(begin(&w->field), is_category ? 1 : 2, name);
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
	struct message *const p = begin(&w->inner), *const d = begin(&w->field);
	char name[GROUP_NAME];
	char *const safe = out_escape_terminal(
		group_name_process(w->t.session, process, name));

	add_number(p, 1, export_spans_pid(&w->t, process));
	add_text(p, 6, safe);
	add_number(d, 1, process_uuid(process));
	add_message(d, 3, p);
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
	struct message *const t = begin(&w->inner), *const d = begin(&w->field);
	char name[GROUP_NAME];
	char *const safe = out_escape_terminal(
		export_spans_track(&w->t, track, name));

	add_number(t, 1, export_spans_pid(&w->t, k->process));
	add_number(t, 2, export_spans_tid(&w->t, track));
	add_text(t, 5, safe);
	add_number(d, 1, track_uuid(w, track));
	if (is_thread)
		add_message(d, 4, t);
	else
		add_text(d, 2, safe);
	add_number(d, 5, k->coroutine != 0 ? parent_uuid(w, k) :
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
	struct message *const annotation = begin(&w->inner);

	add_number(annotation, 3, calls);
	add_text(annotation, 10, "calls");
	add_message(&w->field, 4, annotation);
}

static void put_span(void *ctx, const struct span *s, bool is_end)
{
	struct writer *const w = ctx;
	struct message *const event = begin(&w->field);
	const uint32_t name = is_end ? 0 : export_spans_name(&w->t, s);
	const uint64_t flow = is_end ? 0 : flow_of(w, s);

	if (!is_end)
		add_number(event, 3, w->category[name]);
	if (!is_end && s->calls != 1)
		add_calls(w, s->calls);
	add_number(event, 9, is_end ? END : BEGIN);
	if (!is_end)
		add_number(event, 10, (uint64_t)name + 1);
	add_number(event, 11, track_uuid(w, w->track));
	if (flow != 0)
		add_fixed(event, s->kind == SPAN_RUN ? 47 : 48, flow);
	put(w, EVENT, is_end ? &s->end : &s->begin, NEEDED);
}

/* ---- marks ---- */

static void put_marks(struct writer *w)
{
	const struct chronicle_found *const f = w->t.found;
	struct message *const event = &w->field;

	for (size_t i = 0; i < f->mark_count; i++) {
		char *const name = out_escape_terminal(func_get(
			w->t.session->funcs, f->marks[i].func)->name);

		add_number(begin(event), 3, category_of("mark"));
		add_number(event, 9, INSTANT);
		add_number(event, 11, track_uuid(w, f->marks[i].track));
		add_text(event, 23, name);
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
