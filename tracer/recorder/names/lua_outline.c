/* lua_outline.c - follows a Lua source token by token and notes each function,
 * with its lines and the name that its author gave it. No syntax tree is made
 * and hardly an error found: what brackets and blocks are open, and what is
 * assigned in each, is all that names need. Does not know where sources are.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/names/lua_outline.h"
#include "tracer/recorder/base/grow.h"
#include "tracer/recorder/names/lua_token.h"

#include <stdlib.h>
#include <string.h>

enum {
	FUNCTIONS_MAX = 1 << 16,
	FRAMES_MAX = 1024,         /* Lua itself allows about 200 */
	TARGETS_MAX = 8,           /* of one assignment */
	LITERAL_MAX = 40,          /* bytes of a string within a name */
	SPAN_MAX = 64,             /* bytes of an expression that is a name */
	OUTER_TABLES_MAX = 8,      /* that are part of a name */
};

struct span {
	const char *at, *end;      /* at is NULL: nothing */
};

enum frame_kind { BODY, BLOCK, LOOP, CALL, GROUP, TABLE, INDEX };

/* Something that is open: a function's body, a block that "end" or "until"
 * closes, or a bracket. */
struct frame {
	enum frame_kind kind;
	uint32_t function;         /* around or, for a BODY, itself */
	struct span before;        /* what the bracket belongs to, or itself */
	/* of the present statement of a BODY, BLOCK or LOOP */
	struct span target[TARGETS_MAX];
	uint32_t targets, value;
	bool is_assigned, is_returned;
	/* of a CALL: its first literal; of a TABLE: the present key */
	struct span word;
	uint32_t items;            /* before the present one of a TABLE */
	bool is_argument;          /* the TABLE is one, as in f{} */
	uint32_t alone;            /* a GROUP's only function; 0: none */
};

struct parser {
	struct lua_outline *o;
	struct lua_text text;
	struct lua_token token, before; /* the present one, the last one */
	struct frame frame[FRAMES_MAX];
	uint32_t depth;            /* frame[depth] is the innermost */
	/* The expression that could be called or indexed next, such as "M.f";
	 * at is NULL: there is none. */
	struct span prefix;
	uint32_t alone;            /* the prefix is that function, in () */
	uint32_t ended;            /* the function that "end" just closed */
	bool is_operand;           /* the last token ended an expression */
	bool is_failed;
};

static struct frame *top(struct parser *p)
{
	return &p->frame[p->depth];
}

static bool has_statements(const struct frame *f)
{
	return f->kind <= LOOP;
}

static struct span span_of(const struct lua_token *t)
{
	return (struct span){ t->at, t->at + t->size };
}

static void push(struct parser *p, enum frame_kind kind, struct span before)
{
	const uint32_t function = top(p)->function;

	if (p->depth + 1 == FRAMES_MAX) {
		p->is_failed = true;
		return;
	}
	p->frame[++p->depth] = (struct frame){
		.kind = kind, .function = function, .before = before,
	};
}

/* ---- names ---- */

struct name {
	char text[LUA_OUTLINE_NAME];
	size_t size;               /* above LUA_OUTLINE_NAME: too long */
};

static void put(struct name *n, const char *text, size_t size)
{
	if (size < LUA_OUTLINE_NAME - n->size)
		memcpy(n->text + n->size, text, size);
	else
		size = LUA_OUTLINE_NAME;
	n->size = size < LUA_OUTLINE_NAME - n->size ? n->size + size :
		  LUA_OUTLINE_NAME;
}

static void put_text(struct name *n, const char *text)
{
	put(n, text, strlen(text));
}

/* Without white space. What is long, or contains a call or several lines, is
 * given by its last part, if that is a word: "f(x).g" as "g". */
static void put_span(struct name *n, struct span s)
{
	const size_t size = (size_t)(s.end - s.at);
	const char *at = s.at;

	if (size > SPAN_MAX || memchr(at, '(', size) ||
	    memchr(at, '\n', size)) {
		for (at = s.end; at > s.at && at[-1] != '.' && at[-1] != ':';
		     at--)
			if (s.end - at >= SPAN_MAX ||
			    strchr("()[]{}\n\"'", at[-1]))
				return;
		if (at == s.at)
			return;
	}
	for (; at < s.end; at++)
		if ((unsigned char)*at > ' ')
			put(n, at, 1);
}

/* A call's argument, by the call: register("name"), or sort(...). */
static void put_call(struct name *n, struct span callee, struct span literal)
{
	const size_t before = n->size;
	size_t size;

	put_span(n, callee);
	if (n->size == before)
		return;
	if (!literal.at || literal.at[0] == '[') {
		put_text(n, "(...)");
		return;
	}
	size = (size_t)(literal.end - literal.at) - 2;
	if (size > LITERAL_MAX) {
		size = LITERAL_MAX;
		while (size > 0 && (literal.at[1 + size] & 0xc0) == 0x80)
			size--;
	}
	put_text(n, "(\"");
	put(n, literal.at + 1, size);
	put_text(n, size == LITERAL_MAX ? "...\")" : "\")");
}

/* How a function that stands in a frame comes by its name. */
enum way { NO_NAME, NAMED, RETURNED };

static enum way name_value(const struct parser *p, uint32_t depth,
			   uint32_t tables, struct name *n);

/* By its key, and by the table's name if that has one. */
static enum way name_field(const struct parser *p, uint32_t depth,
			   uint32_t tables, struct name *n)
{
	const struct frame *const f = &p->frame[depth];
	char number[16], *digit = number + sizeof(number);
	uint32_t item = f->items + 1;

	if (f->is_argument || tables == 0 ||
	    p->frame[depth - 1].kind == CALL ||
	    name_value(p, depth - 1, tables - 1, n) != NAMED)
		n->size = 0;
	if (f->word.at) {
		const size_t before = n->size;

		if (before > 0 && f->word.at[0] != '[')
			put_text(n, ".");
		put_span(n, f->word);
		return n->size > before ? NAMED : NO_NAME;
	}
	if (f->is_argument) {
		put_call(n, f->before, (struct span){ NULL, NULL });
		return NAMED;
	}
	if (n->size == 0)
		return NO_NAME;
	put_text(n, "[");
	do
		*--digit = (char)('0' + item % 10);
	while ((item /= 10) > 0);
	put(n, digit, (size_t)(number + sizeof(number) - digit));
	put_text(n, "]");
	return NAMED;
}

/* The name of the value that stands in the frame of that depth now. tables: how
 * many tables may be named as part of it. */
static enum way name_value(const struct parser *p, uint32_t depth,
			   uint32_t tables, struct name *n)
{
	const struct frame *f = &p->frame[depth];

	while (f->kind == GROUP)
		f = &p->frame[--depth];
	switch (f->kind) {
	case CALL:
		put_call(n, f->before, f->word);
		return NAMED;
	case TABLE:
		return name_field(p, depth, tables, n);
	case INDEX:
		return NO_NAME;
	default:
		if (f->is_returned)
			return RETURNED;
		if (!f->is_assigned || f->value >= f->targets)
			return NO_NAME;
		put_span(n, f->target[f->value]);
		return NAMED;
	}
}

/* ---- functions ---- */

/* Keep the text and return its place; 0 if it is empty, or too long, or there
 * is no memory. */
static uint32_t keep(struct lua_outline *o, const struct name *n)
{
	const uint32_t at = o->size;

	if (n->size == 0 || n->size >= LUA_OUTLINE_NAME ||
	    !grow(&o->text, &o->text_room, at + n->size + 1, 1))
		return 0;
	memcpy(o->text + at, n->text, n->size);
	o->text[at + n->size] = '\0';
	o->size += (uint32_t)n->size + 1;
	return at;
}

/* Returns its index, or 0 if there are too many. */
static uint32_t add(struct lua_outline *o, struct lua_outline_function f)
{
	if (o->n == FUNCTIONS_MAX ||
	    !grow(&o->function, &o->room, o->n + (size_t)1,
		  sizeof(*o->function)))
		return 0;
	o->function[o->n] = f;
	return o->n++;
}

static void advance(struct parser *p)
{
	p->before = p->token;
	p->token = lua_token_next(&p->text);
}

/* A statement begins: nothing is assigned or returned. */
static void begin_statement(struct parser *p)
{
	struct frame *const f = top(p);

	if (!has_statements(f)) {
		p->is_failed = true;
		return;
	}
	f->targets = f->value = 0;
	f->is_assigned = f->is_returned = false;
	p->prefix.at = NULL;
	p->is_operand = false;
}

/* The name behind the word "function". */
static void read_name(struct parser *p, struct name *n)
{
	struct span s = span_of(&p->token);

	while (p->token.kind == LUA_TOKEN_NAME || p->token.kind == '.' ||
	       p->token.kind == ':') {
		s.end = p->token.at + p->token.size;
		advance(p);
	}
	put_span(n, s);
}

/* Pass the parameters, and what gives them types in dialects. */
static void read_parameters(struct parser *p)
{
	if (p->token.kind != '(')
		p->is_failed = true;
	while (!p->is_failed && p->token.kind != ')') {
		if (p->token.kind == LUA_TOKEN_END ||
		    p->token.kind == LUA_TOKEN_BAD ||
		    p->token.kind == LUA_TOKEN_FUNCTION)
			p->is_failed = true;
		advance(p);
	}
}

/* "local function" and "global function", whose line is that of the "(". */
static bool is_scoped(const struct lua_token *before)
{
	return before->kind == LUA_TOKEN_LOCAL ||
	       (before->kind == LUA_TOKEN_NAME && before->size == 6 &&
		memcmp(before->at, "global", 6) == 0);
}

/* The present token is the word "function". */
static void read_function(struct parser *p)
{
	const bool scoped = is_scoped(&p->before);
	const bool is_alone = p->before.kind == '(' && top(p)->kind == GROUP;
	struct lua_outline_function f = { .first = p->token.line };
	struct name n = { .size = 0 };
	uint32_t id;

	f.outer = top(p)->function;
	advance(p);
	if (p->token.kind == LUA_TOKEN_NAME) {
		begin_statement(p);
		read_name(p, &n);
	} else {
		const enum way way = name_value(p, p->depth,
						OUTER_TABLES_MAX, &n);

		f.is_returned = way == RETURNED;
		n.size = way == NAMED ? n.size : 0;
	}
	if (scoped || p->before.kind == LUA_TOKEN_FUNCTION)
		f.first = p->token.line;
	f.name = keep(p->o, &n);
	id = add(p->o, f);
	if (id == 0)
		p->is_failed = true;
	read_parameters(p);
	if (is_alone)
		top(p)->alone = id;
	push(p, BODY, (struct span){ NULL, NULL });
	top(p)->function = id;
	p->prefix.at = NULL;
	p->is_operand = false;
}

/* The word "end". Behind a function that is a value, its expression goes on;
 * behind all others, a statement begins. */
static void close_block(struct parser *p)
{
	const struct frame closed = *top(p);
	bool is_value;

	if ((closed.kind != BODY && closed.kind != BLOCK) || p->depth == 0) {
		p->is_failed = true;
		return;
	}
	p->depth--;
	is_value = !has_statements(top(p)) || top(p)->is_assigned ||
		   top(p)->is_returned;
	if (closed.kind == BODY) {
		p->o->function[closed.function].last = p->token.line;
		p->ended = closed.function;
	}
	if (closed.kind == BODY && is_value) {
		p->prefix.at = NULL;
		p->is_operand = true;
	} else if (has_statements(top(p))) {
		begin_statement(p);
	} else {
		p->is_failed = true;
	}
}

/* ---- expressions ---- */

/* What the prefix is, is called: with (), {} or a string. */
static void note_call(struct parser *p)
{
	if (p->alone != 0)
		p->o->function[p->alone].is_called = true;
	p->alone = 0;
}

static void read_word(struct parser *p)
{
	const bool is_part = (p->before.kind == '.' || p->before.kind == ':') &&
			     p->prefix.at;

	if (is_part) {
		p->prefix.end = p->token.at + p->token.size;
	} else {
		if (p->is_operand && has_statements(top(p)))
			begin_statement(p);
		p->prefix = span_of(&p->token);
	}
	p->alone = 0;
	p->is_operand = true;
}

static void read_string(struct parser *p)
{
	struct frame *const f = top(p);

	if (p->prefix.at) {
		note_call(p);
		p->prefix.end = p->token.at + p->token.size;
	} else if (f->kind == CALL && !f->word.at) {
		f->word = span_of(&p->token);
	}
	p->is_operand = true;
}

static void open_bracket(struct parser *p)
{
	const bool has_prefix = p->prefix.at != NULL;
	const struct span before = has_prefix ? p->prefix : span_of(&p->token);
	const char c = p->token.at[0];

	if (!has_prefix && p->is_operand && has_statements(top(p)))
		begin_statement(p);
	if (has_prefix && c != '[')
		note_call(p);
	push(p, c == '[' ? INDEX : c == '{' ? TABLE :
	     has_prefix ? CALL : GROUP, before);
	top(p)->is_argument = c == '{' && has_prefix;
	p->prefix.at = NULL;
	p->alone = 0;
	p->is_operand = false;
}

static void close_bracket(struct parser *p)
{
	const struct frame closed = *top(p);
	const char c = p->token.at[0];

	if (c == ']' ? closed.kind != INDEX : c == '}' ? closed.kind != TABLE :
	    closed.kind != CALL && closed.kind != GROUP) {
		p->is_failed = true;
		return;
	}
	p->depth--;
	p->prefix = closed.before;
	p->prefix.end = p->token.at + p->token.size;
	if (closed.kind == TABLE && !closed.is_argument)
		p->prefix.at = NULL;
	p->alone = closed.kind == GROUP && closed.alone == p->ended &&
		   p->before.kind == LUA_TOKEN_CLOSE ? closed.alone : 0;
	p->is_operand = true;
}

/* What stands before "=" or a comma on its left. */
static void add_target(struct parser *p)
{
	struct frame *const f = top(p);

	if (p->prefix.at && f->targets < TARGETS_MAX)
		f->target[f->targets++] = p->prefix;
}

static void read_separator(struct parser *p)
{
	struct frame *const f = top(p);
	const char c = p->token.at[0];

	if (f->kind == TABLE && c == '=') {
		f->word = p->prefix;
	} else if (f->kind == TABLE) {
		f->word.at = NULL;
		f->items++;
	} else if (has_statements(f) && c == ';') {
		begin_statement(p);
	} else if (has_statements(f) && c == '=') {
		if (f->is_assigned)
			f->targets = f->value = 0;
		add_target(p);
		f->is_assigned = true;
	} else if (has_statements(f) && f->is_assigned) {
		f->value++;
	} else if (has_statements(f)) {
		add_target(p);
	}
	p->prefix.at = NULL;
	p->is_operand = false;
}

static void read_value(struct parser *p)
{
	p->prefix.at = NULL;
	p->is_operand = true;
}

/* ---- statements ---- */

static void read_keyword(struct parser *p)
{
	const enum lua_kind kind = p->token.kind;
	const struct span none = { NULL, NULL };

	if (kind == LUA_TOKEN_UNTIL) {
		if (top(p)->kind != LOOP)
			p->is_failed = true;
		else
			p->depth--;
	} else if (kind == LUA_TOKEN_THEN && top(p)->kind != BLOCK) {
		p->is_failed = true;
	}
	if (!p->is_failed)
		begin_statement(p);
	if (p->is_failed)
		return;
	if (kind == LUA_TOKEN_RETURN)
		top(p)->is_returned = true;
	else if (kind == LUA_TOKEN_DO || kind == LUA_TOKEN_IF)
		push(p, BLOCK, none);
	else if (kind == LUA_TOKEN_REPEAT)
		push(p, LOOP, none);
}

static void read_token(struct parser *p)
{
	switch ((int)p->token.kind) {
	case LUA_TOKEN_NAME:
		read_word(p);
		break;
	case LUA_TOKEN_STRING:
		read_string(p);
		break;
	case LUA_TOKEN_VALUE:
		read_value(p);
		break;
	case LUA_TOKEN_FUNCTION:
		read_function(p);
		break;
	case LUA_TOKEN_CLOSE:
		close_block(p);
		break;
	case LUA_TOKEN_DO: case LUA_TOKEN_IF: case LUA_TOKEN_THEN:
	case LUA_TOKEN_REPEAT: case LUA_TOKEN_UNTIL: case LUA_TOKEN_RETURN:
	case LUA_TOKEN_LOCAL: case LUA_TOKEN_STATEMENT: case LUA_TOKEN_LABEL:
		read_keyword(p);
		break;
	case '(': case '[': case '{':
		open_bracket(p);
		break;
	case ')': case ']': case '}':
		close_bracket(p);
		break;
	case '=': case ',': case ';':
		read_separator(p);
		break;
	case '.': case ':': case LUA_TOKEN_ATTRIBUTE:
		break;
	default: /* an operator, or a character of a dialect */
		p->prefix.at = NULL;
		p->is_operand = false;
	}
}

/* ---- the whole text ---- */

/* What is returned is named after what returns it. A function that is called
 * where it stands has no name; its value has the one that it would have. */
static void name_returned(struct lua_outline *o)
{
	for (uint32_t i = 1; i < o->n; i++) {
		struct lua_outline_function *const f = &o->function[i];
		const struct lua_outline_function *const outer =
			&o->function[f->outer];
		struct name n = { .size = 0 };

		if (!f->is_returned || outer->name == 0)
			continue;
		if (f->outer != 0 && !outer->is_called &&
		    strncmp(o->text + outer->name, "return of ", 10) != 0)
			put_text(&n, "return of ");
		put_text(&n, o->text + outer->name);
		f->name = keep(o, &n);
	}
	for (uint32_t i = 0; i < o->n; i++)
		if (i == 0 || o->function[i].is_called)
			o->function[i].name = 0;
}

/* Negative, 0 or positive: its lines are before, at or behind these. */
static int compare(const struct lua_outline_function *f, uint32_t first,
		   uint32_t last)
{
	if (f->first != first)
		return f->first < first ? -1 : 1;
	return f->last == last ? 0 : f->last < last ? -1 : 1;
}

/* For qsort_r. Functions on the same lines stay in order. */
static int by_lines(const void *x, const void *y, void *ctx)
{
	const struct lua_outline *const o = ctx;
	const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const int order = compare(&o->function[a], o->function[b].first,
				  o->function[b].last);

	return order ? order : a < b ? -1 : a > b;
}

/* A text may have all its functions on one line. */
static int sort(struct lua_outline *o)
{
	o->by_lines = malloc(o->n * sizeof(*o->by_lines));
	if (!o->by_lines)
		return -1;
	for (uint32_t i = 0; i < o->n; i++)
		o->by_lines[i] = i;
	qsort_r(o->by_lines, o->n, sizeof(*o->by_lines), by_lines, o);
	return 0;
}

static int parse(struct parser *p, const char *module)
{
	struct name n = { .size = 0 };
	struct lua_outline_function main = { .first = 0 };

	put(&n, "", 1);
	keep(p->o, &n);
	n.size = 0;
	put_text(&n, module);
	main.name = keep(p->o, &n);
	if (!p->o->text)
		return -1;
	add(p->o, main);
	if (p->o->n == 0)
		return -1;
	p->frame[0] = (struct frame){ .kind = BODY };
	p->before.kind = p->token.kind = ';';
	for (advance(p); !p->is_failed && p->token.kind != LUA_TOKEN_END &&
	     p->token.kind != LUA_TOKEN_BAD; advance(p))
		read_token(p);
	if (p->is_failed || p->token.kind != LUA_TOKEN_END || p->depth != 0)
		return -1;
	p->o->lines = p->token.line;
	name_returned(p->o);
	return sort(p->o);
}

int lua_outline_read(struct lua_outline *o, const char *text, size_t size,
		     const char *module)
{
	struct parser *const p = calloc(1, sizeof(*p));
	int status;

	memset(o, 0, sizeof(*o));
	if (!p)
		return -1;
	p->o = o;
	lua_token_begin(&p->text, text, size);
	status = parse(p, module);
	free(p);
	return status;
}

void lua_outline_free(struct lua_outline *o)
{
	free(o->function);
	free(o->by_lines);
	free(o->text);
	memset(o, 0, sizeof(*o));
}

uint32_t lua_outline_find(const struct lua_outline *o, uint32_t first,
			  uint32_t last, uint32_t ordinal)
{
	uint32_t low = 0, high = o->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (compare(&o->function[o->by_lines[middle]], first, last) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (ordinal >= o->n - low || first == 0 ||
	    compare(&o->function[o->by_lines[low + ordinal]], first, last) != 0)
		return 0;
	return o->by_lines[low + ordinal];
}

const char *lua_outline_name(const struct lua_outline *o, uint32_t function)
{
	return function >= o->n ? "" : o->text + o->function[function].name;
}
