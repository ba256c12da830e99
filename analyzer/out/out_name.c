/* out_name.c - takes names of C++ functions apart: what the function is called,
 * and which template it is of. Names that it does not understand, it leaves.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_name.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/out/out_escape.h"

#include <stdio.h>
#include <string.h>

/* A part of a name. */
struct piece { const char *at; size_t size; };

/* "ret a::b<c>::d<e>(f)": base is d; args is <e>, or <c> if d has none. */
struct parts {
	struct piece base, args;
	bool is_own;             /* args are base's */
};

/* ---- taking apart ------------------------------------------------------- */

/* Past "operator" with its sign, which may look like brackets, or its type. */
static const char *skip_operator(const char *at)
{
	const size_t size = text_operator(at);
	const bool has_sign = size > strlen("operator");

	at += size;
	if (size == 0 || *at != ' ')
		return at;
	/* "operator< <int>" has a space, as "operator bool" has. */
	return has_sign ? at + (at[1] == '<') : at + strcspn(at, "<(");
}

/* One step on from `at`, which is in no brackets: NULL at the end of what is
 * called, or if that cannot be told. */
static const char *step(const char *at, struct parts *p)
{
	if (strncmp(at, "::", 2) == 0) {
		p->base = (struct piece){ at + 2, 0 };
		p->is_own = false;
		return skip_operator(at + 2);
	}
	if (*at == ' ') {
		*p = (struct parts){ .base = { at + 1, 0 } };
		return skip_operator(at + 1);
	}
	if (*at == '<') {
		const char *const end = text_past_bracket(at);

		p->args = (struct piece){ at, end ? (size_t)(end - at) : 0 };
		p->is_own = true;
		return end;
	}
	if (*at == '{' || *at == '[' || (*at == '(' && at == p->base.at))
		return text_past_bracket(at);
	if (*at == '(') {
		const char *const end = text_past_bracket(at);

		return end && strncmp(end, "::", 2) == 0 ? end : NULL;
	}
	return at + 1;
}

/* False: it is no such name, or one of which too little would be left. */
static bool take_apart(const char *name, struct parts *p)
{
	const char *at = skip_operator(name), *next;

	*p = (struct parts){ .base = { name, 0 } };
	if (!strstr(name, "::"))
		return false;
	for (; *at != '\0'; at = next) {
		next = step(at, p);
		if (!next)
			break;
		/* Arguments and parameters are no part of the base. */
		if (*at != '<' && *at != '(' && next > p->base.at)
			p->base.size = (size_t)(next - p->base.at);
	}
	return p->base.size > 0 && (*at == '\0' || *at == '(') &&
	       (p->args.size > 0 ||
		strncmp(p->base.at, "operator", strlen("operator")) != 0);
}

/* ---- putting together --------------------------------------------------- */

/* A template's arguments without namespaces, and without what containers have
 * by default, as "string, vector<int>". */
static char *plain_args(struct piece args)
{
	static const char *const usual[] = { ", std::allocator<",
		", std::char_traits<", ", std::less<", ", std::hash<",
		", std::equal_to<", ", std::default_delete<" };
	char *const to = mem_alloc(args.size + 1), *end = to, *word = to;

	for (const char *at = args.at; at < args.at + args.size; ) {
		const char *next = NULL;

		for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
			if (strncmp(at, usual[i], strlen(usual[i])) == 0)
				next = text_past_bracket(at +
					strlen(usual[i]) - 1);
		if (next && next < args.at + args.size) {
			at = next + (*next == ' ' && next[1] == '>');
			continue;
		}
		if (strncmp(at, "::", 2) == 0) {
			end = word;
			at += 2;
			continue;
		}
		/* "> >" of older compilers. */
		if (*at == '>' && end > to + 1 && end[-1] == ' ' &&
		    end[-2] == '>')
			end--;
		*end++ = *at;
		if (strchr("<>(), &*", *at++))
			word = end;
	}
	*end = '\0';
	while ((word = strstr(to, "basic_string<char>"))) {
		const char *const rest = word + strlen("basic_string<char>");

		memcpy(word, "string", 6);
		memmove(word + 6, rest, strlen(rest) + 1);
	}
	return to;
}

static char *cut_middle(const char *text, size_t columns)
{
	const size_t dots = strlen("...");
	const size_t half = columns < dots ? 0 : (columns - dots) / 2;
	char *head, *tail, *result;

	if (out_escape_width(text) <= columns || columns <= 2 * dots)
		return out_escape_cut(mem_copy(text), columns, false);
	head = out_escape_cut(mem_copy(text), columns - half, false);
	tail = out_escape_cut(mem_copy(text), half + dots, true);
	result = mem_alloc(strlen(head) + strlen(tail) + 1);
	strcat(strcpy(result, head), tail + dots);
	mem_free_all(head, tail);
	return result;
}

/* At least a quarter is for the arguments: they tell functions of one name
 * apart. */
static char *put_together(const struct parts *p, size_t columns)
{
	char *const whole = mem_alloc(p->base.size + 1);
	char *const all = p->args.at ? plain_args(p->args) : mem_copy("");
	const size_t marks = p->is_own ? 0 : strlen("...::");
	const size_t width = out_escape_width(memcpy(whole, p->base.at,
						     p->base.size));
	const size_t args_width = out_escape_width(all);
	const size_t quarter = args_width < columns / 4 ? args_width :
			     columns / 4;
	const size_t room = width + marks + quarter < columns ?
			    columns - marks - width : quarter;
	char *const base = cut_middle(whole, columns - marks - quarter);
	char *const args = cut_middle(all, room);
	char *const result = mem_alloc(strlen(base) + strlen(args) + marks + 1);

	sprintf(result, p->is_own || !args[0] ? "%s%s" : "...%s::%s",
		p->is_own ? base : args, p->is_own ? args : base);
	mem_free_all(whole, all, base, args);
	return result;
}

char *out_name_cut(const char *name, size_t columns)
{
	struct parts p;

	if (out_escape_width(name) <= columns || columns < 20 ||
	    !take_apart(name, &p))
		return cut_middle(name, columns);
	return put_together(&p, columns);
}
