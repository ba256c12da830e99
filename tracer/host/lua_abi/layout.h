/* layout.h - where one version of Lua keeps what a call event needs: offsets in
 * bytes, on 64-bit machines. They are used only after check.c has tried them on
 * the library at hand. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"
#include "tracer/host/base/kernel.h"

#include <lua.h>
#include <stdbool.h>
#include <string.h>

#if WEFT_LUA_ABI >= 54 /* 5.4.0 to 5.5.1 */
enum {
	PROTO_LINES = 44, PROTO_SOURCE = 112,
	PROTO_CHILDREN = 32, PROTO_CHILD = 72, PROTO_PARAMS = 10,
	PROTO_CODES = 24, PROTO_CODE = 64,
	PROTO_CONSTANTS = 20, PROTO_CONSTANT = 56,
};
#elif WEFT_LUA_ABI == 53 /* 5.3.1 to 5.3.6 */
enum {
	PROTO_LINES = 40, PROTO_SOURCE = 104,
	PROTO_CHILDREN = 32, PROTO_CHILD = 64, PROTO_PARAMS = 10,
	PROTO_CODES = 24, PROTO_CODE = 56,
	PROTO_CONSTANTS = 20, PROTO_CONSTANT = 48,
};
#elif WEFT_LUA_ABI == 52 /* 5.2.0 to 5.2.4 */
enum {
	PROTO_LINES = 104, PROTO_SOURCE = 72,
	PROTO_CHILDREN = 96, PROTO_CHILD = 32, PROTO_PARAMS = 120,
	PROTO_CODES = 88, PROTO_CODE = 24,
	PROTO_CONSTANTS = 84, PROTO_CONSTANT = 16,
};
#elif WEFT_LUA_ABI == 51 /* 5.1.0 to 5.1.5 */
enum {
	PROTO_LINES = 96, PROTO_SOURCE = 64,
	PROTO_CHILDREN = 88, PROTO_CHILD = 32, PROTO_PARAMS = 113,
	PROTO_CODES = 80, PROTO_CODE = 24,
	PROTO_CONSTANTS = 76, PROTO_CONSTANT = 16,
};
#elif WEFT_LUA_ABI == 21 /* LuaJIT 2.1 with 64-bit references */
enum {
	PROTO_LINES = 72, PROTO_SOURCE = 64,
	PROTO_CHILDREN = 48, PROTO_CHILD = 32, PROTO_PARAMS = 10,
	PROTO_CODES = 12, PROTO_NUMBERS = 52,
	PROTO_FLAGS = 61, PROTO_HAS_CHILD = 1,
	OBJECT_TYPE = 9, TYPE_STRING = 4, TYPE_PROTO = 7,
};
#else
#error "no layout for this version of Lua"
#endif
/* At PROTO_LINES lie two ints: linedefined and lastlinedefined (in LuaJIT: the
 * number of lines). Together with the source they tell functions apart. */

/* ----------------------------------------------------------------- reading */

/* check.c defines LAYOUT_WORD, which reads a word without ever faulting. */
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
	/* The word ends with the byte: what follows may be padding. */
	return (uint8_t)(layout_word(at - 7) >> 56);
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

/* The first and the last line in the word at PROTO_LINES. */
INLINE int layout_first(uint64_t lines)
{
	return (int)(uint32_t)lines;
}

INLINE int layout_last(uint64_t lines)
{
	const int second = (int)(lines >> 32);

	return WEFT_LUA_ABI == 21 ? layout_first(lines) + second : second;
}

/* LuaJIT's stripped functions have none, the main function among them, which
 * else has the lines of its text. */
INLINE bool layout_has_no_lines(uint64_t at)
{
	return WEFT_LUA_ABI == 21 && at != 0 &&
	       layout_word(at + PROTO_LINES) == 0;
}

/* ----------------------------------------------------------------- prototypes
 * A prototype refers to those of the functions written in it, its children, in
 * the order of the text. layout_children: how many places there are for them;
 * layout_child: the prototype in place i, or 0. */

#if WEFT_LUA_ABI == 21
/* They are among the constants, which are numbered downwards. */
INLINE uint32_t layout_children(uint64_t at)
{
	return layout_byte(at + PROTO_FLAGS) & PROTO_HAS_CHILD ?
	       layout_half(at + PROTO_CHILDREN) : 0;
}

INLINE uint64_t layout_child(uint64_t at, uint32_t i)
{
	const uint64_t constant = layout_word(layout_word(at + PROTO_CHILD) -
					      8 * ((uint64_t)i + 1));

	return layout_byte(constant + OBJECT_TYPE) == TYPE_PROTO ? constant : 0;
}
#else
INLINE uint32_t layout_children(uint64_t at)
{
	return layout_half(at + PROTO_CHILDREN);
}

INLINE uint64_t layout_child(uint64_t at, uint32_t i)
{
	return layout_word(layout_word(at + PROTO_CHILD) + 8 * (uint64_t)i);
}
#endif

/* --------------------------------------------------------------------- frames
 * layout_id: what identifies a frame on its lua_State L while it lives.
 * layout_callee: the frame's function: the address of its prototype, or of a C
 * function. layout_caller: the id of the frame's caller. The outermost frame
 * has one, too, which is no call: layout_is_call tells. layout_is_called_by: is
 * that its caller, as far as one look tells? */

#if WEFT_LUA_ABI == 51
enum {
	STATE_BASE_CI = 80, STATE_GLOBAL = 32,
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

INLINE uint64_t layout_callee(uint64_t L, uint64_t id, bool *is_c)
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

INLINE bool layout_is_called_by(uint64_t L, uint64_t id, uint64_t caller)
{
	return layout_caller(L, id) == caller;
}

INLINE bool layout_is_call(uint64_t L, uint64_t id)
{
	(void)L;
	return id != 0;
}

/* Does the Lua function of this frame make a tail call now? 5.1 has no event
 * for tail calls. */
INLINE bool layout_tail_calls(uint64_t L, uint64_t id)
{
	const uint64_t pc = layout_word(layout_frame(L, id) + CI_SAVED_PC);

	return (layout_byte(pc - 4) & OPCODE_MASK) == OPCODE_TAILCALL;
}

#elif WEFT_LUA_ABI == 21
enum {
	STATE_GLOBAL = 16, STATE_STACK = 56, STATE_C_FRAME = 80,
	FUNC_FFID = 10, FUNC_UPVALUES = 11, FUNC_PC = 32,
	C_CLOSURE_FUNCTION = 40, C_CLOSURE_UPVALUE = 48, PROTO_SIZE = 104,
	FFID_LUA = 0, FFID_C = 1,
	FRAME_TYPE = 3, FRAME_TYPE_P = 7, FRAME_IS_LUA = 0, FRAME_IS_VARG = 3,
};
#define LAYOUT_POINTER ((UINT64_C(1) << 47) - 1)

/* The slot of the frame. Higher bits hold what lua_getstack adds. */
INLINE uint64_t layout_id(const lua_Debug *d)
{
	return (uint64_t)d->i_ci & 0xffff;
}

/* Does it run, or has it resumed what does? Else no C code is below it. */
INLINE bool layout_is_running(uint64_t L)
{
	return layout_word(L + STATE_C_FRAME) != 0;
}

/* Where its function lies. */
INLINE uint64_t layout_slot(uint64_t L, uint64_t id)
{
	return layout_word(L + STATE_STACK) + id * 8 - 8;
}

INLINE uint64_t layout_function(uint64_t L, uint64_t id)
{
	return layout_word(layout_slot(L, id)) & LAYOUT_POINTER;
}

/* Functions of LuaJIT's libraries share code: their numbers tell them apart. */
INLINE uint64_t layout_callee(uint64_t L, uint64_t id, bool *is_c)
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

/* The caller, if that is a Lua function that has called by a call; otherwise 0.
 * Then the link is its next instruction, which follows the one that says how
 * far down its own frame is. */
INLINE uint64_t layout_lua_caller(uint64_t L, uint64_t id)
{
	const uint64_t link = layout_word(layout_word(L + STATE_STACK) +
					  id * 8);

	return (link & FRAME_TYPE) != FRAME_IS_LUA ? 0 :
	       id - 2 - layout_byte(link - 3);
}

/* Is it this frame? */
INLINE bool layout_is_called_by(uint64_t L, uint64_t id, uint64_t caller)
{
	const uint64_t link = layout_word(layout_word(L + STATE_STACK) +
					  id * 8);

	return (link & FRAME_TYPE) == FRAME_IS_LUA &&
	       id - 2 - caller == layout_byte(link - 3);
}

/* Follows the links of the frames and skips those that are no calls. */
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

INLINE bool layout_is_call(uint64_t L, uint64_t id)
{
	(void)L;
	return id != 0;
}

#else
enum {
	STATE_GLOBAL = 24, CI_FUNC = 0, CI_PREVIOUS = 16,
	VALUE_TAG = 8, TAG_MASK = 0x3f, COLLECTABLE = 64,
	TAG_LUA = 6 | COLLECTABLE, TAG_LIGHT_C = 22,
	LUA_CLOSURE_PROTO = 24, C_CLOSURE_FUNCTION = 24,
};

INLINE uint64_t layout_id(const lua_Debug *d)
{
	return (uint64_t)d->i_ci;
}

INLINE uint64_t layout_callee(uint64_t L, uint64_t id, bool *is_c)
{
	uint64_t value = layout_word(id + CI_FUNC);
	const uint64_t v = layout_word(value);

	(void)L;
	*is_c = unlikely(layout_byte(value + VALUE_TAG) != TAG_LUA);
	if (!*is_c)
		return layout_word(v + LUA_CLOSURE_PROTO);
	PIN(value);
	return layout_byte(value + VALUE_TAG) == TAG_LIGHT_C ? v :
	       layout_word(v + C_CLOSURE_FUNCTION);
}

INLINE uint64_t layout_caller(uint64_t L, uint64_t id)
{
	(void)L;
	return layout_word(id + CI_PREVIOUS);
}

INLINE bool layout_is_called_by(uint64_t L, uint64_t id, uint64_t caller)
{
	return layout_caller(L, id) == caller;
}

INLINE bool layout_is_call(uint64_t L, uint64_t id)
{
	(void)L;
	return layout_word(id + CI_PREVIOUS) != 0;
}
#endif

/* What all lua_States of a VM share, which has its main state at one and the
 * same distance in all VMs of a library. */
INLINE uint64_t layout_global(uint64_t L)
{
	return layout_word(L + STATE_GLOBAL);
}

/* LuaJIT: what it does at a moment. In all else than a C function, frames are
 * not what they were. */
#define LAYOUT_RUNS_CODE UINT32_MAX
#define LAYOUT_RUNS_C (UINT32_MAX - 1)

/* Where that may have the number of bytes that the VM has in use: from 5.2 on,
 * two numbers say it. */
#if WEFT_LUA_ABI == 21
#define LAYOUT_MEMORY 16, 32
#elif WEFT_LUA_ABI == 51
#define LAYOUT_MEMORY 120
#else
#define LAYOUT_MEMORY 16
#endif

INLINE uint64_t layout_memory(uint64_t at)
{
#if WEFT_LUA_ABI == 21 || WEFT_LUA_ABI == 51
	return layout_word(at);
#elif WEFT_LUA_ABI == 55
	return layout_word(at) - layout_word(at + 8);
#else
	return layout_word(at) + layout_word(at + 8);
#endif
}

/* The bits of a byte that all lua_States of a VM share: by them the collector
 * tells what it has not met in this cycle from what it had not in the one
 * before. One of both is set; each cycle sets the other. */
#if WEFT_LUA_ABI >= 54
#define LAYOUT_WHITES 0x18
#else
#define LAYOUT_WHITES 3
#endif

INLINE uint8_t layout_white(uint64_t at)
{
	return layout_byte(at) & LAYOUT_WHITES;
}

/* What mostly the collector of L's VM alone changes: its state, which object it
 * marks next, where it sweeps, and what stands there, as all may be dead there.
 * 0: not known in this version, and in LuaJIT, whose profiler tells. */
INLINE uint64_t layout_collector(uint64_t L)
{
#if WEFT_LUA_ABI == 51
	enum { STATE = 32, STRINGS = 32, SWEPT = 48, GRAY = 56 };
#elif WEFT_LUA_ABI == 52
	enum { STATE = 80, STRINGS = 88, SWEPT = 112, GRAY = 128 };
#elif WEFT_LUA_ABI == 53
	enum { STATE = 80, STRINGS = 80, SWEPT = 96, GRAY = 112 };
#elif WEFT_LUA_ABI == 54
	enum { STATE = 96, STRINGS = 96, SWEPT = 120, GRAY = 136 };
#endif
#if WEFT_LUA_ABI == 21 || WEFT_LUA_ABI == 55
	return 0 * L;
#else
	const uint64_t all = layout_global(L);
	const uint64_t swept = layout_word(all + SWEPT);
	const uint64_t words[] = {
		layout_word(all + STATE), layout_word(all + STRINGS), swept,
		swept ? layout_word(swept) : 0, layout_word(all + GRAY),
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum = sum * 31 + words[i];
	return sum;
#endif
}

/* Is this object a lua_State, of whatever VM? */
INLINE bool layout_is_state(uint64_t at)
{
#if WEFT_LUA_ABI == 21
	enum { TYPE_THREAD = 6 };

	return layout_byte(at + OBJECT_TYPE) == TYPE_THREAD;
#else
	enum { OBJECT_TAG = 8 };

	return layout_byte(at + OBJECT_TAG) == LUA_TTHREAD;
#endif
}

/* The prototype of the Lua function object at this address. */
INLINE uint64_t layout_prototype(uint64_t function)
{
#if WEFT_LUA_ABI == 21
	return layout_word(function + FUNC_PC) - PROTO_SIZE;
#else
	return layout_word(function + LUA_CLOSURE_PROTO);
#endif
}

/* Does the frame show its function? In 5.2 and 5.3 one that has yielded shows
 * whatever lies below what it has given; in LuaJIT a library function puts its
 * first result there, and may take memory for the next. */
INLINE bool layout_shows_callee(uint64_t L, uint64_t id)
{
#if WEFT_LUA_ABI == 53 || WEFT_LUA_ABI == 52
	enum { TAG_C = 38 | COLLECTABLE };
	const int tag = layout_byte(layout_word(id + CI_FUNC) + VALUE_TAG);

	(void)L;
	return tag == TAG_LUA || tag == TAG_LIGHT_C || tag == TAG_C;
#elif WEFT_LUA_ABI == 21
	enum { TAG_FUNCTION = -9 };

	return (int64_t)layout_word(layout_slot(L, id)) >> 47 == TAG_FUNCTION;
#else
	(void)L;
	(void)id;
	return true;
#endif
}

/* Can the slots be read on which the frames of L stand? While Lua gives them a
 * larger place, whatever is called by whoever gives it memory may find them
 * gone, or 5.5 has numbers in place of their addresses. Small places are not
 * taken from the process at once. The kernel is asked about others. */
INLINE bool layout_stack_is_there(uint64_t L)
{
	enum { SMALL = 64 << 10, STATE_CI = WEFT_LUA_ABI == 51 ? 40 : 32,
	       STATE_FIRST = WEFT_LUA_ABI == 51 ? 64 : 56 };
	const uint64_t ci = layout_word(L + STATE_CI);
	const uint64_t slot = WEFT_LUA_ABI == 21 ? ci - 8 :
		layout_word(ci + (WEFT_LUA_ABI == 51 ? 8 : 0));
	uint64_t first = layout_word(L + STATE_FIRST);
	uint64_t last = layout_word(L + STATE_FIRST - 8);

	/* From 5.4.3 on, they are one word earlier. */
	if (WEFT_LUA_ABI >= 54 && slot - first >= last - first) {
		first = last;
		last = layout_word(L + STATE_FIRST - 16);
	}
	return slot - first < last - first &&
	       (last - first < SMALL || kernel_can_read((const void *)slot));
}

/* The caller of the frame, 0: none. */
INLINE uint64_t layout_above(uint64_t L, uint64_t id)
{
	const uint64_t caller = layout_caller(L, id);

	return layout_is_call(L, caller) ? caller : 0;
}

/* Is the call that this frame stands for a tail call, which no event of its own
 * tells? */
INLINE bool layout_is_tail_call(uint64_t L, uint64_t id, bool is_c)
{
#if WEFT_LUA_ABI == 51
	const uint64_t caller = layout_caller(L, id);
	bool by_c = true;

	if (!is_c && layout_is_call(L, caller))
		layout_callee(L, caller, &by_c);
	return !by_c && layout_tail_calls(L, caller);
#else
	(void)L;
	(void)id;
	(void)is_c;
	return false;
#endif
}

/* ----------------------------------------------------------------- strings */

enum { STRING_TEXT = 24 };

#if WEFT_LUA_ABI == 21
INLINE uint64_t layout_length(uint64_t string)
{
	return layout_half(string + 20);
}
#elif WEFT_LUA_ABI <= 52
INLINE uint64_t layout_length(uint64_t string)
{
	return layout_word(string + 16);
}
#else
enum { STRING_TAG = 8, STRING_SHORT = 4, STRING_SHORT_LENGTH = 11 };

INLINE bool layout_is_short(uint64_t string)
{
	return (layout_byte(string + STRING_TAG) & TAG_MASK) == STRING_SHORT;
}

INLINE uint64_t layout_length(uint64_t string)
{
	return layout_is_short(string) ?
	       layout_byte(string + STRING_SHORT_LENGTH) :
	       layout_word(string + 16);
}
#endif

/* The first byte of a string. In 5.5 that of a long one may lie anywhere. */
INLINE uint64_t layout_bytes(uint64_t string)
{
#if WEFT_LUA_ABI == 55
	if (!layout_is_short(string))
		return layout_word(string + STRING_TEXT);
#endif
	return string + STRING_TEXT;
}

/* ------------------------------------------------------------------ bodies
 * What a function does: its code and its constants, wherever they lie. */

/* How much of each is looked at. */
enum { BODY_MOST = 2048, TEXT_MOST = 256 };

INLINE uint32_t layout_most(uint32_t count)
{
	return count < BODY_MOST ? count : BODY_MOST;
}

/* The beginning of a string. */
INLINE uint64_t layout_text(uint64_t string)
{
	const uint64_t length = layout_length(string);
	const uint64_t most = length < TEXT_MOST ? length : TEXT_MOST;
	const uint64_t at = layout_bytes(string);
	uint64_t sum = length, i = 0;

	for (; i + 8 <= most; i += 8)
		sum = hash_mix(sum, layout_word(at + i));
	for (; i < most; i++)
		sum = hash_mix(sum, layout_byte(at + i));
	return sum;
}

#if WEFT_LUA_ABI == 21
/* The compiler writes other operations into the code now and then: what they
 * work on stays. */
INLINE uint64_t layout_code(uint64_t at, uint32_t i)
{
	return layout_half(at + PROTO_SIZE + 4 * (uint64_t)i) >> 8;
}

INLINE uint32_t layout_constant_count(uint64_t at)
{
	return layout_half(at + PROTO_CHILDREN) +
	       layout_half(at + PROTO_NUMBERS);
}

INLINE uint64_t layout_constants(uint64_t at)
{
	const uint64_t middle = layout_word(at + PROTO_CHILD);
	const uint32_t objects = layout_half(at + PROTO_CHILDREN);
	const uint32_t numbers = layout_half(at + PROTO_NUMBERS);
	uint64_t sum = hash_mix(objects, numbers);

	for (uint32_t i = 0; i < layout_most(objects); i++) {
		const uint64_t o = layout_word(middle - 8 * ((uint64_t)i + 1));
		const uint8_t type = layout_byte(o + OBJECT_TYPE);

		sum = hash_mix(sum, type != TYPE_STRING ? type :
				 layout_text(o));
	}
	for (uint32_t i = 0; i < layout_most(numbers); i++)
		sum = hash_mix(sum, layout_word(middle + 8 * (uint64_t)i));
	return sum;
}
#else
INLINE uint64_t layout_code(uint64_t at, uint32_t i)
{
	return layout_half(layout_word(at + PROTO_CODE) + 4 * (uint64_t)i);
}

INLINE uint32_t layout_constant_count(uint64_t at)
{
	return layout_half(at + PROTO_CONSTANTS);
}

/* A value, and behind it its type; a boolean before 5.4 sets but half of the
 * value, nil none. */
INLINE uint64_t layout_constants(uint64_t at)
{
	const uint32_t count = layout_half(at + PROTO_CONSTANTS);
	uint64_t sum = count, k = layout_word(at + PROTO_CONSTANT);

	for (uint32_t i = 0; i < layout_most(count); i++, k += 16) {
		const uint8_t type = layout_byte(k + 8);
		const uint64_t value = layout_word(k);

		sum = hash_mix(sum, type);
		if ((type & 0x0f) == LUA_TSTRING)
			sum = hash_mix(sum, layout_text(value));
		else if ((type & 0x0f) == LUA_TNUMBER)
			sum = hash_mix(sum, value);
		else if (type == LUA_TBOOLEAN && WEFT_LUA_ABI < 54)
			sum = hash_mix(sum, (uint32_t)value);
	}
	return sum;
}
#endif

/* About how many words layout_body reads. A string counts as several. */
INLINE uint32_t layout_body_size(uint64_t at)
{
	return layout_most(layout_half(at + PROTO_CODES)) +
	       8 * layout_most(layout_constant_count(at));
}

/* A hash of what the function with this prototype does by itself. */
INLINE uint64_t layout_body(uint64_t at)
{
	const uint32_t codes = layout_half(at + PROTO_CODES);
	uint64_t sum = hash_mix(codes, layout_byte(at + PROTO_PARAMS));

	/* LuaJIT's first instruction only says of which kind the function is */
	for (uint32_t i = WEFT_LUA_ABI == 21; i < layout_most(codes); i++)
		sum = hash_mix(sum, layout_code(at, i));
	return hash_mix(sum, layout_constants(at));
}

/* ------------------------------------------------------------ prototype trees
 * All functions written in a function, in the order of the text: a function
 * comes before those written in it. */

/* TREE_DEPTH: the compilers of all versions refuse deeper nesting. TREE_MOST
 * and TREE_LOOKS limit what a look at a main function costs. */
enum { TREE_DEPTH = 250, TREE_MOST = 1 << 16, TREE_LOOKS = 1 << 20 };

struct proto_tree {
	uint64_t at[TREE_DEPTH];   /* prototypes, outermost first */
	uint32_t next[TREE_DEPTH]; /* the place to look at next in each */
	uint32_t depth, found, looks;
};

INLINE void proto_tree_begin(struct proto_tree *t, uint64_t top)
{
	t->at[0] = top;
	t->next[0] = 0;
	t->depth = 1;
	t->found = t->looks = 0;
}

/* A limit was reached: not all functions were found. */
INLINE bool proto_tree_is_cut(const struct proto_tree *t)
{
	return t->depth == TREE_DEPTH || t->found > TREE_MOST ||
	       t->looks > TREE_LOOKS;
}

/* The next prototype; 0: there are no more, or the tree is cut. */
INLINE uint64_t proto_tree_next(struct proto_tree *t)
{
	while (t->depth > 0 && !proto_tree_is_cut(t)) {
		const uint32_t i = t->depth - 1;
		uint64_t child;

		if (t->next[i] >= layout_children(t->at[i])) {
			t->depth--;
			continue;
		}
		t->looks++;
		child = layout_child(t->at[i], t->next[i]++);
		if (child == 0)
			continue;
		t->found++;
		if (layout_children(child) != 0) {
			t->at[t->depth] = child;
			t->next[t->depth++] = 0;
		}
		return child;
	}
	return 0;
}
