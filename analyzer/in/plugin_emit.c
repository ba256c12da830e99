/* plugin_emit.c - events as babeltrace2 messages: the classes of weft's own
 * trace, one stream a thread. Knows babeltrace2; knows nothing of chunks.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/plugin_emit.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"
#include "analyzer/in/plugin_fields.h"

#include <stdio.h>

struct plugin_emit {
	bt_self_message_iterator *self;
	bt_trace_class *trace_class;
	bt_clock_class *clock;
	bt_stream_class *stream_class;
	bt_trace *trace;
	bt_event_class *events[IN_EVENT_KINDS];
	bt_stream **streams;   /* by index of the thread; NULL: not begun */
	size_t count, room;
	size_t ended;          /* streams whose end was made */
	uint64_t last;         /* ns of the last event */
};

/* ---- classes ---- */

static int add_event_class(struct plugin_emit *e, enum in_event_kind kind)
{
	bt_event_class *const class = bt_event_class_create(e->stream_class);
	bt_field_class *const payload = plugin_fields_class(e->trace_class,
							    kind);

	if (!class || !payload ||
	    bt_event_class_set_name(class, plugin_fields_event(kind)) ||
	    bt_event_class_set_payload_field_class(class, payload))
		return -1;
	bt_field_class_put_ref(payload);
	e->events[kind] = class;
	return 0;
}

/* Nanoseconds since the epoch: babeltrace2's muxer may misorder clocks that are
 * faster than that. */
static int add_clock(struct plugin_emit *e, bt_self_component *component)
{
	e->clock = bt_clock_class_create(component);
	if (!e->clock || bt_clock_class_set_name(e->clock, "weft") ||
	    bt_clock_class_set_description(e->clock,
			"Unix time by the recorded machine's monotonic clock"))
		return -1;
	bt_clock_class_set_frequency(e->clock, 1000000000);
	bt_clock_class_set_origin_is_unix_epoch(e->clock, BT_TRUE);
	return 0;
}

static int add_classes(struct plugin_emit *e)
{
	bt_self_component *const component =
		bt_self_message_iterator_borrow_component(e->self);

	e->trace_class = bt_trace_class_create(component);
	if (!e->trace_class || add_clock(e, component))
		return -1;
	e->stream_class = bt_stream_class_create(e->trace_class);
	if (!e->stream_class ||
	    bt_stream_class_set_name(e->stream_class, "thread") ||
	    bt_stream_class_set_default_clock_class(e->stream_class, e->clock))
		return -1;
	for (enum in_event_kind k = 0; k < IN_EVENT_KINDS; k++)
		if (add_event_class(e, k))
			return -1;
	e->trace = bt_trace_create(e->trace_class);
	return e->trace && !bt_trace_set_name(e->trace, "weft") ? 0 : -1;
}

struct plugin_emit *plugin_emit_new(bt_self_message_iterator *self)
{
	struct plugin_emit *const e = mem_alloc(sizeof(*e));

	e->self = self;
	if (add_classes(e) == 0)
		return e;
	plugin_emit_free(e);
	return NULL;
}

void plugin_emit_free(struct plugin_emit *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->count; i++)
		bt_stream_put_ref(e->streams[i]);
	for (enum in_event_kind k = 0; k < IN_EVENT_KINDS; k++)
		bt_event_class_put_ref(e->events[k]);
	bt_trace_put_ref(e->trace);
	bt_stream_class_put_ref(e->stream_class);
	bt_clock_class_put_ref(e->clock);
	bt_trace_class_put_ref(e->trace_class);
	mem_free(e->streams);
	mem_free(e);
}

/* ---- messages ---- */

static bt_stream *begin_stream(struct plugin_emit *e, const struct session *s,
			       uint32_t thread, uint64_t ns,
			       const bt_message **made)
{
	bt_stream *const stream = bt_stream_create(e->stream_class, e->trace);
	char name[PLUGIN_TEXT_MAX], raw[64];
	bt_message *begin;

	if (!stream)
		return NULL;
	snprintf(raw, sizeof(raw), "%u %.16s", s->threads[thread].tid,
		 s->threads[thread].name);
	bt_stream_set_name(stream, plugin_fields_plain(name, raw));
	begin = bt_message_stream_beginning_create(e->self, stream);
	if (!begin) {
		bt_stream_put_ref(stream);
		return NULL;
	}
	bt_message_stream_beginning_set_default_clock_snapshot(begin, ns);
	*made = begin;
	return stream;
}

size_t plugin_emit_event(struct plugin_emit *e, const struct session *s,
			 const struct in_event *event,
			 const bt_message *made[2])
{
	const uint32_t thread = event->at.thread;
	bt_message *message;
	size_t n = 0;

	vec_need(&e->streams, &e->room, (size_t)thread + 1);
	while (e->count <= thread)
		e->streams[e->count++] = NULL;
	if (!e->streams[thread]) {
		e->streams[thread] = begin_stream(e, s, thread, event->ns,
						  &made[n]);
		if (!e->streams[thread])
			return 0;
		n++;
	}
	message = bt_message_event_create_with_default_clock_snapshot(
		e->self, e->events[event->kind], e->streams[thread],
		event->ns);
	if (!message)
		return 0;
	made[n++] = message;
	e->last = event->ns;
	return plugin_fields_fill(bt_message_event_borrow_event(message), s,
				  event) ? 0 : n;
}

const bt_message *plugin_emit_end(struct plugin_emit *e)
{
	bt_message *message;

	while (e->ended < e->count && !e->streams[e->ended])
		e->ended++;
	if (e->ended == e->count)
		return NULL;
	message = bt_message_stream_end_create(e->self, e->streams[e->ended++]);
	if (message)
		bt_message_stream_end_set_default_clock_snapshot(message,
								 e->last);
	return message;
}
