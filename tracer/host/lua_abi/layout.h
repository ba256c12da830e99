/* layout.h - where one version of Lua keeps what a call event needs, in
 * bytes, on 64-bit machines. Trusted only after lua_hook_check.c has tried it
 * on the library at hand. Seen by files that are compiled once per version.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_ABI_LAYOUT_H
#define WEFT_TRACER_HOST_LUA_ABI_LAYOUT_H

#include "tracer/host/base/base.h"

#include <lua.h>
#include <string.h>

#if WEFT_LUA_ABI == 54 /* 5.4.0 to 5.4.8 */
enum {
	PROTO_LINES = 44, PROTO_SOURCE = 112, PROTO_HOLDS = 32, PROTO_HELD = 72,
};
#elif WEFT_LUA_ABI == 53 /* 5.3.1 to 5.3.6 */
enum {
	PROTO_LINES = 40, PROTO_SOURCE = 104, PROTO_HOLDS = 32, PROTO_HELD = 64,
};
#elif WEFT_LUA_ABI == 52 /* 5.2.0 to 5.2.4 */
enum {
	PROTO_LINES = 104, PROTO_SOURCE = 72, PROTO_HOLDS = 96, PROTO_HELD = 32,
};
#elif WEFT_LUA_ABI == 51 /* 5.1.0 to 5.1.5 */
enum {
	PROTO_LINES = 96, PROTO_SOURCE = 64, PROTO_HOLDS = 88, PROTO_HELD = 32,
};
#elif WEFT_LUA_ABI == 21 /* LuaJIT 2.1 with 64-bit references */
enum {
	PROTO_LINES = 72, PROTO_SOURCE = 64, PROTO_HOLDS = 48, PROTO_HELD = 32,
	PROTO_FLAGS = 61, PROTO_HAS_CHILD = 1, OBJECT_TYPE = 9, TYPE_PROTO = 7,
};
#else
#error "no layout for this version of Lua"
#endif
/* PROTO_LINES: two ints, which together with the source tell functions apart:
 * linedefined, lastlinedefined (LuaJIT: how many lines). */

/* How a word is read: lua_hook_check.c reads without ever faulting. */
#ifndef LAYOUT_WORD
INLINE uint64_t layout_word(uint64_t at)
{
	uint64_t v;

	memcpy(&v, (const void *)at, sizeof(v));
	return v;
}
#else
#define layout_word LAYOUT_WORD
#endif

INLINE uint8_t layout_byte(uint64_t at)
{
#ifndef LAYOUT_WORD
	return *(const uint8_t *)at;
#else
	return (uint8_t)(layout_word(at - 7) >> 56); /* what follows may be
	                                              * padding */
#endif
}

INLINE uint32_t layout_half(uint64_t at)
{
#ifndef LAYOUT_WORD
	uint32_t v;

	memcpy(&v, (const void *)at, sizeof(v));
	return v;
#else
	return (uint32_t)(layout_word(at - 4) >> 32);
#endif
}

INLINE int layout_first(uint64_t lines)
{
	return (int)(uint32_t)lines;
}

INLINE int layout_last(uint64_t lines)
{
	const int second = (int)(lines >> 32);

	return WEFT_LUA_ABI == 21 ? layout_first(lines) + second : second;
}

/* ------------------------------------------------------------- prototypes
 * layout_holds: how many things a function's prototype holds; layout_held: the
 * prototype of a function written in it that is one of them, or 0; in the order
 * of the text. */

#if WEFT_LUA_ABI == 21
/* Among its constants, which are counted downwards. */
INLINE uint32_t layout_holds(uint64_t at)
{
	return layout_byte(at + PROTO_FLAGS) & PROTO_HAS_CHILD ?
	       layout_half(at + PROTO_HOLDS) : 0;
}

INLINE uint64_t layout_held(uint64_t at, uint32_t i)
{
	const uint64_t held = layout_word(layout_word(at + PROTO_HELD) -
					  8 * ((uint64_t)i + 1));

	return layout_byte(held + OBJECT_TYPE) == TYPE_PROTO ? held : 0;
}
#else
INLINE uint32_t layout_holds(uint64_t at)
{
	return layout_half(at + PROTO_HOLDS);
}

INLINE uint64_t layout_held(uint64_t at, uint32_t i)
{
	return layout_word(layout_word(at + PROTO_HELD) + 8 * (uint64_t)i);
}
#endif

/* ---------------------------------------------------------------- frames
 * layout_id: what names a frame on its lua_State L while it lives.
 * layout_callee: its function: its prototype's address, or a C function's.
 * layout_caller: the id of its caller, also of the outermost frame, which has a
 * caller that is no call: layout_is_call. */

#if WEFT_LUA_ABI == 51
enum {
	STATE_CI = 40, STATE_BASE_CI = 80, STATE_GLOBAL = 32,
	CI_SIZE = 40, CI_FUNC = 8, CI_SAVED_PC = 24,
	CLOSURE_IS_C = 10, LUA_CLOSURE_PROTO = 32, C_CLOSURE_FUNCTION = 32,
	OPCODE_MASK = 0x3f, OPCODE_TAILCALL = 29,
};

INLINE uint64_t layout_id(const lua_Debug *d)
{
	return (uint64_t)d->i_ci;
}

INLINE uint64_t layout_frame(uint64_t L, uint64_t id)
{
	return layout_word(L + STATE_BASE_CI) + id * CI_SIZE;
}

INLINE uint64_t layout_callee(uint64_t L, uint64_t id, int *is_c)
{
	const uint64_t frame = layout_frame(L, id);
	const uint64_t closure = layout_word(layout_word(frame + CI_FUNC));

	*is_c = layout_byte(closure + CLOSURE_IS_C) != 0;
	return layout_word(closure + LUA_CLOSURE_PROTO);
}

INLINE uint64_t layout_caller(uint64_t L, uint64_t id)
{
	(void)L;
	return id - 1;
}

INLINE int layout_is_call(uint64_t L, uint64_t id)
{
	(void)L;
	return id != 0;
}

/* Does the Lua function of this frame make a tail call now? 5.1 has no event of
 * its own for it. */
INLINE int layout_tail_calls(uint64_t L, uint64_t id)
{
	const uint64_t pc = layout_word(layout_frame(L, id) + CI_SAVED_PC);

	return (layout_byte(pc - 4) & OPCODE_MASK) == OPCODE_TAILCALL;
}

#elif WEFT_LUA_ABI == 21
enum {
	STATE_GLOBAL = 16, STATE_BASE = 32, STATE_STACK = 56,
	FUNC_FFID = 10, FUNC_PC = 32, C_CLOSURE_FUNCTION = 40, PROTO_SIZE = 104,
	FFID_LUA = 0, FFID_C = 1,
	FRAME_TYPE = 3, FRAME_TYPE_P = 7, FRAME_IS_LUA = 0, FRAME_IS_VARG = 3,
};
#define LAYOUT_POINTER ((UINT64_C(1) << 47) - 1)

/* The slot of the frame; above it, what lua_getstack adds. */
INLINE uint64_t layout_id(const lua_Debug *d)
{
	return (uint64_t)d->i_ci & 0xffff;
}

INLINE uint64_t layout_function(uint64_t L, uint64_t id)
{
	return layout_word(layout_word(L + STATE_STACK) + id * 8 - 8) &
	       LAYOUT_POINTER;
}

/* Functions of the libraries share code: they are told apart by number. */
INLINE uint64_t layout_callee(uint64_t L, uint64_t id, int *is_c)
{
	const uint64_t f = layout_function(L, id);
	const uint8_t ffid = layout_byte(f + FUNC_FFID);

	*is_c = ffid != FFID_LUA;
	if (ffid == FFID_LUA)
		return layout_word(f + FUNC_PC) - PROTO_SIZE;
	if (ffid == FFID_C)
		return layout_word(f + C_CLOSURE_FUNCTION);
	return layout_word(L + STATE_GLOBAL) + ffid;
}

/* Down the links of the frames; those that are no calls of their own are left
 * out. */
INLINE uint64_t layout_caller(uint64_t L, uint64_t id)
{
	const uint64_t stack = layout_word(L + STATE_STACK);
	uint64_t f = stack + id * 8;
	int level = 1;

	while (f > stack + 8) {
		uint64_t link, size;

		if ((layout_word(f - 8) & LAYOUT_POINTER) == L)
			level++;
		if (level-- == 0)
			return (f - stack) / 8;
		link = layout_word(f);
		if ((link & FRAME_TYPE) == FRAME_IS_LUA) {
			size = 8 * (2 + (uint64_t)layout_byte(link - 3));
		} else {
			size = link & ~(uint64_t)FRAME_TYPE_P;
			level += (link & FRAME_TYPE_P) == FRAME_IS_VARG;
		}
		if (unlikely(size - 1 >= f - stack))
			break;
		f -= size;
	}
	return 0;
}

INLINE int layout_is_call(uint64_t L, uint64_t id)
{
	(void)L;
	return id != 0;
}

#else
enum {
	CI_FUNC = 0, CI_PREVIOUS = 16,
	VALUE_TAG = 8, TAG_MASK = 0x3f,
	TAG_LUA = 6, TAG_LIGHT_C = 22,
	LUA_CLOSURE_PROTO = 24, C_CLOSURE_FUNCTION = 24,
};

INLINE uint64_t layout_id(const lua_Debug *d)
{
	return (uint64_t)d->i_ci;
}

INLINE uint64_t layout_callee(uint64_t L, uint64_t id, int *is_c)
{
	const uint64_t value = layout_word(id + CI_FUNC);
	const uint64_t v = layout_word(value);
	const int tag = layout_byte(value + VALUE_TAG) & TAG_MASK;

	(void)L;
	*is_c = tag != TAG_LUA;
	if (tag == TAG_LIGHT_C)
		return v;
	return layout_word(v + (tag == TAG_LUA ? (int)LUA_CLOSURE_PROTO :
				(int)C_CLOSURE_FUNCTION));
}

INLINE uint64_t layout_caller(uint64_t L, uint64_t id)
{
	(void)L;
	return layout_word(id + CI_PREVIOUS);
}

INLINE int layout_is_call(uint64_t L, uint64_t id)
{
	(void)L;
	return layout_word(id + CI_PREVIOUS) != 0;
}
#endif

/* ---------------------------------------------------------------- strings */

#if WEFT_LUA_ABI == 21
enum { STRING_TEXT = 24 };

INLINE uint64_t layout_length(uint64_t string)
{
	return layout_half(string + 20);
}
#else
enum { STRING_TEXT = 24 };
#if WEFT_LUA_ABI <= 52
INLINE uint64_t layout_length(uint64_t string)
{
	return layout_word(string + 16);
}
#else
enum { STRING_TAG = 8, STRING_SHORT = 4, STRING_SHORT_LENGTH = 11 };

INLINE uint64_t layout_length(uint64_t string)
{
	return (layout_byte(string + STRING_TAG) & TAG_MASK) == STRING_SHORT ?
	       layout_byte(string + STRING_SHORT_LENGTH) :
	       layout_word(string + 16);
}
#endif
#endif

#endif
