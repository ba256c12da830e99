/* export_perfetto.c - protobuf. All packets are one sequence, so
 * that names are written once, before the first event that has them. Events
 * come track by track; readers sort them by time.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/group.h"
#include "analyzer/out/export/export_spans.h"
#include "analyzer/out/export/perfetto.pb-c.h"
#include "analyzer/out/out_escape.h"

#include <assert.h>
#include <string.h>

/* The values of type and sequence_flags. */
enum { BEGIN = 1, END = 2, INSTANT = 3 };
enum { ANEW = 1, NEEDED = 2 };
enum { SEQUENCE = 1 };           /* the only one */

struct writer {
	FILE *to;
	struct export_spans t;
	uint8_t *bytes; size_t room; /* of the packet at hand */
	size_t track;            /* whose spans are written */
	struct map *flow_of;     /* track and span that a flow leads to */
	uint32_t flows;          /* numbered so far */
	uint64_t *category;      /* by name */
};

/* ---- packets ---- */

static void put(struct writer *w, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t size;

	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = SEQUENCE;
	trace.n_packet = 1;
	trace.packet = &packet;
	size = perfetto__trace__get_packed_size(&trace);
	vec_need(&w->bytes, &w->room, size);
	perfetto__trace__pack(&trace, w->bytes);
	fwrite(w->bytes, 1, size, w->to);
}

/* An event of a kind that is rare. */
static void put_event(struct writer *w, Perfetto__TrackEvent *event, ticks at)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = packet.has_sequence_flags = 1;
	packet.timestamp = export_spans_ns(&w->t, at);
	packet.sequence_flags = NEEDED;
	packet.track_event = event;
	put(w, &packet);
}

static void put_name(struct writer *w, uint64_t iid, const char *text,
		     bool is_category)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedName name = PERFETTO__INTERNED_NAME__INIT;
	Perfetto__InternedName *names = &name;

	name.has_iid = 1;
	name.iid = iid;
	name.name = (char *)(uintptr_t)text;
	*(is_category ? &data.n_event_categories : &data.n_event_names) = 1;
	*(is_category ? &data.event_categories : &data.event_names) = &names;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = is_category && iid == 1 ? ANEW : NEEDED;
	packet.interned_data = &data;
	put(w, &packet);
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

static void put_descriptor(struct writer *w, Perfetto__TrackDescriptor *d)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	d->has_uuid = 1;
	packet.track_descriptor = d;
	put(w, &packet);
}

static void put_process(struct writer *w, uint32_t process)
{
	Perfetto__TrackDescriptor d = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor p = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	char name[GROUP_NAME];

	d.uuid = process_uuid(process);
	d.process = &p;
	p.has_pid = 1;
	p.pid = (int32_t)export_spans_pid(&w->t, process);
	p.process_name = out_escape_terminal(
		group_name_process(w->t.session, process, name));
	put_descriptor(w, &d);
	mem_free(p.process_name);
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
	Perfetto__TrackDescriptor d = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor t = PERFETTO__THREAD_DESCRIPTOR__INIT;
	char name[GROUP_NAME];
	char *const safe = out_escape_terminal(
		export_spans_track(&w->t, track, name));

	d.uuid = track_uuid(w, track);
	d.has_parent_uuid = 1;
	d.parent_uuid = process_uuid(k->process);
	if (k->coroutine != 0)
		d.parent_uuid = parent_uuid(w, k);
	if (k->coroutine != 0 || k->level > 0) {
		d.name = safe;
	} else {
		d.thread = &t;
		t.has_pid = t.has_tid = 1;
		t.pid = (int32_t)export_spans_pid(&w->t, k->process);
		t.tid = (int32_t)export_spans_tid(&w->t, track);
		t.thread_name = safe;
	}
	put_descriptor(w, &d);
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

/* Most packets are a span's beginning or end. protobuf-c takes ten times as
 * long for them, so they are made here, with the numbers of perfetto.proto. */
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static uint8_t *add_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		*at++ = (uint8_t)(value | 128);
	*at++ = (uint8_t)value;
	return at;
}

static uint8_t *add_key(uint8_t *at, unsigned field, enum wire wire)
{
	return add_varint(at, field << 3 | wire);
}

static uint8_t *add_number(uint8_t *at, unsigned field, uint64_t value)
{
	return add_varint(add_key(at, field, VARINT), value);
}

/* What is shorter than 128 bytes. */
static uint8_t *add_bytes(uint8_t *at, unsigned field, const void *bytes,
			  size_t size)
{
	assert(size < 128);
	at = add_key(at, field, BYTES);
	*at++ = (uint8_t)size;
	return (uint8_t *)mempcpy(at, bytes, size);
}

static uint8_t *add_calls(uint8_t *at, uint64_t calls)
{
	uint8_t annotation[32], *end = add_number(annotation, 3, calls);

	end = add_bytes(end, 10, "calls", 5);
	return add_bytes(at, 4, annotation, (size_t)(end - annotation));
}

static uint8_t *add_flow(uint8_t *at, const struct span *s, uint64_t flow)
{
	at = add_key(at, s->kind == SPAN_RUN ? 47 : 48, FIXED64);
	for (int i = 0; i < 8; i++)
		*at++ = (uint8_t)(flow >> 8 * i);
	return at;
}

/* The event of a packet, TrackEvent. */
static uint8_t *add_event(struct writer *w, uint8_t *at, const struct span *s,
			  bool is_end)
{
	const uint32_t name = is_end ? 0 : export_spans_name(&w->t, s);
	const uint64_t flow = is_end ? 0 : flow_of(w, s);

	if (!is_end)
		at = add_number(at, 3, w->category[name]);
	if (!is_end && s->calls != 1)
		at = add_calls(at, s->calls);
	at = add_number(at, 9, is_end ? END : BEGIN);
	if (!is_end)
		at = add_number(at, 10, (uint64_t)name + 1);
	at = add_number(at, 11, track_uuid(w, w->track));
	return flow != 0 ? add_flow(at, s, flow) : at;
}

static void put_span(void *ctx, const struct span *s, bool is_end)
{
	struct writer *const w = ctx;
	uint8_t event[128], body[256], packet[260];
	const size_t size = (size_t)(add_event(w, event, s, is_end) - event);
	uint8_t *end = add_number(body, 8, export_spans_ns(&w->t, is_end ?
							   s->end : s->begin));

	end = add_number(end, 10, SEQUENCE);
	end = add_bytes(end, 11, event, size);
	end = add_number(end, 13, NEEDED);
	end = add_bytes(packet, 1, body, (size_t)(end - body));
	fwrite_unlocked(packet, 1, (size_t)(end - packet), w->to);
}

/* ---- marks ---- */

static void put_marks(struct writer *w)
{
	const struct chronicle_found *const f = w->t.found;
	uint64_t category = category_of("mark");

	for (size_t i = 0; i < f->mark_count; i++) {
		const struct func *const mark =
			func_get(w->t.session->funcs, f->marks[i].func);
		Perfetto__TrackEvent e = PERFETTO__TRACK_EVENT__INIT;

		e.has_type = e.has_track_uuid = 1;
		e.type = INSTANT;
		e.track_uuid = track_uuid(w, f->marks[i].track);
		e.n_category_iids = 1;
		e.category_iids = &category;
		e.name = out_escape_terminal(mark->name);
		put_event(w, &e, f->marks[i].at);
		mem_free(e.name);
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
	mem_free(w.bytes);
	mem_free(w.category);
	map_free(w.flow_of);
	export_spans_fini(&w.t);
	return 0;
}
