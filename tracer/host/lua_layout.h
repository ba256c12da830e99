/* lua_layout.h - where one version of Lua keeps what a call event needs, in
 * bytes, on 64-bit machines. Trusted only after lua_hook_check.c has tried it
 * on the library at hand. Seen by files that are compiled once per version.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_LAYOUT_H
#define WEFT_TRACER_HOST_LUA_LAYOUT_H

#include "tracer/host/base.h"

#include <lua.h>
#include <string.h>

#if LUA_VERSION_NUM == 504 /* 5.4.0 to 5.4.8 */
enum {
	CI_FUNC = 0, CI_PREVIOUS = 16,
	VALUE_TAG = 8, TAG_MASK = 0x3f,
	TAG_LUA = 6, TAG_LIGHT_C = 22, TAG_C = 38,
	LUA_CLOSURE_PROTO = 24, C_CLOSURE_FUNCTION = 24,
	PROTO_LINES = 44, /* linedefined, lastlinedefined: two ints */
	PROTO_SOURCE = 112,
	STRING_TAG = 8, STRING_SHORT = 4, STRING_SHORT_LENGTH = 11,
	STRING_HASH = 12, STRING_LENGTH = 16, STRING_TEXT = 24,
};
#else
#error "no layout for this version of Lua"
#endif

INLINE uint64_t layout_word(uint64_t at)
{
	uint64_t v;

	memcpy(&v, (const void *)at, sizeof(v));
	return v;
}

INLINE uint8_t layout_byte(uint64_t at)
{
	return *(const uint8_t *)at;
}

/* The function of a frame: its prototype's address, or a C function's. */
INLINE uint64_t layout_callee(uint64_t frame, int *is_c)
{
	const uint64_t value = layout_word(frame + CI_FUNC);
	const uint64_t v = layout_word(value);
	const int tag = layout_byte(value + VALUE_TAG) & TAG_MASK;

	*is_c = tag != TAG_LUA;
	if (tag == TAG_LIGHT_C)
		return v;
	return layout_word(v + (tag == TAG_LUA ? (int)LUA_CLOSURE_PROTO :
				(int)C_CLOSURE_FUNCTION));
}

/* The frame's caller on its lua_State: its id, also of the outermost frame,
 * which has a caller that is no call. */
INLINE uint64_t layout_caller(uint64_t frame)
{
	return layout_word(frame + CI_PREVIOUS);
}

INLINE uint64_t layout_is_call(uint64_t frame)
{
	return layout_word(frame + CI_PREVIOUS) != 0;
}

INLINE uint64_t layout_length(uint64_t string)
{
	return (layout_byte(string + STRING_TAG) & TAG_MASK) == STRING_SHORT ?
	       layout_byte(string + STRING_SHORT_LENGTH) :
	       layout_word(string + STRING_LENGTH);
}

/* Tells strings at one address apart, as they come and go: by the hash and
 * length in the header, and the end of the text, since long ones are not
 * hashed. */
INLINE uint64_t layout_text(uint64_t string)
{
	uint64_t length, mix;

	if (string == 0)
		return 0;
	length = layout_length(string);
	mix = (layout_word(string + STRING_HASH) & 0xffffffff) *
	      UINT64_C(0x9e3779b97f4a7c15) + length;
	if (length >= 8)
		mix ^= layout_word(string + STRING_TEXT + length - 8);
	return mix;
}

#endif
