/* plugin_fields.c - the fields of each kind of event: their classes and what
 * stands in them. Knows babeltrace2's fields; knows no message.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/plugin_fields.h"
#include "analyzer/base/text.h"

#include <stdio.h>
#include <string.h>

/* The fields of an event, in their order in the payload. */
enum field {
	F_PID, F_TID, F_COROUTINE, F_FUNCTION, F_MODULE, F_BUILD_ID, F_OFFSET,
	F_SOURCE, F_LINE, F_ORDINAL, F_IN, F_SLEPT, F_DEPTH, F_THREAD, F_WHY,
	F_LATE_BY, FIELDS,
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
	[F_ORDINAL] = { "ordinal", NUMBER32 }, /* of those on its lines */
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
	LUA = EVERY | BIT(F_FUNCTION) | BIT(F_SOURCE) | BIT(F_LINE) |
	      BIT(F_ORDINAL),
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

bt_field_class *plugin_fields_class(bt_trace_class *trace,
				    enum in_event_kind kind)
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

const char *plugin_fields_event(enum in_event_kind kind)
{
	return kinds[kind].name;
}

/* ---- what stands in the fields ---- */

/* Control characters are of one byte or of two; those that turn the direction
 * of writing have three. */
const char *plugin_fields_plain(char out[PLUGIN_TEXT_MAX], const char *text)
{
	size_t n = strnlen(text, PLUGIN_TEXT_MAX - 1);

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

static void name_function(char out[PLUGIN_TEXT_MAX], const struct session *s,
			  const struct func *f)
{
	char raw[PLUGIN_TEXT_MAX], which[16] = "";

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
	plugin_fields_plain(out, raw);
}

static void name_build_id(char out[PLUGIN_TEXT_MAX], const struct elf_module *m)
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
	case F_ORDINAL:
		return f->ordinal;
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

static const char *text_of(char out[PLUGIN_TEXT_MAX], const struct session *s,
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
		plugin_fields_plain(out, f->source);
	else if (which == F_MODULE && m)
		plugin_fields_plain(out, m->path);
	else if (which == F_BUILD_ID && m)
		name_build_id(out, m);
	return out;
}

int plugin_fields_fill(bt_event *to, const struct session *s,
		       const struct in_event *event)
{
	bt_field *const payload = bt_event_borrow_payload_field(to);
	const struct func *const f = event->at.func ?
		func_get(s->funcs, event->at.func) : NULL;
	uint64_t index = 0;

	for (enum field i = 0; i < FIELDS; i++) {
		bt_field *field;
		char text[PLUGIN_TEXT_MAX];

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
