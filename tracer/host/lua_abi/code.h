/* code.h - what the code of a function calls the functions written in it, where
 * no text says so, by what it does with each: a local variable, a global, an
 * upvalue, a field, an argument. Needs the names of local variables: stripped
 * code names nothing. Used only after check.c has tried it on the library at
 * hand. Of what is read only the counts are trusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_func/written.h"
#include "tracer/host/lua_abi/layout.h"

enum {
	CODE_MOST = 65535,     /* instructions of a function that are read */
	CODE_LOOKS = 1 << 21,  /* what all functions of a chunk may cost */
	CODE_REGISTERS = 128,  /* the first of a function, */
	CODE_FIELDS = 32,      /* and functions in tables, that are followed */
	CODE_CONSTANT = 1 << 16, /* a constant's number, not a register */
	CODE_NONE = UINT32_MAX,  /* no register */
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

/* ------------------------------------------------------------ instructions */

/* What each instruction does, in their order:
 *   .  sets register a         -  sets none            j  jumps
 *   x  a = a function          b  a = {}               m  a = b
 *   g  a = a global            u  a = an upvalue       p  a = an upvalue.key
 *   t f  a = b.key             s  a = b.key, for a method
 *   G U P T F  the other way   I  b[...] = a           c  calls a
 *   L  uses what is above a    r  ends */
static const char code_shapes[] =
#if WEFT_LUA_ABI == 55
	"m........uUpt.fPTIFbs.........................---.....--j"
	"----------.ccrrr.....Lx..---";
#elif WEFT_LUA_ABI == 54
	"m........uUpt.fPTIFbs.........................---.....--j"
	"----------.ccrrr.....Lx.--";
#elif WEFT_LUA_ABI == 53
	"m....uptPUTbs.................j----.ccr....Lx.-";
#elif WEFT_LUA_ABI == 52
	"m....uptPUTbs..........j----.ccr....Lx.-";
#elif WEFT_LUA_ABI == 51
	"m...ugtGUTbs..........j----.ccr...L-x.";
#else
	"------------..----m..........................uU----xbbgGtf..TFI.I"
	"cccc...-rrrr...........j";
#endif

/* The fields of an instruction. b and c are as key and value may be in it. */
struct code_fields { uint32_t op, a, b, c, wide; };

/* The bytes of the string among the constants of that number, which end with a
 * zero; 0: it is none. */
#if WEFT_LUA_ABI == 21
INLINE struct code_fields code_fields(uint64_t at, uint32_t pc, uint32_t *i)
{
	*i = layout_half(at + PROTO_SIZE + 4 * (uint64_t)pc);
	return (struct code_fields){ *i & 0xff, *i >> 8 & 0xff, *i >> 24,
				     *i >> 16 & 0xff, *i >> 16 };
}

INLINE uint64_t code_string(uint64_t at, uint32_t i)
{
	const uint64_t o = i >= layout_half(at + PROTO_CHILDREN) ? 0 :
		layout_word(layout_word(at + PROTO_CHILD) -
			    8 * ((uint64_t)i + 1));

	return o != 0 && layout_byte(o + OBJECT_TYPE) == TYPE_STRING ?
	       layout_bytes(o) : 0;
}

INLINE uint32_t code_jump(uint32_t i, uint32_t pc)
{
	return pc + 1 + (i >> 16) - 0x8000;
}
#else
INLINE struct code_fields code_fields(uint64_t at, uint32_t pc, uint32_t *i)
{
	*i = layout_half(layout_word(at + PROTO_CODE) + 4 * (uint64_t)pc);
#if WEFT_LUA_ABI >= 54
	return (struct code_fields){
		*i & 0x7f, *i >> 7 & 0xff, *i >> 16 & 0xff,
		*i >> 24 | (*i & 1 << 15) << 1, *i >> 15 };
#else
	const uint32_t b = *i >> 23, c = *i >> 14 & 0x1ff;

	return (struct code_fields){
		*i & 0x3f, *i >> 6 & 0xff,
		b < 256 ? b : (b - 256) | CODE_CONSTANT,
		c < 256 ? c : (c - 256) | CODE_CONSTANT, *i >> 14,
	};
#endif
}

INLINE uint64_t code_string(uint64_t at, uint32_t i)
{
	const uint64_t k = i >= layout_half(at + PROTO_CONSTANTS) ? 0 :
			   layout_word(at + PROTO_CONSTANT) + 16 * (uint64_t)i;

	return k != 0 && (layout_byte(k + 8) & 0x0f) == LUA_TSTRING ?
	       layout_bytes(layout_word(k)) : 0;
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

/* Of a key: a string constant. */
INLINE uint64_t code_key(uint64_t at, uint32_t key)
{
	return key & CODE_CONSTANT ?
	       code_string(at, key & ~(uint32_t)CODE_CONSTANT) : 0;
}

/* --------------------------------------------------------------- variables */

/* A local variable: where its name is, and at which instructions it lives. */
struct code_local { uint64_t name; uint32_t start, end; };

#if WEFT_LUA_ABI == 21
/* Bytes behind a prototype, to its end. */
struct code_locals { uint64_t at, end; uint32_t start; };

INLINE uint8_t code_byte(struct code_locals *l)
{
	return l->at < l->end ? layout_byte(l->at++) : 0;
}

INLINE struct code_locals code_bytes(uint64_t at, uint32_t where)
{
	const uint64_t from = layout_word(at + where);
	const uint64_t end = at + layout_half(at + PROTO_TOTAL);

	return (struct code_locals){ from < at ? end : from, end, 0 };
}

INLINE struct code_locals code_locals(uint64_t at)
{
	return code_bytes(at, PROTO_LOCAL);
}

static uint32_t code_number(struct code_locals *l)
{
	uint32_t number = 0;

	for (uint32_t shift = 0; shift < 32; shift += 7) {
		const uint8_t byte = code_byte(l);

		number |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return number;
}

/* A name, which ends before the last byte; 0: it does not. */
static uint64_t code_text(struct code_locals *l)
{
	const uint64_t at = l->at;

	while (code_byte(l) != 0)
		;
	return l->at < l->end ? at : 0;
}

/* The first few bytes stand for variables that have no name. */
static bool code_local_next(struct code_locals *l, struct code_local *v)
{
	enum { UNNAMED = 7 };
	const uint8_t first = code_byte(l);

	v->name = 0;
	if (first >= UNNAMED) {
		l->at--;
		v->name = code_text(l);
	}
	v->start = l->start += first == 0 ? 0 : code_number(l);
	v->end = v->start + (first == 0 ? 0 : code_number(l));
	return first != 0;
}

INLINE bool code_is_stripped(uint64_t at)
{
	return layout_word(at + PROTO_LINE_INFO) == 0;
}

static uint64_t code_upvalue(uint64_t at, uint32_t i)
{
	struct code_locals l = code_bytes(at, PROTO_UPVALUE);
	uint64_t name = 0;

	if (i < layout_byte(at + PROTO_UPVALUES))
		for (i++; i > 0; i--)
			name = code_text(&l);
	return name;
}
#else
struct code_locals { uint64_t at; uint32_t left; };

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
	v->name = layout_bytes(layout_word(l->at));
	v->start = layout_half(l->at + 8);
	v->end = layout_half(l->at + 12);
	l->at += 16;
	return true;
}

INLINE bool code_is_stripped(uint64_t at)
{
	return layout_half(at + PROTO_LINE_COUNT) == 0;
}

static uint64_t code_upvalue(uint64_t at, uint32_t i)
{
	enum { SIZE = WEFT_LUA_ABI == 51 ? 8 : 16 };
	const uint64_t name = i >= layout_half(at + PROTO_UPVALUES) ? 0 :
		layout_word(layout_word(at + PROTO_UPVALUE) +
			    SIZE * (uint64_t)i);

	return name == 0 ? 0 : layout_bytes(name);
}
#endif

/* ------------------------------------------------------- what registers hold
 * The code is read once, from its beginning to its end. Registers are a stack:
 * the lowest are the local variables that live, and what is put into one above
 * these ends all that was in higher ones. */

enum code_kind { CODE_OTHER, CODE_LOCAL, CODE_FUNCTION, CODE_TABLE,
		 CODE_NAMED };

struct code_value {
	uint64_t what;   /* FUNCTION: its prototype; TABLE: its number, not 0;
	                  * LOCAL and NAMED: the name, or its last part */
	uint64_t base;   /* NAMED: what is before that, or 0 */
	uint32_t until;  /* LOCAL: where it ends; other: where what is behind
	                  * "and" and "or" meets the rest */
	uint8_t kind;
};

/* Told of each function: its prototype, and its name, once when it is made, of
 * size 0, and again whenever more is known of it. */
typedef void code_fn(void *ctx, uint64_t child, const char *name,
		     uint32_t size);

struct code {
	uint64_t at;
	uint32_t pc;
	uint32_t live, top;  /* how many local variables; what is above these */
	uint32_t join;       /* where the last jump leads */
	struct code_value value[CODE_REGISTERS];
	struct { uint64_t child, table, key; } field[CODE_FIELDS];
	uint32_t fields;     /* since the beginning: the last ones are kept */
	code_fn *fn;
	void *ctx;
};

struct code_name { char text[LUA_WRITTEN_NAME]; uint32_t size; };

/* A word that Lua takes for a name. */
static bool code_put_word(struct code_name *n, uint64_t at)
{
	const uint32_t begin = n->size;
	uint8_t byte;

	for (; at != 0 && (byte = layout_byte(at)) != 0; at++) {
		const uint8_t letter = byte | 0x20;

		if (n->size == sizeof(n->text) ||
		    ((letter < 'a' || letter > 'z') && byte != '_' &&
		     (byte < '0' || byte > '9') && byte < 0x80))
			return false;
		n->text[n->size++] = (char)byte;
	}
	return n->size > begin;
}

static bool code_put(struct code_name *n, const char *text, uint32_t size)
{
	if (size > sizeof(n->text) - n->size)
		return false;
	memcpy(n->text + n->size, text, size);
	n->size += size;
	return true;
}

/* The name base.key, or key if base is 0 or the globals. */
static bool code_put_name(struct code_name *n, uint64_t base, uint64_t key)
{
	if (base != 0 && (!code_put_word(n, base) || !code_put(n, ".", 1)))
		return false;
	if (n->size == 5 && memcmp(n->text, "_ENV.", 5) == 0)
		n->size = 0;
	return code_put_word(n, key);
}

static void code_tell(const struct code *c, uint64_t child, uint64_t base,
		      uint64_t key)
{
	struct code_name n = { .size = 0 };

	if (code_put_name(&n, base, key))
		c->fn(c->ctx, child, n.text, n.size);
}

/* What is called so: a function, or a table, by which its functions are called.
 * Another one that comes to lie there is not. */
static void code_name_value(const struct code *c, struct code_value *v,
			    uint64_t base, uint64_t key)
{
	if (v->kind == CODE_FUNCTION)
		code_tell(c, v->what, base, key);
	for (uint32_t i = 0; v->kind == CODE_TABLE && key != 0 &&
	     i < CODE_FIELDS; i++)
		if (c->field[i].table == v->what)
			code_tell(c, c->field[i].child, key, c->field[i].key);
	v->kind = CODE_OTHER;
}

static struct code_value code_get(const struct code *c, uint32_t reg)
{
	struct code_value v = { .kind = CODE_OTHER };

	if (reg < CODE_REGISTERS)
		v = c->value[reg];
	if (v.kind == CODE_LOCAL)
		v.until = CODE_NONE;
	else if (c->pc >= v.until)
		v.kind = CODE_OTHER;
	return v;
}

/* All above the register ends. */
static void code_end(struct code *c, uint32_t reg)
{
	for (uint32_t i = reg; i < c->top && i < CODE_REGISTERS; i++)
		c->value[i].kind = CODE_OTHER;
	c->top = reg;
}

static void code_set(struct code *c, uint32_t reg, struct code_value v)
{
	if (reg >= CODE_REGISTERS)
		return;
	if (reg < c->live) {
		code_name_value(c, &v, 0, c->value[reg].what);
		return;
	}
	code_end(c, reg);
	c->top = reg + 1;
	c->value[reg] = v;
	c->value[reg].until = c->join > c->pc ? c->join : CODE_NONE;
}

static void code_set_named(struct code *c, uint32_t reg, uint64_t base,
			   uint64_t key)
{
	code_set(c, reg, (struct code_value){
		.kind = CODE_NAMED, .base = base, .what = key });
}

/* base.key = what is in the register; key may be 0. */
static void code_use(struct code *c, uint32_t reg, uint64_t base, uint64_t key)
{
	if (reg >= c->live && reg < CODE_REGISTERS)
		code_name_value(c, &c->value[reg], base, key);
}

/* A table's key = what is in the register. What becomes of a table that is made
 * here is seen later. */
static void code_use_field(struct code *c, uint32_t reg, uint32_t table,
			   uint64_t key)
{
	const struct code_value t = code_get(c, table), v = code_get(c, reg);
	const uint32_t i = c->fields % CODE_FIELDS;

	if (t.kind == CODE_TABLE && v.kind == CODE_FUNCTION) {
		c->field[i].child = v.what;
		c->field[i].table = t.what;
		c->field[i].key = key;
		c->fields++;
	}
	code_use(c, reg, t.kind == CODE_LOCAL || t.kind == CODE_NAMED ?
		 t.what : 0, key);
}

/* Its arguments are called after it. */
static void code_call(struct code *c, uint32_t reg)
{
	const struct code_value callee = code_get(c, reg);
	struct code_name n = { .size = 0 };
	const bool is_named = callee.kind == CODE_NAMED &&
			      code_put_name(&n, callee.base, callee.what) &&
			      code_put(&n, "(...)", 5);

	for (uint32_t i = reg + 1; is_named && i < c->top; i++)
		if (code_get(c, i).kind == CODE_FUNCTION)
			c->fn(c->ctx, c->value[i].what, n.text, n.size);
	code_end(c, reg);
}

/* A function is made. Returns how many words follow that are no instructions:
 * in 5.1 they list its upvalues. */
static uint32_t code_make(struct code *c, uint32_t reg, uint32_t i)
{
	const uint64_t child = i < layout_children(c->at) ?
			       layout_child(c->at, i) : 0;

	if (child != 0)
		c->fn(c->ctx, child, "", 0);
	code_set(c, reg, (struct code_value){
		.kind = child != 0 ? CODE_FUNCTION : CODE_OTHER,
		.what = child });
#if WEFT_LUA_ABI == 51
	return child == 0 ? 0 : layout_byte(child + PROTO_CAPTURED);
#else
	return 0;
#endif
}

/* Instructions that copy a value or get one by a name. */
static void code_step_get(struct code *c, struct code_fields f, char shape)
{
	const uint32_t b = WEFT_LUA_ABI == 21 ? f.wide : f.b;
	const bool is_constant = shape == 'f' ||
		(shape == 'p' && WEFT_LUA_ABI >= 54) ||
		(shape == 's' && WEFT_LUA_ABI >= 55);
	const uint64_t key = shape == 'g' ? code_string(c->at, f.wide) :
		code_key(c->at, f.c | (is_constant ? CODE_CONSTANT : 0));
	const struct code_value from = code_get(c, shape == 'm' ? b : f.b);
	const bool is_named = from.kind == CODE_LOCAL ||
			      from.kind == CODE_NAMED;

	switch (shape) {
	case 'm':
		if (from.kind == CODE_LOCAL)
			code_set_named(c, f.a, 0, from.what);
		else
			code_set(c, f.a, from);
		break;
	case 'g':
		code_set_named(c, f.a, 0, key);
		break;
	case 'u':
		code_set_named(c, f.a, 0, code_upvalue(c->at, b));
		break;
	case 'p':
		code_set_named(c, f.a, code_upvalue(c->at, f.b), key);
		break;
	default:
		code_set_named(c, f.a, is_named ? from.what : 0, key);
	}
}

/* Instructions that set something. LuaJIT names the value first. */
static void code_step_set(struct code *c, struct code_fields f, char shape)
{
	const bool is_jit = WEFT_LUA_ABI == 21;
	const uint32_t value = is_jit ? f.a : f.c;
	const bool is_constant = shape == 'F' ||
				 (shape == 'P' && WEFT_LUA_ABI >= 54);
	const uint64_t key = code_key(c->at, (is_jit ? f.c : f.b) |
				      (is_constant ? CODE_CONSTANT : 0));

	switch (shape) {
	case 'G':
		code_use(c, f.a, 0, code_string(c->at, f.wide));
		break;
	case 'U':
		code_use(c, is_jit ? f.wide : f.a, 0,
			 code_upvalue(c->at, is_jit ? f.a : f.b));
		break;
	case 'P':
		code_use(c, value, code_upvalue(c->at, f.a), key);
		break;
	case 'I':
		code_use(c, value, 0, 0);
		break;
	default:
		code_use_field(c, value, is_jit ? f.b : f.a, key);
	}
}

/* The instruction at pc. Returns where the next one is. */
static uint32_t code_step(struct code *c)
{
	uint32_t i, next = c->pc + 1;
	const struct code_fields f = code_fields(c->at, c->pc, &i);
	const char shape = f.op < sizeof(code_shapes) - 1 ?
			   code_shapes[f.op] : '.';

	switch (shape) {
	case '-': break;
	case 'j':
		c->join = code_jump(i, c->pc);
		break;
	case 'x':
		next += code_make(c, f.a, f.wide);
		break;
	case 'b': /* from 5.4 on its size is in another one behind it */
		code_set(c, f.a, (struct code_value){ .kind = CODE_TABLE,
						      .what = next });
		next += WEFT_LUA_ABI >= 54;
		break;
	case 'c':
		code_call(c, f.a);
		break;
	case 'r':
		code_end(c, c->live);
		break;
	case 'L':
		code_end(c, f.a + 1);
		break;
	case 'm': case 'g': case 'u': case 'p': case 't': case 'f': case 's':
		code_step_get(c, f, shape);
		break;
	case 'G': case 'U': case 'P': case 'T': case 'F': case 'I':
		code_step_set(c, f, shape);
		break;
	default:
		code_set(c, f.a, (struct code_value){ .kind = CODE_OTHER });
	}
	return next;
}

/* What is in the lowest registers has become a local variable. False: there are
 * too many to follow. */
static bool code_begin_local(struct code *c, const struct code_local *v)
{
	if (c->live == CODE_REGISTERS)
		return false;
	code_name_value(c, &c->value[c->live], 0, v->name);
	c->value[c->live++] = (struct code_value){
		.kind = CODE_LOCAL, .what = v->name, .until = v->end };
	if (c->top < c->live)
		c->top = c->live;
	return true;
}

/* Read the code of this function. *left begins as CODE_LOOKS for all functions
 * of a chunk. */
static void code_each(uint64_t at, uint32_t *left, code_fn *fn, void *ctx)
{
	const uint32_t codes = layout_half(at + PROTO_CODES);
	const uint32_t count = codes < CODE_MOST ? codes : CODE_MOST;
	struct code_locals l = code_locals(at);
	struct code c = { .at = at, .fn = fn, .ctx = ctx };
	struct code_local v;
	bool has_local;

	if (code_is_stripped(at))
		return;
	has_local = code_local_next(&l, &v);
	while (c.pc < count && *left > 0) {
		--*left;
		while (c.live > 0 && c.value[c.live - 1].until <= c.pc)
			c.value[--c.live].kind = CODE_OTHER;
		for (; has_local && v.start <= c.pc && *left > 0; --*left) {
			if (v.end > c.pc && !code_begin_local(&c, &v))
				return;
			has_local = code_local_next(&l, &v);
		}
		c.pc = code_step(&c);
	}
}
