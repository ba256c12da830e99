/* gcc_name.c - what gcc calls a function, from the name that the demangler
 * gives it; and many texts looked for in such names at once.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/gcc_name.h"

#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* ---- outlines -----------------------------------------------------------
 * An outline is gcc's name, but for parts that it may spell in another way:
 * OTHERWISE stands for each of them. */

enum { OTHERWISE = '<', SIGN = ' ', ROOM_MORE = 2 };

struct outline {
	const char *from, *at;   /* the name itself; what is still to be read */
	char *text;              /* room for the name and ROOM_MORE */
	size_t size;
	bool is_exact;           /* no part of it is spelled otherwise */
};

/* May the character be in a name with its scopes? */
static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_:~", c));
}

static void put(struct outline *o, char c)
{
	o->text[o->size++] = c;
	o->is_exact = o->is_exact && c != OTHERWISE;
}

/* What was read was not yet the name: a type, or "virtual thunk to". */
static void restart(struct outline *o)
{
	o->from = o->at;
	o->size = 0;
	o->is_exact = true;
}

/* Leaves out a bracket, of whose text gcc has another one. */
static bool skip_bracket(struct outline *o)
{
	o->at = text_past_bracket(o->at);
	if (o->at)
		put(o, OTHERWISE);
	return o->at;
}

/* A lambda, or a type without a name. A variable that it belongs to is not in
 * gcc's name, a class is. */
static bool read_curly(struct outline *o)
{
	size_t from = o->size;

	while (from > 0 && o->text[from - 1] == ':')
		from--;
	while (from > 0 && is_of_name(o->text[from - 1]) &&
	       o->text[from - 1] != ':')
		from--;
	o->size = from;
	return skip_bracket(o);
}

/* A conversion's type, "new", or a literal's name: up to the parameters. */
static bool skip_type(struct outline *o)
{
	put(o, OTHERWISE);
	while (o->at && *o->at && *o->at != '(')
		o->at = strchr("<[{", *o->at) ? text_past_bracket(o->at) :
			o->at + 1;
	return o->at;
}

static bool read_operator(struct outline *o, size_t size)
{
	const size_t word = sizeof("operator") - 1;

	for (size_t i = 0; i < word; i++)
		put(o, o->at[i]);
	o->at += size;
	if (size == word)
		return skip_type(o);
	put(o, SIGN);
	if (text_begins(o->at, " <"))
		o->at++;
	return true;
}

/* Of a friend that a class defines, gcc writes not the class but its scope. */
static bool read_square(struct outline *o)
{
	const bool is_friend = text_begins(o->at, "[friend]");
	size_t from = o->size;

	o->at = text_past_bracket(o->at); /* gcc leaves out "[abi:cxx11]" */
	while (is_friend && from > 0 && o->text[from - 1] != ':' &&
	       o->text[from - 1] != OTHERWISE)
		from--;
	if (is_friend && from > 0) {
		memmove(o->text + 1, o->text + from, o->size - from);
		o->text[0] = OTHERWISE;
		o->size -= from - 1;
		o->is_exact = false;
	}
	return o->at;
}

/* Parameters: the name ends before them, unless it is that of a function with
 * others in it, whose parameters gcc writes, too. *done: it ends. */
static bool read_parameters(struct outline *o, bool *done)
{
	const char *after = text_past_bracket(o->at);

	*done = true;
	if (!after)
		return false;
	while (*after == ' ' || *after == '&' || text_begins(after, "const") ||
	       text_begins(after, "volatile"))
		after += *after == 'c' ? 5 : *after == 'v' ? 8 : 1;
	if (!text_begins(after, "::"))
		return true;
	*done = false;
	o->at = after;
	put(o, OTHERWISE);
	return true;
}

static bool read_round(struct outline *o, const char *name, bool *done)
{
	static const char unnamed[] = "(anonymous namespace)";
	const char *const at = o->at;

	if (text_begins(at, unnamed)) {
		for (const char *c = "{anonymous}"; *c; c++)
			put(o, *c);
		o->at += sizeof(unnamed) - 1;
		return true;
	}
	if ((at - name >= 9 && text_begins(at - 9, "decltype ")) ||
	    (at - name >= 8 && text_begins(at - 8, "decltype")))
		return skip_bracket(o);
	if (o->size > 0)
		return read_parameters(o, done);
	o->at++; /* what it returns is written around it: "int (*f(int))()" */
	return true;
}

/* After a dot comes what gcc appended to the linker's name, "f.part.0"; or a
 * type without a name, "._anon_1". */
static bool read_dot(struct outline *o, bool *done)
{
	size_t size = 1;

	while (is_of_name(o->at[size]) && o->at[size] != ':')
		size++;
	if (o->size == 0 || o->text[o->size - 1] == ':') {
		put(o, OTHERWISE);
		o->at += size;
		return true;
	}
	*done = true;
	while (is_of_name(o->at[size]) || o->at[size] == '.')
		size++;
	return o->at[size] == '\0';
}

/* A step of the outline. False: the name cannot be read. */
static bool read_part(struct outline *o, const char *name, bool *done)
{
	const size_t size = text_operator_in(name, o->at);

	if (size > 0)
		return read_operator(o, size);
	switch (*o->at) {
	case '<':
		return skip_bracket(o);
	case '{':
		return read_curly(o);
	case '[':
		return read_square(o);
	case '(':
		return read_round(o, name, done);
	case '.':
		return read_dot(o, done);
	case ' ':
		*done = text_begins(o->at, " [clone");
		/* fall through */
	case '*':
	case '&':
		if (!*done)
			restart(o);
		break;
	case '@':
		*done = true;
		break;
	default:
		if (!is_of_name(*o->at) && *o->at != '$')
			return false;
		put(o, *o->at);
	}
	o->at++;
	return true;
}

/* text: room for the name and ROOM_MORE. False: the name cannot be read, or is
 * several, and all of it may be spelled otherwise. gcc writes main's
 * parameters, the demangler does not. */
static bool outline_read(struct outline *o, const char *name, char *text)
{
	bool done = false;

	*o = (struct outline){ .from = name, .at = name, .text = text,
			       .is_exact = true };
	if (text_begins(name, "_Z") || text_name_next(name))
		return false;
	if (text_begins(name, "main::")) {
		o->at += 4;
		put(o, OTHERWISE);
	}
	while (!done && *o->at)
		if (!read_part(o, name, &done))
			return false;
	o->text[o->size] = '\0';
	return true;
}

/* ---- a text for the list ------------------------------------------------ */

/* All operators of a class would be found by the text before their sign. */
bool gcc_name_text(const char *name, char *to, size_t size)
{
	char *const text = mem_grow(NULL, strlen(name) + ROOM_MORE, 1);
	struct outline o;
	size_t begin, end = 0;
	bool has_text;

	if (outline_read(&o, name, text))
		end = o.size;
	end -= end > 0 && text[end - 1] == OTHERWISE;
	for (begin = end; begin > 0 && is_of_name(text[begin - 1]); )
		begin--;
	while (begin < end && text[begin] == ':')
		begin++;
	has_text = begin < end && end - begin < size;
	if (has_text) {
		memcpy(to, text + begin, end - begin);
		to[end - begin] = '\0';
		has_text = !strstr(to, "operator");
	}
	mem_free(text);
	return has_text;
}

/* ---- texts looked for --------------------------------------------------- */

struct key {
	const char *text;
	size_t id;
};

/* Sorted, so that the keys with the same beginning lie side by side. */
struct keys {
	struct key *key;
	size_t first[UINT8_MAX + 2]; /* of those that begin with a byte */
};

struct gcc_texts {
	struct keys whole, last; /* last: what stands after the last scope */
	size_t *found;           /* of each text: the last name with it */
	size_t name;             /* counts names */
	struct gcc_hit *hits;
	size_t count, room;
	char *outline;
	size_t outline_room;
};

ORDER_BY(by_text, struct key, strcmp(x->text, y->text))

static void keys_sort(struct keys *k, size_t count)
{
	order_sort(k->key, count, by_text);
	for (size_t i = 0; i < count; i++)
		k->first[(uint8_t)k->key[i].text[0] + 1]++;
	for (size_t i = 0; i <= UINT8_MAX; i++)
		k->first[i + 1] += k->first[i];
}

/* The text without scopes; a destructor's has no "~" in a mangled name. */
static const char *last_part(const char *text)
{
	const size_t at = strlen(text);
	size_t from = at;

	while (from > 0 && text[from - 1] != ':' && text[from - 1] != '~')
		from--;
	return text + from;
}

struct gcc_texts *gcc_texts_new(const char *const *texts, size_t count)
{
	struct gcc_texts *const t = mem_alloc(sizeof(*t));

	t->whole.key = mem_grow(NULL, count + 1, sizeof(*t->whole.key));
	t->last.key = mem_grow(NULL, count + 1, sizeof(*t->last.key));
	t->found = mem_alloc((count + 1) * sizeof(*t->found));
	for (size_t i = 0; i < count; i++) {
		t->whole.key[i] = (struct key){ texts[i], i };
		t->last.key[i] = (struct key){ last_part(texts[i]), i };
	}
	keys_sort(&t->whole, count);
	keys_sort(&t->last, count);
	return t;
}

void gcc_texts_free(struct gcc_texts *t)
{
	if (!t)
		return;
	mem_free_all(t->whole.key, t->last.key, t->found, t->hits, t->outline,
		     t);
}

static void add_hit(struct gcc_texts *t, size_t text, bool is_sure)
{
	if (t->found[text] == t->name)
		return;
	t->found[text] = t->name;
	*vec_add(&t->hits, &t->room, &t->count) =
		(struct gcc_hit){ text, is_sure };
}

/* The first of the keys from..to whose byte at `depth` is c or more; they are
 * the same before it. */
static size_t first_from(const struct keys *k, size_t from, size_t to,
			 size_t depth, unsigned int c)
{
	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if ((uint8_t)k->key[middle].text[depth] < c)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Every key with which the text begins. */
static void find_at(struct gcc_texts *t, const struct keys *k,
		    const char *text, bool is_sure)
{
	size_t from = k->first[(uint8_t)*text];
	size_t to = k->first[(uint8_t)*text + 1];

	for (size_t depth = 1; from < to; depth++) {
		const uint8_t c = (uint8_t)text[depth];

		for (; from < to && k->key[from].text[depth] == '\0'; from++)
			add_hit(t, k->key[from].id, is_sure);
		if (c == '\0')
			return;
		from = first_from(k, from, to, depth, c);
		to = first_from(k, from, to, depth, c + 1u);
	}
}

/* Words that gcc may write where the demangler has others or none. */
static const char words[] =
	"{anonymous} <unnamed struct> enum union class auto: parameter type "
	"<lambda closure object> bool float double void const volatile main "
	"unsigned long int short signed char std basic_string basic_istream "
	"basic_ostream basic_iostream allocator char_traits nullptr_t "
	"template true false operator new delete value_type _S_atomic";

const struct gcc_hit *gcc_texts_find(struct gcc_texts *t, const char *name,
				     size_t *count)
{
	const size_t size = strlen(name);
	struct outline o;

	t->count = 0;
	t->name++;
	vec_need(&t->outline, &t->outline_room, size + ROOM_MORE);
	if (!outline_read(&o, name, t->outline))
		o = (struct outline){ .from = name, .at = name + size };
	for (size_t i = 0; i < o.size; i++)
		find_at(t, &t->whole, &o.text[i], true);
	if (!o.is_exact) {
		for (const char *at = o.from; at < o.at; at++)
			find_at(t, &t->last, at, false);
		for (const char *at = words; *at; at++)
			find_at(t, &t->last, at, false);
	}
	*count = t->count;
	return t->hits;
}
