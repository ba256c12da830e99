/* plugin_events.c - events as babeltrace2 messages: fields, classes, streams.
 * The names of events and fields are described in docs/explode.md and are not
 * changed. Knows babeltrace2; must not know chunks or records.
 * SPDX-License-Identifier: MIT */
#include "analyzer/explode/plugin_events.h"

#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a text field, with its NUL. Longer texts are cut. */
enum { TEXT_MAX = 600 };

/* ---- texts in fields ---- */

/* Copy text, cut to TEXT_MAX, with question marks for what text_is_hostile and
 * for bytes that are no UTF-8. */
static const char *put_plain(char out[TEXT_MAX], const char *text)
{
	size_t n = 0, size;
	uint32_t code;

	for (; *text; text += size) {
		size = text_utf8(text, &code);
		const bool is_good = code != TEXT_NO_CODE &&
				     !text_is_hostile(code);

		if (n + size >= TEXT_MAX)
			break;
		if (is_good)
			memcpy(out + n, text, size);
		else
			out[n] = '?';
		n += is_good ? size : 1;
	}
	out[n] = '\0';
	return out;
}

/* Writes the text of a field, which is "" before; f is the event's function, or
 * NULL. */
typedef void text_fn(char out[TEXT_MAX], const struct session *,
		     const struct explode_event *, const struct func *f);

/* The function's name or, if it is not known, where the function is. The plugin
 * reads no debug information. */
static void put_function(char out[TEXT_MAX], const struct session *s,
			 const struct explode_event *event,
			 const struct func *f)
{
	char raw[TEXT_MAX], which[16] = "";

	(void)event;
	if (!f)
		return;
	if (f->ordinal)
		snprintf(which, sizeof(which), "#%u", f->ordinal + 1);
	if (f->hint[0])
		snprintf(raw, sizeof(raw), "%s", f->hint);
	else if (f->kind == FUNC_LUA)
		snprintf(raw, sizeof(raw), "%.500s:%u%s",
			 f->source + (*f->source == '@' || *f->source == '='),
			 f->line, which);
	else if (f->kind == FUNC_NATIVE)
		snprintf(raw, sizeof(raw), "%.500s+0x%llx",
			 text_base_name(func_elf(s->funcs, f->module)->path),
			 (unsigned long long)f->offset);
	else if (f->kind == FUNC_CODE)
		snprintf(raw, sizeof(raw), "0x%llx",
			 (unsigned long long)f->offset);
	else
		snprintf(raw, sizeof(raw), "%s", f->name);
	put_plain(out, raw);
}

/* The path of the module, for native functions. */
static void put_module(char out[TEXT_MAX], const struct session *s,
		       const struct explode_event *event, const struct func *f)
{
	(void)event;
	if (f && f->kind == FUNC_NATIVE)
		put_plain(out, func_elf(s->funcs, f->module)->path);
}

/* In hexadecimal digits. */
static void put_build_id(char out[TEXT_MAX], const struct session *s,
			 const struct explode_event *event,
			 const struct func *f)
{
	const struct elf_module *m;

	(void)event;
	if (!f || f->kind != FUNC_NATIVE)
		return;
	m = func_elf(s->funcs, f->module);
	text_hex(m->build_id, m->build_id_size, out);
}

/* Lua's own name of the source, with its "@" or "=". */
static void put_source(char out[TEXT_MAX], const struct session *s,
		       const struct explode_event *event, const struct func *f)
{
	(void)s, (void)event;
	if (f)
		put_plain(out, f->source);
}

/* Reasons come from a trace, and a newer recorder may know more of them. */
#define NAME(names, i)                                                         \
	((i) < sizeof(names) / sizeof(*(names)) ? (names)[i] : NULL)

/* How the event came about, in the words of docs/explode.md; NULL if that is
 * not known. */
static const char *why_of(const struct explode_event *event)
{
	static const char *const suspends[] = {
		[SUSPEND_YIELD] = "yield", [SUSPEND_RETURN] = "return",
		[SUSPEND_ERROR] = "error", [SUSPEND_CLOSED] = "closed",
	};
	static const char *const unwinds[] = {
		[UNWIND_JUMP] = "unwound: longjmp",
		[UNWIND_SKIPPED] = "unwound: skipped",
		[UNWIND_ERROR] = "unwound: error",
		[UNWIND_TAIL] = "unwound: tail call",
		[UNWIND_YIELD] = "unwound: yield",
		[UNWIND_CLOSED] = "unwound: coroutine closed",
		[UNWIND_RESET] = "unwound: stack lost",
		[UNWIND_BORROWED] = "unwound: borrowed",
	};
	static const char *const whys[] = {
		[REPLAY_SEEN] = "seen", [REPLAY_OPEN_BEFORE] = "open before",
		[REPLAY_UNWOUND] = "unwound", [REPLAY_CUT] = "cut",
		[REPLAY_DIED] = "coroutine died",
		[REPLAY_OPEN_AT_END] = "open at end",
		[REPLAY_BORROWED] = "borrowed",
	};
	const uint32_t reason = event->at.reason;

	if (event->kind == EXPLODE_RESUME && reason == SUSPEND_CLOSED)
		return "closes";
	if (event->kind == EXPLODE_RESUME)
		return event->at.inferred ? "inferred" : "seen";
	if (event->kind == EXPLODE_SUSPEND)
		return NAME(suspends, reason);
	if (event->at.why == REPLAY_UNWOUND && NAME(unwinds, reason))
		return NAME(unwinds, reason);
	return NAME(whys, (size_t)event->at.why);
}

static void put_why(char out[TEXT_MAX], const struct session *s,
		    const struct explode_event *event, const struct func *f)
{
	const char *const why = why_of(event);

	(void)s, (void)f;
	snprintf(out, TEXT_MAX, "%s", why ? why : "unknown");
}

/* ---- fields ---- */

/* The fields of events, in their order in the payload. */
enum field {
	F_PID, F_TID, F_COROUTINE, F_FUNCTION, F_MODULE, F_BUILD_ID, F_OFFSET,
	F_SOURCE, F_LINE, F_ORDINAL, F_IN, F_SLEPT, F_DEPTH, F_THREAD, F_WHY,
	F_LATE_BY, FIELDS,
};

/* Where a number comes from: a member of the event or of its function. */
#define EVENT(member)                                                          \
	false, offsetof(struct explode_event, member),                         \
	sizeof(((struct explode_event *)0)->member)
#define FUNC(member)                                                           \
	true, offsetof(struct func, member),                                   \
	sizeof(((struct func *)0)->member)

static const struct {
	const char *name;
	enum { NUMBER32, NUMBER64, ADDRESS, TEXT } type;
	text_fn *text;             /* of a TEXT */
	bool is_of_func;           /* of a number: where it is */
	size_t offset, size;
} fields[FIELDS] = {
	[F_PID] = { "pid", NUMBER32, NULL, EVENT(at.pid) },
	[F_TID] = { "tid", NUMBER32, NULL, EVENT(at.tid) },
	/* 0: the thread itself */
	[F_COROUTINE] = { "coroutine", NUMBER64, NULL, EVENT(at.coroutine) },
	[F_FUNCTION] = { "function", TEXT, .text = put_function },
	[F_MODULE] = { "module", TEXT, .text = put_module },
	[F_BUILD_ID] = { "build_id", TEXT, .text = put_build_id },
	[F_OFFSET] = { "offset", ADDRESS, NULL, FUNC(offset) },
	[F_SOURCE] = { "source", TEXT, .text = put_source },
	[F_LINE] = { "line", NUMBER32, NULL, FUNC(line) },
	/* its position among the functions on its lines, from 0 on */
	[F_ORDINAL] = { "ordinal", NUMBER32, NULL, FUNC(ordinal) },
	/* the coroutine that resumed it, or that it was suspended to */
	[F_IN] = { "in", NUMBER64, NULL, EVENT(at.in) },
	[F_SLEPT] = { "slept", NUMBER64, NULL, EVENT(slept) }, /* ns */
	[F_DEPTH] = { "depth", NUMBER32, NULL, EVENT(at.depth) },
	/* a serial number, which is never used twice */
	[F_THREAD] = { "thread", NUMBER32, NULL, EVENT(at.thread_serial) },
	[F_WHY] = { "why", TEXT, .text = put_why },
	[F_LATE_BY] = { "late_by", NUMBER64, NULL, EVENT(late_by) }, /* ns */
};

/* Sets of fields, as bits. */
#define BIT(f) (1u << (f))
enum {
	EVERY = BIT(F_PID) | BIT(F_TID) | BIT(F_COROUTINE) | BIT(F_DEPTH) |
		BIT(F_THREAD) | BIT(F_WHY) | BIT(F_LATE_BY),
	NATIVE = EVERY | BIT(F_FUNCTION) | BIT(F_MODULE) | BIT(F_BUILD_ID) |
		 BIT(F_OFFSET),
	LUA = EVERY | BIT(F_FUNCTION) | BIT(F_SOURCE) | BIT(F_LINE) |
	      BIT(F_ORDINAL),
};

/* The events: their names, and the fields each has. */
static const struct { const char *name; unsigned fields; }
kinds[EXPLODE_KINDS] = {
	[EXPLODE_NATIVE_ENTER] = { "weft:native_enter", NATIVE },
	[EXPLODE_NATIVE_EXIT] = { "weft:native_exit", NATIVE },
	[EXPLODE_LUA_CALL] = { "weft:lua_call", LUA },
	[EXPLODE_LUA_RETURN] = { "weft:lua_return", LUA },
	[EXPLODE_RESUME] = { "weft:coroutine_resume",
			      EVERY | BIT(F_IN) | BIT(F_SLEPT) },
	[EXPLODE_SUSPEND] = { "weft:coroutine_suspend", EVERY | BIT(F_IN) },
	[EXPLODE_MARK] = { "weft:mark", EVERY | BIT(F_FUNCTION) },
};

/* The class of one field; NULL without memory. */
static bt_field_class *field_class(bt_trace_class *trace, enum field f)
{
	bt_field_class *c;

	if (fields[f].type == TEXT)
		return bt_field_class_string_create(trace);
	c = bt_field_class_integer_unsigned_create(trace);
	if (c)
		bt_field_class_integer_set_field_value_range(
			c, fields[f].type == NUMBER32 ? 32 : 64);
	if (c && fields[f].type == ADDRESS)
		bt_field_class_integer_set_preferred_display_base(
		    c,
		    BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	return c;
}

/* A new class of the event's payload, the caller's; NULL without memory.
 * Members are appended by rising number, and fill_payload relies on that. */
static bt_field_class *payload_class(bt_trace_class *trace,
				     enum explode_event_kind kind)
{
	const unsigned has = kinds[kind].fields;
	bt_field_class *const payload = bt_field_class_structure_create(trace);

	for (enum field f = 0; payload && f < FIELDS; f++) {
		bt_field_class *member;

		if (!(has & BIT(f)))
			continue;
		member = field_class(trace, f);
		if (!member || bt_field_class_structure_append_member(payload,
						fields[f].name, member))
			return NULL;
		bt_field_class_put_ref(member);
	}
	return payload;
}

/* The value of a field that is no TEXT. Only kinds with a function have fields
 * of a function. */
static uint64_t number_of(const struct explode_event *event,
			  const struct func *f, enum field which)
{
	const void *const from = fields[which].is_of_func ? (const void *)f :
				 event;
	uint64_t value = 0;

	assert(fields[which].size > 0 &&
	       fields[which].size <= sizeof(value));
	/* Little-endian, as everything that weft runs on. */
	memcpy(&value, (const char *)from + fields[which].offset,
	       fields[which].size);
	return value;
}

/* Set all fields of an event's payload. 0, or -1 without memory. */
static int fill_payload(bt_event *to, const struct session *s,
			const struct explode_event *event)
{
	bt_field *const payload = bt_event_borrow_payload_field(to);
	const struct func *const f = event->at.func ?
		func_get(s->funcs, event->at.func) : NULL;
	uint64_t index = 0;

	for (enum field i = 0; i < FIELDS; i++) {
		bt_field *field;
		char text[TEXT_MAX] = "";

		if (!(kinds[event->kind].fields & BIT(i)))
			continue;
		field = bt_field_structure_borrow_member_field_by_index(
			payload, index++);
		if (fields[i].type != TEXT) {
			bt_field_integer_unsigned_set_value(field,
				number_of(event, f, i));
			continue;
		}
		fields[i].text(text, s, event, f);
		if (bt_field_string_set_value(field, text))
			return -1;
	}
	return 0;
}

/* ---- the trace ---- */

/* One of 16,384 events is some MB large; a reader seeks by packets. */
enum { PACKET_EVENTS = 1 << 14 };

/* A thread's stream; NULL: not begun. Its packet is open until the stream
 * ends. */
struct thread_stream {
	bt_stream *stream;
	bt_packet *packet;
	unsigned events;       /* in the packet */
};

/* The classes form a tree: the trace's class, the streams', the events'. */
struct plugin_events {
	bt_self_message_iterator *self;
	bt_trace_class *trace_class;
	bt_clock_class *clock;
	bt_stream_class *stream_class;
	bt_trace *trace;
	bt_event_class *events[EXPLODE_KINDS];
	struct thread_stream *streams; /* by index of the thread */
	size_t count, room;
	size_t ended;          /* streams whose end was made */
	uint64_t last;         /* ns of the last event */
};

/* ---- classes ---- */

static int add_event_class(struct plugin_events *e,
			   enum explode_event_kind kind)
{
	bt_event_class *const class = bt_event_class_create(e->stream_class);
	bt_field_class *const payload = payload_class(e->trace_class, kind);

	if (!class || !payload ||
	    bt_event_class_set_name(class, kinds[kind].name) ||
	    bt_event_class_set_payload_field_class(class, payload))
		return -1;
	bt_field_class_put_ref(payload);
	e->events[kind] = class;
	return 0;
}

/* Nanoseconds since the epoch: babeltrace2's muxer may misorder clocks that are
 * faster than that. */
static int add_clock(struct plugin_events *e, bt_self_component *component)
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

/* Create the trace, its clock, and the classes of streams and events. */
static int add_classes(struct plugin_events *e)
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
	for (enum explode_event_kind k = 0; k < EXPLODE_KINDS; k++)
		if (add_event_class(e, k))
			return -1;
	/* babeltrace2 2.1 aborts when it reads streams without packets that
	 * its own sink.ctf.fs wrote. */
	bt_stream_class_set_supports_packets(e->stream_class, BT_TRUE, BT_TRUE,
					     BT_TRUE);
	e->trace = bt_trace_create(e->trace_class);
	return e->trace && !bt_trace_set_name(e->trace, "weft") ? 0 : -1;
}

struct plugin_events *plugin_events_new(bt_self_message_iterator *self)
{
	struct plugin_events *const e = mem_alloc(sizeof(*e));

	e->self = self;
	if (add_classes(e) == 0)
		return e;
	plugin_events_free(e);
	return NULL;
}

void plugin_events_free(struct plugin_events *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->count; i++) {
		bt_packet_put_ref(e->streams[i].packet);
		bt_stream_put_ref(e->streams[i].stream);
	}
	for (enum explode_event_kind k = 0; k < EXPLODE_KINDS; k++)
		bt_event_class_put_ref(e->events[k]);
	bt_trace_put_ref(e->trace);
	bt_stream_class_put_ref(e->stream_class);
	bt_clock_class_put_ref(e->clock);
	bt_trace_class_put_ref(e->trace_class);
	mem_free_all(e->streams, e);
}

/* ---- messages ---- */

/* Begin the stream of a thread. Returns the message that says so; NULL without
 * memory. */
static bt_message *begin_stream(struct plugin_events *e,
				const struct session *s, uint32_t thread,
				uint64_t ns)
{
	bt_stream *const stream = bt_stream_create(e->stream_class, e->trace);
	char name[TEXT_MAX], raw[64];
	bt_message *begin;

	if (!stream)
		return NULL;
	e->streams[thread].stream = stream;
	snprintf(raw, sizeof(raw), "%u %.16s", s->threads[thread].tid,
		 s->threads[thread].name);
	bt_stream_set_name(stream, put_plain(name, raw));
	begin = bt_message_stream_beginning_create(e->self, stream);
	if (begin)
		bt_message_stream_beginning_set_default_clock_snapshot(begin,
								       ns);
	return begin;
}

static bt_message *begin_packet(struct plugin_events *e,
				struct thread_stream *to, uint64_t ns)
{
	to->events = 0;
	to->packet = bt_packet_create(to->stream);
	return to->packet ?
	       bt_message_packet_beginning_create_with_default_clock_snapshot(
			e->self, to->packet, ns) : NULL;
}

static bt_message *end_packet(struct plugin_events *e,
			      struct thread_stream *to, uint64_t ns)
{
	bt_message *const end =
		bt_message_packet_end_create_with_default_clock_snapshot(
			e->self, to->packet, ns);

	bt_packet_put_ref(to->packet);
	to->packet = NULL;
	return end;
}

size_t plugin_events_put(struct plugin_events *e, const struct session *s,
			 const struct explode_event *event,
			 const bt_message *made[PLUGIN_EVENTS_MOST])
{
	const uint32_t thread = event->at.thread;
	struct thread_stream *to;
	bt_message *message;
	size_t n = 0;

	vec_need(&e->streams, &e->room, (size_t)thread + 1);
	while (e->count <= thread)
		e->streams[e->count++] = (struct thread_stream){ 0 };
	to = &e->streams[thread];
	if (!to->stream)
		made[n++] = begin_stream(e, s, thread, event->ns);
	else if (to->events == PACKET_EVENTS)
		made[n++] = end_packet(e, to, event->ns);
	if (n > 0 && made[0])
		made[n++] = begin_packet(e, to, event->ns);
	if (n > 0 && !made[n - 1])
		return 0;
	message =
	    bt_message_event_create_with_packet_and_default_clock_snapshot(
		e->self, e->events[event->kind], to->packet, event->ns);
	if (!message)
		return 0;
	made[n++] = message;
	to->events++;
	e->last = event->ns;
	return fill_payload(bt_message_event_borrow_event(message), s, event) ?
	       0 : n;
}

const bt_message *plugin_events_end(struct plugin_events *e)
{
	struct thread_stream *of;
	bt_message *message;

	while (e->ended < e->count && !e->streams[e->ended].stream)
		e->ended++;
	if (e->ended == e->count)
		return NULL;
	of = &e->streams[e->ended];
	if (of->packet)
		return end_packet(e, of, e->last);
	e->ended++;
	message = bt_message_stream_end_create(e->self, of->stream);
	if (message)
		bt_message_stream_end_set_default_clock_snapshot(message,
								 e->last);
	return message;
}
