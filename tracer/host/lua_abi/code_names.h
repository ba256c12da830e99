/* code_names.h - what a function calls the functions written in it, by its
 * code: what becomes of what an instruction makes. It is the name that the
 * source gives (recorder/names/lua_outline.c), or none. Used only after check.c
 * has tried it on the library at hand. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_abi/code.h"

struct code_name {
	char text[CODE_NAME];
	uint32_t size;
};

/* ----------------------------------------------------------------- writing */

static bool code_put(struct code_name *n, const char *text, size_t size)
{
	if (size >= CODE_NAME - n->size)
		return false;
	memcpy(n->text + n->size, text, size);
	n->size += (uint32_t)size;
	return true;
}

static bool code_is_word(uint8_t byte, bool is_first)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       byte == '_' || (!is_first && byte >= '0' && byte <= '9') ||
	       (WEFT_LUA_ABI == 21 && byte >= 0x80);
}

/* A name of Lua's. */
static bool code_put_word(struct code_name *n, struct code_text t)
{
	if (t.size == 0 || t.size > CODE_SPAN ||
	    t.size >= CODE_NAME - n->size)
		return false;
	for (uint32_t i = 0; i < t.size; i++) {
		const uint8_t byte = layout_byte(t.at + i);

		if (!code_is_word(byte, i == 0))
			return false;
		n->text[n->size + i] = (char)byte;
	}
	n->size += (uint32_t)t.size;
	return true;
}

/* A key. Keywords stand in brackets in a source, in whatever quotes. */
static bool code_put_key(struct code_name *n, uint64_t string)
{
	enum { RESERVED = 10, LONGEST_KEYWORD = 8 };

	return string != 0 &&
	       (layout_length(string) > LONGEST_KEYWORD ||
		layout_byte(string + RESERVED) == 0) &&
	       code_put_word(n, code_text_of(string));
}

/* What has one way to be written, between double quotes. */
static bool code_put_literal(struct code_name *n, struct code_text t)
{
	const bool is_long = t.size >= CODE_LITERAL;
	const uint32_t size = is_long ? CODE_LITERAL : (uint32_t)t.size;

	if (!code_put(n, "(\"", 2) || size >= CODE_NAME - n->size)
		return false;
	for (uint32_t i = 0; i < size; i++) {
		const uint8_t byte = layout_byte(t.at + i);

		if (byte < ' ' || byte == '"' || byte == '\\' || byte == 127 ||
		    (is_long && byte >= 0x80))
			return false;
		n->text[n->size++] = (char)byte;
	}
	return is_long ? code_put(n, "...\")", 5) : code_put(n, "\")", 2);
}

/* ----------------------------------------------------------- what is named */

/* What becomes of a value. */
enum code_way {
	CODE_UNKNOWN,        /* there may be a name, which is not known */
	CODE_NAMELESS,       /* it has none */
	CODE_NAMED,
};

/* The string that is the key of an instruction at pc; *before: where the one
 * before it is, as far as it is one that the key needs. */
static uint64_t code_key_before(const struct code *c, const struct code_op *o,
				uint32_t *before)
{
	struct code_op k;

	if (o->key_in == CODE_NONE)
		return o->key;
	if (*before == 0)
		return 0;
	k = code_read(c, *before - 1);
	--*before;
	return k.kind == CODE_STRING && k.a == o->key_in ? k.key : 0;
}

/* What the value in a register is that is at pc: M.a.b, which is the last
 * instruction's. In LuaJIT an object is copied before its method is got. */
struct code_chain {
	struct code_text base;
	bool is_base_globals, is_method;
	uint64_t key[CODE_PARTS]; /* the last one first */
	uint32_t keys, first;     /* first: the first instruction of all */
};

static bool code_add_key(const struct code *c, struct code_chain *h,
			 const struct code_op *o, uint32_t *pc)
{
	const uint64_t key = code_key_before(c, o, pc);

	if (key == 0 || h->keys == CODE_PARTS)
		return false;
	h->key[h->keys++] = key;
	return true;
}

/* Passes LuaJIT's copy of an object. */
static void code_pass_copy(const struct code *c, struct code_chain *h,
			   const struct code_op *o, uint32_t *pc)
{
	struct code_op m;

	if (WEFT_LUA_ABI != 21 || h->keys != 1 || *pc == 0)
		return;
	m = code_read(c, *pc - 1);
	if (m.kind == CODE_MOVE && m.a == o->a + 2 && m.b == o->b) {
		h->is_method = true;
		--*pc;
	}
}

static void code_add_upvalue(const struct code *c, struct code_chain *h,
			     uint32_t i)
{
	h->base = code_upvalue(c, i);
	h->is_base_globals = c->is_stripped && code_is_globals(c, i);
}

/* An instruction that is not behind another one of the chain. Returns whether
 * it can be one. */
static bool code_begin_chain(const struct code *c, struct code_chain *h,
			     const struct code_op *o, uint32_t pc)
{
	switch (o->kind) {
	case CODE_GLOBAL:
		h->is_base_globals = true;
		return code_add_key(c, h, o, &h->first);
	case CODE_UPVALUE:
		code_add_upvalue(c, h, o->b);
		return true;
	case CODE_UPFIELD:
		code_add_upvalue(c, h, o->b);
		return code_add_key(c, h, o, &h->first);
	case CODE_MOVE:
		h->base = code_local_of(c, o->b, pc);
		return true;
	default:
		return false;
	}
}

/* Read backwards from the instruction at pc, which must set reg. */
static bool code_read_chain(const struct code *c, struct code_chain *h,
			    uint32_t reg, uint32_t pc)
{
	for (;;) {
		const struct code_op o = code_read(c, pc);

		h->first = pc;
		if (!code_sets(&o) || o.a != reg)
			return false;
		if (o.kind != CODE_FIELD && o.kind != CODE_METHOD)
			return code_begin_chain(c, h, &o, pc);
		h->is_method |= o.kind == CODE_METHOD;
		if (!code_add_key(c, h, &o, &h->first))
			return false;
		code_pass_copy(c, h, &o, &h->first);
		h->base = code_local_of(c, o.b, pc);
		if (h->base.size > 0)
			return true;
		if (o.b != reg || h->first == 0)
			return false;
		pc = h->first - 1;
	}
}

/* Put it. used: the instruction that uses it. What stands behind "or" begins
 * behind a jump. */
static bool code_put_chain(const struct code *c, struct code_name *n,
			   uint32_t reg, uint32_t pc, uint32_t used)
{
	const uint32_t begin = n->size;
	struct code_chain h = { .keys = 0 };
	struct code_op before;

	if (!code_read_chain(c, &h, reg, pc))
		return false;
	before = h.first == 0 ? (struct code_op){ .kind = CODE_NOTHING } :
		 code_read(c, h.first - 1);
	if (before.kind == CODE_JUMP && before.target > h.first &&
	    before.target <= used)
		return false;
	if (code_is(h.base, "_ENV"))
		h.is_base_globals = true;
	if (!h.is_base_globals && !code_put_word(n, h.base))
		return false;
	for (uint32_t i = h.keys; i-- > 0;) {
		const bool is_method = i == 0 && h.is_method;

		if (n->size > begin &&
		    !code_put(n, is_method ? ":" : ".", 1))
			return false;
		if (!code_put_key(n, h.key[i]))
			return false;
	}
	return n->size - begin <= CODE_SPAN;
}

static bool code_put_local(const struct code *c, struct code_name *n,
			   uint32_t reg, uint32_t pc)
{
	return code_put_word(n, code_local_of(c, reg, pc));
}

/* Where a value is used that an instruction has put into a register. */
struct code_use {
	struct code_op op;
	uint32_t pc;
	bool is_local;       /* becomes the local variable that begins here */
};

enum code_meeting { CODE_PASSES, CODE_USES, CODE_ENDS };

static bool code_is_among(uint32_t reg, uint32_t first, uint32_t count)
{
	return reg >= first && reg - first < count;
}

/* What an instruction is to the value in that register. Registers are a stack:
 * while a value waits, only higher ones are set, and local variables. */
static enum code_meeting code_meet(const struct code *c,
				   const struct code_op *o, uint32_t reg,
				   uint32_t pc)
{
	switch (o->kind) {
	case CODE_NOTHING: case CODE_JUMP:
		return CODE_PASSES;
	case CODE_SET_GLOBAL: case CODE_SET_UPVALUE: case CODE_SET_FIELD:
	case CODE_SET_UPFIELD: case CODE_SET_ITEM:
		return o->value == reg ? CODE_USES : CODE_PASSES;
	case CODE_LIST:
		return o->a >= reg ? CODE_PASSES : CODE_ENDS;
	case CODE_RETURN:
		return code_is_among(reg, o->a, o->count) ? CODE_USES :
		       CODE_ENDS;
	case CODE_CALL:
		return o->a > reg ? CODE_PASSES :
		       code_is_among(reg, o->b, o->count) ? CODE_USES :
		       CODE_ENDS;
	case CODE_MOVE:
		if (o->b == reg)
			return CODE_USES;
		break;
	case CODE_LOAD:
		if (o->a < reg && o->b >= reg)
			return CODE_ENDS;
		break;
	default:
		break;
	}
	return o->a > reg || (o->a < reg &&
			      code_local_of(c, o->a, pc).size > 0) ?
	       CODE_PASSES : CODE_ENDS;
}

/* made: the instruction that has put it there; next: the one behind it. */
static bool code_find_use(const struct code *c, struct code_use *u,
			  uint32_t reg, uint32_t made, uint32_t next)
{
	const uint32_t locals = c->is_stripped ? CODE_NONE :
				code_next_local(c, made);
	enum code_meeting meeting = CODE_PASSES;

	u->is_local = false;
	for (u->pc = next; meeting == CODE_PASSES; next = u->op.next) {
		u->pc = next;
		if (next >= locals) {
			u->is_local = true;
			return next == locals;
		}
		u->op = code_read(c, next);
		meeting = code_meet(c, &u->op, reg, next);
	}
	return meeting == CODE_USES;
}

/* Stripped code does not say which registers are local variables. But what has
 * no name is set anew by what follows. */
static bool code_is_free(const struct code *c, uint32_t reg, uint32_t pc)
{
	enum { FAR = 64 };

	for (uint32_t i = 0; c->is_stripped && i < FAR; i++) {
		const struct code_op o = code_read(c, pc);

		if (code_sets(&o))
			return o.a <= reg;
		if (o.kind == CODE_RETURN)
			return WEFT_LUA_ABI >= 54 && o.count == 0 &&
			       o.a <= reg;
		pc = o.next;
	}
	return !c->is_stripped;
}

/* ---- arguments ---- */

/* Are all instructions from one to another such that no string within them but
 * an argument itself can stand in the call? */
static bool code_is_plain(const struct code *c, uint32_t pc, uint32_t end)
{
	while (pc < end) {
		const struct code_op o = code_read(c, pc);

		if (o.kind == CODE_OTHER || o.kind == CODE_NOTHING ||
		    o.kind == CODE_JUMP || o.kind == CODE_RETURN)
			return false;
		pc = o.next;
	}
	return true;
}

/* register("name"), or sort(...). made: where the argument is. */
static bool code_put_call(const struct code *c, struct code_name *n,
			  const struct code_use *u, uint32_t reg,
			  uint32_t made)
{
	const uint32_t callee = c->set[u->op.a];

	if (callee == 0 || callee > made || !code_is_plain(c, callee, made) ||
	    !code_put_chain(c, n, u->op.a, callee - 1, u->pc) || n->size == 0)
		return false;
	for (uint32_t i = u->op.b; i < reg; i++) {
		const struct code_op o = c->set[i] == 0 ?
			(struct code_op){ .kind = CODE_OTHER } :
			code_read(c, c->set[i] - 1u);

		if (o.kind == CODE_STRING && o.a == i)
			return code_put_literal(n, code_text_of(o.key));
	}
	return code_put(n, "(...)", 5);
}

/* ---- what is returned ---- */

/* A module is called after its file: see module_name in lua_names.c. */
static bool code_put_module(const struct code *c, struct code_name *n)
{
	static const char init[] = "/init.lua";
	const uint64_t source = layout_word(c->at + PROTO_SOURCE);
	struct code_text t = code_text_of(source);
	uint64_t first, end;

	if (t.size < 2 || t.size > 256 || layout_byte(t.at) != '@')
		return false;
	t.at++;
	t.size--;
	if (t.size >= sizeof(init) - 1 &&
	    code_is((struct code_text){ t.at + t.size - (sizeof(init) - 1),
					sizeof(init) - 1 }, init))
		t.size -= sizeof(init) - 1;
	for (first = t.size; first > 0 &&
	     layout_byte(t.at + first - 1) != '/'; first--)
		;
	for (end = t.size; end > first && layout_byte(t.at + end - 1) != '.';
	     end--)
		;
	end = end > first + 1 ? end - 1 : t.size;
	if (end - first >= CODE_NAME - n->size)
		return false;
	for (; first < end; first++)
		n->text[n->size++] = (char)layout_byte(t.at + first);
	return n->size > 0;
}

static bool code_put_returned(const struct code *c, struct code_name *n)
{
	static const char of[] = "return of ";
	const size_t size = sizeof(of) - 1;

	if (c->is_stripped)
		return false;
	if (c->tree->depth == 1)
		return code_put_module(c, n);
	if (c->own.size == 0 || c->own.size + size >= CODE_NAME)
		return false;
	if (c->own.size < size ||
	    !code_is((struct code_text){ c->own.at, size }, of))
		code_put(n, of, size);
	for (uint64_t i = 0; i < c->own.size; i++)
		n->text[n->size++] = (char)layout_byte(c->own.at + i);
	return true;
}

/* ---- fields ---- */

static enum code_way code_name_value(struct code *c, struct code_name *n,
				     uint32_t reg, uint32_t made,
				     uint32_t next, uint64_t child,
				     uint32_t tables);

/* A table of a constructor. Kept, as its other fields ask for it, too. */
static enum code_way code_name_table(struct code *c, struct code_name *n,
				     uint32_t reg, uint32_t pc,
				     uint32_t tables)
{
	struct code_table *const t = &c->table[reg % CODE_TABLES];
	enum code_way way;

	if (tables == 0)
		return CODE_UNKNOWN;
	if (t->pc == pc + 1) {
		memcpy(n->text, t->text, t->size);
		n->size = t->size;
		return (enum code_way)t->way;
	}
	way = code_name_value(c, n, reg, pc, code_read(c, pc).next, 0, tables);
	if (n->size > CODE_SPAN)
		way = CODE_UNKNOWN;
	n->size = way == CODE_NAMED ? n->size : 0;
	memcpy(t->text, n->text, n->size);
	t->pc = pc + 1;
	t->size = (uint8_t)n->size;
	t->way = (uint8_t)way;
	return way;
}

/* Is it written as a method? Its code says only that it has a parameter of that
 * name. */
static bool code_has_self(uint64_t child)
{
	struct code_local first;
	struct code_locals l;

	if (child == 0)
		return false;
	l = code_locals(child);
	return layout_byte(child + PROTO_PARAMS) > 0 &&
	       code_local_next(&l, &first) &&
	       code_is(code_local_name(&first), "self");
}

static bool code_put_behind(struct code_name *n, bool is_method, uint64_t key)
{
	return (n->size == 0 || code_put(n, is_method ? ":" : ".", 1)) &&
	       code_put_key(n, key);
}

/* The key, which may be in a register, but in none with a name. In LuaJIT's
 * constructors it is the last to be set. */
static uint64_t code_field_key(const struct code *c, const struct code_use *u)
{
	const uint32_t in = u->op.key_in;
	uint32_t set = u->pc;
	struct code_op o;

	if (in == CODE_NONE)
		return u->op.key;
	if (in < u->op.value)
		set = c->set[in];
	if (set == 0 || code_local_of(c, in, u->pc).size > 0 ||
	    !code_is_free(c, in, u->op.next))
		return 0;
	o = code_read(c, set - 1);
	return o.kind == CODE_STRING && o.a == in ? o.key : 0;
}

static bool code_put_field(struct code *c, struct code_name *n,
			   const struct code_use *u, uint64_t child,
			   uint32_t tables)
{
	const uint64_t key = code_field_key(c, u);
	const uint32_t table = u->op.a;
	const struct code_text local = code_local_of(c, table, u->pc);
	const uint32_t set = c->set[table];

	if (local.size > 0) {
		if (!code_is(local, "_ENV") && !code_put_word(n, local))
			return false;
		return code_put_behind(n, code_has_self(child), key);
	}
	if (set == 0)
		return false;
	if (code_read(c, set - 1).kind == CODE_TABLE)
		return code_name_table(c, n, table, set - 1, tables) !=
		       CODE_UNKNOWN && code_put_behind(n, false, key);
	return code_put_chain(c, n, table, set - 1, u->pc) &&
	       code_is_free(c, table, u->op.next) &&
	       code_put_behind(n, code_has_self(child), key);
}

static bool code_put_upfield(const struct code *c, struct code_name *n,
			     const struct code_use *u, uint64_t child)
{
	const struct code_text base = code_upvalue(c, u->op.b);

	if (!code_is(base, "_ENV") &&
	    !(c->is_stripped && code_is_globals(c, u->op.b)) &&
	    !code_put_word(n, base))
		return false;
	return code_put_behind(n, code_has_self(child),
			       code_field_key(c, u));
}

/* ---- values ---- */

static bool code_put_use(struct code *c, struct code_name *n,
			 const struct code_use *u, uint32_t reg, uint32_t made,
			 uint64_t child, uint32_t tables)
{
	if (u->is_local)
		return code_put_local(c, n, reg, u->pc);
	switch (u->op.kind) {
	case CODE_MOVE:
		return code_put_local(c, n, u->op.a, u->pc);
	case CODE_SET_GLOBAL:
		return code_put_key(n, u->op.key);
	case CODE_SET_UPVALUE:
		return code_put_word(n, code_upvalue(c, u->op.b));
	case CODE_SET_FIELD:
		return code_put_field(c, n, u, child, tables);
	case CODE_SET_UPFIELD:
		return code_put_upfield(c, n, u, child);
	case CODE_CALL:
		return code_put_call(c, n, u, reg, made);
	case CODE_RETURN:
		return code_put_returned(c, n);
	default:
		return false;
	}
}

/* The name of what is made at that place: a function (child), or a table of a
 * constructor (0). A table that is an argument or returned has none. */
static enum code_way code_name_value(struct code *c, struct code_name *n,
				     uint32_t reg, uint32_t made,
				     uint32_t next, uint64_t child,
				     uint32_t tables)
{
	struct code_use u;

	if (code_put_local(c, n, reg, next))
		return CODE_NAMED;
	if (!code_find_use(c, &u, reg, made, next))
		return CODE_UNKNOWN;
	if (child == 0 && !u.is_local && u.op.kind == CODE_CALL)
		return CODE_NAMELESS;
	if (child == 0 && !u.is_local && u.op.kind == CODE_RETURN)
		return c->is_stripped ? CODE_UNKNOWN : CODE_NAMELESS;
	if (!code_put_use(c, n, &u, reg, made, child, tables - 1) ||
	    (u.op.kind != CODE_CALL && !code_is_free(c, reg, u.op.next)))
		return CODE_UNKNOWN;
	return CODE_NAMED;
}

/* ---------------------------------------------------------- all of a chunk */

static void code_note(struct code *c, const struct code_op *o, uint32_t pc)
{
	const uint32_t last = o->kind == CODE_LOAD || o->kind == CODE_STRING ?
			      o->b : o->kind == CODE_METHOD ? o->a + 1 : o->a;

	for (uint32_t i = o->a; code_sets(o) && i <= last &&
	     i < CODE_REGISTERS; i++)
		c->set[i] = (uint16_t)(pc + 1);
}

/* Told of each function: its prototype, and its name, of size 0 if that is not
 * known. */
typedef void code_fn(void *ctx, uint64_t child, const char *name,
		     uint32_t size);

/* Read the code of the innermost function of the tree, which has that name, if
 * its size is not 0. *left begins as CODE_LOOKS for all of a tree. */
static void code_each(const struct proto_tree *t, struct code_text own,
		      uint32_t *left, code_fn *fn, void *ctx)
{
	const uint64_t at = t->at[t->depth - 1];
	const uint32_t codes = layout_half(at + PROTO_CODES);
	struct code c = { .at = at, .tree = t, .own = own, .left = left,
			  .count = codes < CODE_MOST ? codes : CODE_MOST };
	struct code_op o;

#if WEFT_LUA_ABI == 21
	c.is_stripped = layout_word(at + PROTO_LINE_INFO) == 0;
#else
	c.is_stripped = layout_half(at + PROTO_LINE_COUNT) == 0;
#endif
	for (uint32_t pc = 0; pc < c.count && *left > 0; pc = o.next) {
		struct code_name n = { .size = 0 };
		uint64_t child;

		o = code_read(&c, pc);
		code_note(&c, &o, pc);
		if (o.kind != CODE_MAKE || o.b >= layout_children(at))
			continue;
		child = layout_child(at, o.b);
		if (child == 0)
			continue;
		if (code_name_value(&c, &n, o.a, pc, o.next, child,
				    CODE_TABLES + 1) != CODE_NAMED)
			n.size = 0;
		fn(ctx, child, n.text, n.size);
	}
}
