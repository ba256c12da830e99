/* plugin_emit.c - events as babeltrace2 messages: the classes of weft's own
 * trace, one stream a thread. Knows babeltrace2; knows nothing of chunks.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/plugin_emit.h"

#include "analyzer/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 600 };

/* The fields of an event, in their order in the payload. */
enum field {
	F_PID, F_TID, F_COROUTINE, F_FUNCTION, F_MODULE, F_BUILD_ID, F_OFFSET,
	F_SOURCE, F_LINE, F_IN, F_SLEPT, F_DEPTH, F_THREAD, F_WHY, F_LATE_BY,
	FIELDS,
};

static const struct {
	const char *name;
	enum { NUMBER32, NUMBER64, ADDRESS, TEXT } type;
} fields[FIELDS] = {
	[F_PID] = { "pid", NUMBER32 },
	[F_TID] = { "tid", NUMBER32 },
	[F_COROUTINE] = { "coroutine", NUMBER64 }, /* 0: the thread itself */
	[F_FUNCTION] = { "function", TEXT },
	[F_MODULE] = { "module", TEXT },
	[F_BUILD_ID] = { "build_id", TEXT },
	[F_OFFSET] = { "offset", ADDRESS },
	[F_SOURCE] = { "source", TEXT },
	[F_LINE] = { "line", NUMBER32 },
	[F_IN] = { "in", NUMBER64 },       /* resumed by, suspended to */
	[F_SLEPT] = { "slept", NUMBER64 }, /* ns */
	[F_DEPTH] = { "depth", NUMBER32 },
	[F_THREAD] = { "thread", NUMBER32 }, /* serial: never used twice */
	[F_WHY] = { "why", TEXT },
	[F_LATE_BY] = { "late_by", NUMBER64 }, /* ns */
};

#define BIT(f) (1u << (f))
enum {
	EVERY = BIT(F_PID) | BIT(F_TID) | BIT(F_COROUTINE) | BIT(F_DEPTH) |
		BIT(F_THREAD) | BIT(F_WHY) | BIT(F_LATE_BY),
	NATIVE = EVERY | BIT(F_FUNCTION) | BIT(F_MODULE) | BIT(F_BUILD_ID) |
		 BIT(F_OFFSET),
	LUA = EVERY | BIT(F_FUNCTION) | BIT(F_SOURCE) | BIT(F_LINE),
};

static const struct { const char *name; unsigned fields; }
kinds[IN_EVENT_KINDS] = {
	[IN_EVENT_NATIVE_ENTER] = { "weft:native_enter", NATIVE },
	[IN_EVENT_NATIVE_EXIT] = { "weft:native_exit", NATIVE },
	[IN_EVENT_LUA_CALL] = { "weft:lua_call", LUA },
	[IN_EVENT_LUA_RETURN] = { "weft:lua_return", LUA },
	[IN_EVENT_RESUME] = { "weft:coroutine_resume",
			      EVERY | BIT(F_IN) | BIT(F_SLEPT) },
	[IN_EVENT_SUSPEND] = { "weft:coroutine_suspend", EVERY | BIT(F_IN) },
	[IN_EVENT_MARK] = { "weft:mark", EVERY | BIT(F_FUNCTION) },
};

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
		bt_field_class_integer_set_preferred_display_base(c,
			BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	return c;
}

static bt_field_class *payload_class(bt_trace_class *trace, unsigned has)
{
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

static int add_event_class(struct plugin_emit *e, enum in_event_kind kind)
{
	bt_event_class *const class = bt_event_class_create(e->stream_class);
	bt_field_class *const payload = payload_class(e->trace_class,
						      kinds[kind].fields);

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

/* ---- what stands in the fields ---- */

/* Bytes that would move a terminal's cursor, or end the text early, become
 * question marks: control characters of one byte and of two, and those that
 * turn the direction of writing. */
static const char *plain(char out[TEXT_MAX], const char *text)
{
	size_t n = strnlen(text, TEXT_MAX - 1);

	memcpy(out, text, n);
	out[n] = '\0';
	for (unsigned char *p = (unsigned char *)out; *p; p++) {
		const int is_c1 = p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0;
		const int is_turn = p[0] == 0xe2 &&
			((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
			 (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));

		if (*p < 0x20 || *p == 0x7f || is_c1 || is_turn)
			*p = '?';
	}
	return out;
}

static const char *base_name(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void name_function(char out[TEXT_MAX], const struct session *s,
			  const struct func *f)
{
	char raw[TEXT_MAX];

	if (f->hint[0])
		snprintf(raw, sizeof(raw), "%s", f->hint);
	else if (f->kind == FUNC_LUA)
		snprintf(raw, sizeof(raw), "%.500s:%u",
			 f->source + (*f->source == '@' || *f->source == '='),
			 f->line);
	else if (f->kind == FUNC_NATIVE)
		snprintf(raw, sizeof(raw), "%.500s+0x%llx",
			 base_name(func_elf(s->funcs, f->module)->path),
			 (unsigned long long)f->offset);
	else if (f->kind == FUNC_CODE)
		snprintf(raw, sizeof(raw), "0x%llx",
			 (unsigned long long)f->offset);
	else
		snprintf(raw, sizeof(raw), "%s", f->name);
	plain(out, raw);
}

static void name_build_id(char out[TEXT_MAX], const struct elf_module *m)
{
	out[0] = '\0';
	for (unsigned i = 0; i < m->build_id_size && i < 20; i++)
		snprintf(out + 2 * (size_t)i, 3, "%02x", m->build_id[i]);
}

static const char *why_of(const struct in_event *event)
{
	static const char *const suspends[] = {
		[SUSPEND_YIELD] = "yield", [SUSPEND_RETURN] = "return",
		[SUSPEND_ERROR] = "error",
	};
	static const char *const unwinds[] = {
		[UNWIND_JUMP] = "unwound: longjmp",
		[UNWIND_SKIPPED] = "unwound: skipped",
		[UNWIND_ERROR] = "unwound: error",
		[UNWIND_TAIL] = "unwound: tail call",
		[UNWIND_YIELD] = "unwound: yield",
		[UNWIND_CLOSED] = "unwound: coroutine closed",
		[UNWIND_RESET] = "unwound: stack lost",
	};
	const uint32_t reason = event->at.reason;

	if (event->kind == IN_EVENT_RESUME)
		return event->at.inferred ? "inferred" : "seen";
	if (event->kind == IN_EVENT_SUSPEND)
		return reason <= SUSPEND_ERROR && suspends[reason] ?
		       suspends[reason] : "unknown";
	switch (event->at.why) {
	case REPLAY_SEEN:
		return "seen";
	case REPLAY_OPEN_BEFORE:
		return "open before";
	case REPLAY_UNWOUND:
		return reason <= UNWIND_RESET && unwinds[reason] ?
		       unwinds[reason] : "unwound";
	case REPLAY_DIED:
		return "coroutine died";
	case REPLAY_CUT:
		return "cut";
	case REPLAY_OPEN_AT_END:
		return "open at end";
	}
	return "unknown";
}

static uint64_t number_of(const struct in_event *event, const struct func *f,
			  enum field which)
{
	switch (which) {
	case F_PID:
		return event->at.pid;
	case F_TID:
		return event->at.tid;
	case F_COROUTINE:
		return event->at.coroutine;
	case F_OFFSET:
		return f->offset;
	case F_LINE:
		return f->line;
	case F_IN:
		return event->at.in;
	case F_SLEPT:
		return event->slept;
	case F_DEPTH:
		return event->at.depth;
	case F_THREAD:
		return event->at.thread_serial;
	case F_LATE_BY:
		return event->late_by;
	default:
		return 0;
	}
}

static const char *text_of(char out[TEXT_MAX], const struct session *s,
			   const struct in_event *event, const struct func *f,
			   enum field which)
{
	const struct elf_module *const m = f && f->kind == FUNC_NATIVE ?
		func_elf(s->funcs, f->module) : NULL;

	out[0] = '\0';
	if (which == F_WHY)
		return why_of(event);
	if (which == F_FUNCTION && f)
		name_function(out, s, f);
	else if (which == F_SOURCE && f)
		plain(out, f->source);
	else if (which == F_MODULE && m)
		plain(out, m->path);
	else if (which == F_BUILD_ID && m)
		name_build_id(out, m);
	return out;
}

static int fill(bt_event *to, const struct session *s,
		const struct in_event *event)
{
	bt_field *const payload = bt_event_borrow_payload_field(to);
	const struct func *const f = event->at.func ?
		func_get(s->funcs, event->at.func) : NULL;
	uint64_t index = 0;

	for (enum field i = 0; i < FIELDS; i++) {
		bt_field *field;
		char text[TEXT_MAX];

		if (!(kinds[event->kind].fields & BIT(i)))
			continue;
		field = bt_field_structure_borrow_member_field_by_index(
			payload, index++);
		if (fields[i].type != TEXT)
			bt_field_integer_unsigned_set_value(field,
				number_of(event, f, i));
		else if (bt_field_string_set_value(field,
				text_of(text, s, event, f, i)))
			return -1;
	}
	return 0;
}

/* ---- messages ---- */

static bt_stream *begin_stream(struct plugin_emit *e, const struct session *s,
			       uint32_t thread, uint64_t ns,
			       const bt_message **made)
{
	bt_stream *const stream = bt_stream_create(e->stream_class, e->trace);
	char name[TEXT_MAX], raw[64];
	bt_message *begin;

	if (!stream)
		return NULL;
	snprintf(raw, sizeof(raw), "%u %.16s", s->threads[thread].tid,
		 s->threads[thread].name);
	bt_stream_set_name(stream, plain(name, raw));
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
			 const struct in_event *event, const bt_message *made[2])
{
	const uint32_t thread = event->at.thread;
	bt_message *message;
	size_t n = 0;

	mem_need((void **)&e->streams, &e->room, (size_t)thread + 1,
		 sizeof(*e->streams));
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
	return fill(bt_message_event_borrow_event(message), s, event) ? 0 : n;
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
