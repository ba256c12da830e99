/* code.h - a function's instructions, as far as names need them, in one form
 * for all versions of Lua; its constants and the names of its variables. Used
 * only after check.c has tried it on the library at hand. Of what is read only
 * the counts are trusted. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_abi/layout.h"

enum {
	CODE_MOST = 65535,   /* instructions of a function that are read */
	CODE_LOOKS = 1 << 21, /* what all functions of a chunk may cost */
	CODE_NAME = 128,     /* with a zero; as LUA_OUTLINE_NAME */
	CODE_SPAN = 64,      /* as SPAN_MAX in lua_outline.c, */
	CODE_LITERAL = 40,   /* LITERAL_MAX, */
	CODE_TABLES = 8,     /* and OUTER_TABLES_MAX */
	CODE_PARTS = 8,      /* of M.a.b */
	CODE_REGISTERS = 256,
	CODE_NONE = UINT32_MAX, /* no register */
	CODE_TO_TOP = 1 << 20, /* all registers from one on */
};

#if WEFT_LUA_ABI >= 54
enum { PROTO_UPVALUES = 16, PROTO_UPVALUE = 80, PROTO_LINE_COUNT = 28,
       PROTO_LOCALS = 36, PROTO_LOCAL = 104 };
#elif WEFT_LUA_ABI == 53
enum { PROTO_UPVALUES = 16, PROTO_UPVALUE = 88, PROTO_LINE_COUNT = 28,
       PROTO_LOCALS = 36, PROTO_LOCAL = 80 };
#elif WEFT_LUA_ABI == 52
enum { PROTO_UPVALUES = 80, PROTO_UPVALUE = 56, PROTO_LINE_COUNT = 92,
       PROTO_LOCALS = 100, PROTO_LOCAL = 48 };
#elif WEFT_LUA_ABI == 51
enum { PROTO_UPVALUES = 72, PROTO_UPVALUE = 56, PROTO_LINE_COUNT = 84,
       PROTO_LOCALS = 92, PROTO_LOCAL = 48, PROTO_CAPTURED = 112 };
#else
enum { PROTO_UPVALUES = 60, PROTO_UPVALUE = 88, PROTO_LINE_INFO = 80,
       PROTO_LOCAL = 96, PROTO_TOTAL = 56 };
#endif

/* Text in the program's memory; size 0: none. */
struct code_text { uint64_t at; uint64_t size; };

/* The name of a table that a constructor makes. */
struct code_table {
	uint32_t pc;         /* where it is made; 0: none is kept here */
	uint8_t way, size;
	char text[CODE_SPAN];
};

/* A function whose code is read. */
struct code {
	uint64_t at;
	const struct proto_tree *tree; /* it is the innermost there */
	struct code_text own;          /* its own name, where that is known */
	uint32_t count;                /* of instructions */
	uint32_t *left;                /* of CODE_LOOKS */
	bool is_stripped;
	uint16_t set[CODE_REGISTERS];  /* where each was last set, plus 1 */
	struct code_table table[CODE_TABLES]; /* by register */
};

/* ------------------------------------------------------------ instructions
 * Those that names need; the same for all versions. */

enum code_kind {
	CODE_OTHER,          /* sets a */
	CODE_NOTHING,        /* sets no register */
	CODE_JUMP,           /* to target */
	CODE_MAKE,           /* a = the function in place b */
	CODE_MOVE,           /* a = b */
	CODE_LOAD,           /* a = a constant, but no string; or nil, to b */
	CODE_STRING,         /* a = key */
	CODE_TABLE,          /* a = {} */
	CODE_GLOBAL,         /* a = key */
	CODE_UPVALUE,        /* a = upvalue b */
	CODE_FIELD,          /* a = b.key */
	CODE_UPFIELD,        /* a = upvalue b.key */
	CODE_METHOD,         /* a, a + 1 = b.key, b */
	CODE_CALL,           /* a, with count arguments from b on */
	CODE_RETURN,         /* count values from a on */
	CODE_LIST,           /* a[...] = registers behind it */
	CODE_SET_GLOBAL,     /* key = value */
	CODE_SET_UPVALUE,    /* upvalue b = value */
	CODE_SET_FIELD,      /* a.key = value */
	CODE_SET_UPFIELD,    /* upvalue b.key = value */
	CODE_SET_ITEM,       /* a[...] = value */
};

struct code_op {
	enum code_kind kind;
	uint32_t a, b, count, value, target;
	uint32_t next;       /* where the next instruction is */
	uint32_t key_in;     /* the key is in this register, or CODE_NONE */
	uint64_t key;        /* a string object, or 0 */
};

/* One letter an instruction, in their order: see code_shape. */
static const char code_shapes[] =
#if WEFT_LUA_ABI == 55
	"mllk.lllnuUpt.fPTIFbs.........................---.....--j"
	"----------.cCrR1.....Lx..---";
#elif WEFT_LUA_ABI == 54
	"mllk.lllnuUpt.fPTIFbs.........................---.....--j"
	"----------.cCrR1.....Lx.--";
#elif WEFT_LUA_ABI == 53
	"mk.lnuptPUTbs.................j----.cCr....Lx.-";
#elif WEFT_LUA_ABI == 52
	"mk.lnuptPUTbs..........j----.cCr....Lx.-";
#elif WEFT_LUA_ABI == 51
	"mklnugtGUTbs..........j----.cCr...L-x.";
#else
	"------------..----m....................kllllnuU----xbbgGtf..TFI.I"
	"cccc...-rrrr...........j";
#endif

/* A register, or a constant's number and CODE_CONSTANT. */
enum { CODE_CONSTANT = 1 << 16 };

/* The fields of an instruction. b and c are as key and value may be in it. */
struct code_fields { uint32_t op, a, b, c, wide; };

#if WEFT_LUA_ABI == 21
INLINE struct code_fields code_fields(uint32_t i)
{
	return (struct code_fields){ i & 0xff, i >> 8 & 0xff, i >> 24,
				     i >> 16 & 0xff, i >> 16 };
}

INLINE uint32_t code_instruction(uint64_t at, uint32_t pc)
{
	return layout_half(at + PROTO_SIZE + 4 * (uint64_t)pc);
}

/* The string among the constants of that number, 0: it is none. */
INLINE uint64_t code_string(uint64_t at, uint32_t i)
{
	uint64_t o;

	if (i >= layout_half(at + PROTO_CHILDREN))
		return 0;
	o = layout_word(layout_word(at + PROTO_CHILD) -
			8 * ((uint64_t)i + 1));
	return layout_byte(o + OBJECT_TYPE) == TYPE_STRING ? o : 0;
}

INLINE uint32_t code_jump(uint32_t i, uint32_t pc)
{
	return pc + 1 + (i >> 16) - 0x8000;
}
#else
INLINE struct code_fields code_fields(uint32_t i)
{
#if WEFT_LUA_ABI >= 54
	return (struct code_fields){ i & 0x7f, i >> 7 & 0xff, i >> 16 & 0xff,
				     i >> 24 | (i & 1 << 15) << 1, i >> 15 };
#else
	const uint32_t b = i >> 23, c = i >> 14 & 0x1ff;

	return (struct code_fields){
		i & 0x3f, i >> 6 & 0xff,
		b < 256 ? b : (b - 256) | CODE_CONSTANT,
		c < 256 ? c : (c - 256) | CODE_CONSTANT, i >> 14,
	};
#endif
}

INLINE uint32_t code_instruction(uint64_t at, uint32_t pc)
{
	return layout_half(layout_word(at + PROTO_CODE) + 4 * (uint64_t)pc);
}

INLINE uint64_t code_string(uint64_t at, uint32_t i)
{
	uint64_t k;

	if (i >= layout_half(at + PROTO_CONSTANTS))
		return 0;
	k = layout_word(at + PROTO_CONSTANT) + 16 * (uint64_t)i;
	return (layout_byte(k + 8) & 0x0f) == LUA_TSTRING ? layout_word(k) : 0;
}

INLINE uint32_t code_jump(uint32_t i, uint32_t pc)
{
#if WEFT_LUA_ABI >= 54
	return pc + 1 + (i >> 7) - ((1 << 24) - 1);
#else
	return pc + 1 + (i >> 14) - ((1 << 17) - 1);
#endif
}
#endif

/* Behind an instruction that makes a function, 5.1 lists its upvalues. */
INLINE uint32_t code_behind(const struct code *c, uint32_t pc, uint32_t child)
{
#if WEFT_LUA_ABI == 51
	const uint64_t at = child < layout_children(c->at) ?
			    layout_child(c->at, child) : 0;

	return pc + 1 + (at == 0 ? 0 : layout_byte(at + PROTO_CAPTURED));
#else
	(void)c;
	(void)child;
	return pc + 1;
#endif
}

/* A key that is a register, or a constant with CODE_CONSTANT. */
INLINE void code_key(const struct code *c, struct code_op *o, uint32_t key)
{
	if (key & CODE_CONSTANT)
		o->key = code_string(c->at, key & ~(uint32_t)CODE_CONSTANT);
	else
		o->key_in = key;
}

/* A call's arguments, and what is returned. */
INLINE void code_make_call(struct code_op *o, struct code_fields f)
{
#if WEFT_LUA_ABI == 21
	enum { CALLM = 65, CALL = 66, CALLMT = 67, RETM = 73 };
	const bool is_open = f.op == CALLM || f.op == CALLMT || f.op == RETM;
	const uint32_t n = o->kind == CODE_CALL && f.op <= CALL ? f.c : f.wide;

	o->b = o->a + 2;
	o->count = is_open ? CODE_TO_TOP : n - 1;
#else
	o->b = o->a + 1;
	o->count = f.b == 0 ? CODE_TO_TOP : f.b - 1;
#endif
}

/* Instructions that get a value. */
static void code_shape_get(const struct code *c, struct code_op *o,
			   struct code_fields f, char shape)
{
	switch (shape) {
	case 'g':
		o->kind = CODE_GLOBAL;
		o->key = code_string(c->at, f.wide);
		break;
	case 'u':
		o->kind = CODE_UPVALUE;
		o->b = WEFT_LUA_ABI == 21 ? f.wide : f.b;
		break;
	case 'p':
		o->kind = CODE_UPFIELD;
		o->b = f.b;
		code_key(c, o, f.c | (WEFT_LUA_ABI >= 54 ? CODE_CONSTANT : 0));
		break;
	case 's':
		o->kind = CODE_METHOD;
		o->b = f.b;
		code_key(c, o, f.c | (WEFT_LUA_ABI >= 55 ? CODE_CONSTANT : 0));
		break;
	default:
		o->kind = CODE_FIELD;
		o->b = f.b;
		code_key(c, o, shape == 'f' ? f.c | CODE_CONSTANT : f.c);
	}
}

/* Instructions that set something. LuaJIT names the value first. */
static void code_shape_set(const struct code *c, struct code_op *o,
			   struct code_fields f, char shape)
{
	const bool is_jit = WEFT_LUA_ABI == 21;
	const uint32_t key = is_jit ? f.c : f.b;

	o->value = is_jit ? f.a : f.c & CODE_CONSTANT ? CODE_NONE : f.c;
	if (is_jit)
		o->a = f.b;
	switch (shape) {
	case 'G':
		o->kind = CODE_SET_GLOBAL;
		o->key = code_string(c->at, f.wide);
		o->value = f.a;
		break;
	case 'U':
		o->kind = CODE_SET_UPVALUE;
		o->b = is_jit ? f.a : f.b;
		o->value = is_jit ? f.wide : f.a;
		break;
	case 'P':
		o->kind = CODE_SET_UPFIELD;
		o->b = f.a;
		code_key(c, o, key | (WEFT_LUA_ABI >= 54 ? CODE_CONSTANT : 0));
		break;
	case 'I':
		o->kind = CODE_SET_ITEM;
		break;
	default:
		o->kind = CODE_SET_FIELD;
		code_key(c, o, shape == 'F' ? key | CODE_CONSTANT : key);
	}
}

/* Instructions that make or copy a value. */
static void code_shape_make(const struct code *c, struct code_op *o,
			    struct code_fields f, char shape)
{
	const uint32_t b = WEFT_LUA_ABI == 21 ? f.wide : f.b;

	switch (shape) {
	case 'm':
		o->kind = CODE_MOVE;
		o->b = b;
		break;
	case 'k':
		o->key = code_string(c->at, f.wide);
		o->kind = o->key != 0 ? CODE_STRING : CODE_LOAD;
		o->b = o->a;
		break;
	case 'l':
		o->kind = CODE_LOAD;
		o->b = o->a;
		break;
	case 'n':
		o->kind = CODE_LOAD;
		o->b = WEFT_LUA_ABI == 51 || WEFT_LUA_ABI == 21 ? b : o->a + b;
		break;
	case 'b': /* from 5.4 on its size is in another one behind it */
		o->kind = CODE_TABLE;
		o->next += WEFT_LUA_ABI >= 54;
		break;
	default:
		o->kind = CODE_MAKE;
		o->b = f.wide;
		o->next = code_behind(c, o->next - 1, f.wide);
	}
}

static void code_shape(const struct code *c, struct code_op *o,
		       struct code_fields f, char shape)
{
	switch (shape) {
	case '-':
		o->kind = CODE_NOTHING;
		break;
	case 'L':
		o->kind = CODE_LIST;
		break;
	case 'c': case 'C':
		o->kind = CODE_CALL;
		code_make_call(o, f);
		break;
	case 'r': case 'R': case '1':
		o->kind = CODE_RETURN;
		code_make_call(o, f);
		if (shape != 'r')
			o->count = shape == '1';
		break;
	case 'm': case 'k': case 'l': case 'n': case 'b': case 'x':
		code_shape_make(c, o, f, shape);
		break;
	case 'g': case 'u': case 'p': case 's': case 't': case 'f':
		code_shape_get(c, o, f, shape);
		break;
	case 'G': case 'U': case 'P': case 'T': case 'F': case 'I':
		code_shape_set(c, o, f, shape);
		break;
	default:
		break;
	}
}

/* The instruction at pc. Behind the last one, and if no more may be read, it is
 * a return of nothing. */
static struct code_op code_read(const struct code *c, uint32_t pc)
{
	struct code_op o = { .kind = CODE_RETURN, .next = pc + 1,
			     .value = CODE_NONE, .key_in = CODE_NONE };
	struct code_fields f;
	uint32_t i;

	if (pc >= c->count || *c->left == 0)
		return o;
	--*c->left;
	i = code_instruction(c->at, pc);
	f = code_fields(i);
	o.kind = CODE_OTHER;
	o.a = f.a;
	if (f.op >= sizeof(code_shapes) - 1)
		return o;
	if (code_shapes[f.op] == 'j') {
		o.kind = CODE_JUMP;
		o.target = code_jump(i, pc);
		return o;
	}
	code_shape(c, &o, f, code_shapes[f.op]);
	return o;
}

/* Does it set a register, and which one first? */
static bool code_sets(const struct code_op *o)
{
	return o->kind == CODE_OTHER || o->kind == CODE_CALL ||
	       (o->kind >= CODE_MAKE && o->kind <= CODE_METHOD);
}

/* ------------------------------------------------------- what is in memory
 * Names of variables, and strings. */

static struct code_text code_text_of(uint64_t string)
{
	return string == 0 ? (struct code_text){ 0, 0 } :
	       (struct code_text){ layout_bytes(string),
				   layout_length(string) };
}

#if WEFT_LUA_ABI == 21
/* Bytes behind a prototype, to its end. */
struct code_bytes { uint64_t at, end; };

INLINE uint8_t code_byte(struct code_bytes *b)
{
	return b->at < b->end ? layout_byte(b->at++) : 0;
}

INLINE struct code_bytes code_bytes(uint64_t at, uint32_t where)
{
	const uint64_t from = layout_word(at + where);
	const uint64_t end = at + layout_half(at + PROTO_TOTAL);

	return (struct code_bytes){ from < at ? end : from, end };
}

static struct code_text code_bytes_text(struct code_bytes *b)
{
	const uint64_t at = b->at;

	while (code_byte(b) != 0)
		;
	return (struct code_text){ at, b->at <= at ? 0 : b->at - at - 1 };
}

static uint32_t code_bytes_number(struct code_bytes *b)
{
	uint32_t number = 0;

	for (uint32_t shift = 0; shift < 32; shift += 7) {
		const uint8_t byte = code_byte(b);

		number |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return number;
}

static struct code_text code_upvalue(const struct code *c, uint32_t i)
{
	struct code_bytes b = code_bytes(c->at, PROTO_UPVALUE);
	struct code_text t = { 0, 0 };

	if (i < layout_byte(c->at + PROTO_UPVALUES))
		for (i++; i > 0; i--)
			t = code_bytes_text(&b);
	return t;
}

/* Walks through local variables. */
struct code_locals { struct code_bytes b; uint32_t start; };
struct code_local { struct code_text name; uint32_t start, end; };

INLINE struct code_locals code_locals(uint64_t at)
{
	return (struct code_locals){ code_bytes(at, PROTO_LOCAL), 0 };
}

/* The first few bytes stand for variables that have no name. */
static bool code_local_next(struct code_locals *l, struct code_local *v)
{
	enum { UNNAMED = 7 };
	const uint64_t at = l->b.at;
	const uint8_t first = code_byte(&l->b);

	if (first == 0)
		return false;
	v->name = (struct code_text){ 0, 0 };
	if (first >= UNNAMED) {
		l->b.at = at;
		v->name = code_bytes_text(&l->b);
	}
	v->start = l->start += code_bytes_number(&l->b);
	v->end = v->start + code_bytes_number(&l->b);
	return true;
}
#else
static struct code_text code_upvalue(const struct code *c, uint32_t i)
{
	enum { SIZE = WEFT_LUA_ABI == 51 ? 8 : 16 };

	return i >= layout_half(c->at + PROTO_UPVALUES) ?
	       (struct code_text){ 0, 0 } :
	       code_text_of(layout_word(layout_word(c->at + PROTO_UPVALUE) +
					SIZE * (uint64_t)i));
}

struct code_locals { uint64_t at; uint32_t left; };
struct code_local { struct code_text name; uint32_t start, end; };

INLINE struct code_locals code_locals(uint64_t at)
{
	return (struct code_locals){ layout_word(at + PROTO_LOCAL),
				     layout_half(at + PROTO_LOCALS) };
}

static bool code_local_next(struct code_locals *l, struct code_local *v)
{
	if (l->left == 0)
		return false;
	l->left--;
	v->name.at = layout_word(l->at); /* the string object */
	v->start = layout_half(l->at + 8);
	v->end = layout_half(l->at + 12);
	l->at += 16;
	return true;
}
#endif

static struct code_text code_local_name(const struct code_local *v)
{
	return WEFT_LUA_ABI == 21 ? v->name : code_text_of(v->name.at);
}

/* The local variable that this register is at pc. */
static struct code_text code_local(uint64_t at, uint32_t *left, uint32_t reg,
				   uint32_t pc)
{
	struct code_locals l = code_locals(at);
	struct code_local v;

	while (*left > 0 && code_local_next(&l, &v) && v.start <= pc) {
		--*left;
		if (pc < v.end && reg-- == 0)
			return code_local_name(&v);
	}
	return (struct code_text){ 0, 0 };
}

/* Where the next ones begin behind pc. */
static uint32_t code_next_local(const struct code *c, uint32_t pc)
{
	struct code_locals l = code_locals(c->at);
	struct code_local v;

	while (*c->left > 0 && code_local_next(&l, &v)) {
		--*c->left;
		if (v.start > pc)
			return v.start;
	}
	return CODE_NONE;
}

static struct code_text code_local_of(const struct code *c, uint32_t reg,
				      uint32_t pc)
{
	return c->is_stripped ? (struct code_text){ 0, 0 } :
	       code_local(c->at, c->left, reg, pc);
}

static bool code_is(struct code_text t, const char *text)
{
	const size_t size = strlen(text);

	if (t.size != size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (layout_byte(t.at + i) != (uint8_t)text[i])
			return false;
	return true;
}

/* Stripped code: is this upvalue the one of the main function, which is its
 * globals? */
static bool code_is_globals(const struct code *c, uint32_t i)
{
#if WEFT_LUA_ABI == 51 || WEFT_LUA_ABI == 21
	(void)c;
	(void)i;
	return false;
#else
	for (uint32_t level = c->tree->depth; --level > 0;) {
		const uint64_t at = c->tree->at[level];
		const uint64_t u = layout_word(at + PROTO_UPVALUE) +
				   16 * (uint64_t)i;

		if (i >= layout_half(at + PROTO_UPVALUES) ||
		    layout_byte(u + 8) != 0)
			return false;
		i = layout_byte(u + 9);
	}
	return i == 0;
#endif
}
