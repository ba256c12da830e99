/* pattern.h - patterns that name functions, as the recorder and the analyzer
 * take them: "a|b" matches either; "*" stands for any text, "?" for any
 * character; the whole text must match. An alternative that begins with
 * "module=", "file=" or "language=" is compared with that, any other with the
 * function's name. A hostile text or pattern costs at most the product of their
 * lengths. SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What an alternative, [p, end), is compared with. If it has names, in order,
 * it stands for all of them. */
enum pattern_of { PATTERN_NAME, PATTERN_MODULE, PATTERN_FILE,
		  PATTERN_LANGUAGE };
struct pattern {
	enum pattern_of of;
	const char *p, *end;
	const struct pattern *names;
	size_t count;
};

/* The first alternative of *text, which moves to the next one, or becomes NULL
 * after the last. */
static inline struct pattern pattern_next(const char **text)
{
	static const char *const keys[] = { "", "module=", "file=",
					    "language=" };
	const char *const end = *text + strcspn(*text, "|");
	struct pattern a = { .of = PATTERN_NAME, .p = *text, .end = end };

	for (int k = PATTERN_MODULE; k <= PATTERN_LANGUAGE; k++) {
		const size_t n = strlen(keys[k]);

		if ((size_t)(end - a.p) >= n && !memcmp(a.p, keys[k], n)) {
			a.of = (enum pattern_of)k;
			a.p += n;
			break;
		}
	}
	*text = *end ? end + 1 : NULL;
	return a;
}

static inline int pattern_order(const void *a, const void *b)
{
	const struct pattern *const x = a, *const y = b;
	const size_t n = (size_t)(x->end - x->p), m = (size_t)(y->end - y->p);

	return n != m ? (n < m ? -1 : 1) : memcmp(x->p, y->p, n);
}

/* Room for the alternatives of text, once split; NULL has none. */
static inline size_t pattern_room(const char *text)
{
	size_t n = text ? 2 : 0;

	while (text && (text = strchr(text, '|'))) {
		text++;
		n++;
	}
	return n;
}

/* Split text into its alternatives, of which there may be thousands: names
 * without "*" and "?" are looked up, as one. Returns how many are to be tried;
 * all and text must live as long as these. */
static inline size_t pattern_split(const char *text, struct pattern *all)
{
	const size_t room = pattern_room(text);
	size_t count = 0, names = room;

	while (text) {
		const struct pattern a = pattern_next(&text);
		const size_t n = (size_t)(a.end - a.p);

		if (a.of != PATTERN_NAME || memchr(a.p, '*', n) ||
		    memchr(a.p, '?', n))
			all[count++] = a;
		else
			all[--names] = a;
	}
	if (names == room)
		return count;
	qsort(&all[names], room - names, sizeof(*all), pattern_order);
	all[count] = (struct pattern){ .names = &all[names],
				       .count = room - names };
	return count + 1;
}

/* Does it match [t, last)? When the rest does not, the last "*" takes one
 * character more; earlier ones need not be tried again. */
static inline bool pattern_match(const struct pattern *a, const char *t,
				 const char *last)
{
	const struct pattern wanted = { .p = t, .end = last };
	const char *p = a->p, *star = NULL, *retry = NULL;

	if (a->names)
		return bsearch(&wanted, a->names, a->count, sizeof(*a),
			       pattern_order) != NULL;
	while (t < last) {
		if (p < a->end && *p == '*') {
			star = ++p;
			retry = t;
		} else if (p < a->end && (*p == '?' || *p == *t)) {
			p++;
			t++;
		} else if (star) {
			p = star;
			t = ++retry;
		} else {
			return false;
		}
	}
	while (p < a->end && *p == '*')
		p++;
	return p == a->end;
}

static inline bool pattern_match_text(const struct pattern *a, const char *text)
{
	return pattern_match(a, text, text + strlen(text));
}

/* The whole path, or its last part. */
static inline bool pattern_match_path(const struct pattern *a, const char *path)
{
	const char *const slash = strrchr(path, '/');

	return pattern_match_text(a, path) ||
	       (slash && slash[1] && pattern_match_text(a, slash + 1));
}

/* The length of what is in parentheses but is no list of parameters; 0: it is
 * nothing of that kind. */
static inline size_t pattern_special_part(const char *at)
{
	static const char *const words[] = { "(anonymous namespace)",
					     "operator()" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

/* The name of "f(int)" ends behind f, that of "handler <app.lua:12>" behind
 * handler. */
static inline const char *pattern_base_end(const char *name)
{
	const char *at = name;

	while (*at != '\0') {
		const size_t more = pattern_special_part(at);

		if (at > name && more == 0 &&
		    (*at == '(' || strncmp(at, " <", 2) == 0))
			break;
		at += more != 0 ? more : 1;
	}
	return at;
}

/* The whole name, or what stands before its parameters or place. */
static inline bool pattern_match_name(const struct pattern *a, const char *name)
{
	return pattern_match_text(a, name) ||
	       pattern_match(a, name, pattern_base_end(name));
}

/* A Lua function's name as its source or its callers have it, [name, end), is
 * also found by its last part: "M.work" by "work". */
static inline bool pattern_match_lua(const struct pattern *a, const char *name,
				     const char *end)
{
	const char *part = end;

	if (pattern_match(a, name, end))
		return true;
	if (memchr(name, ' ', (size_t)(end - name)))
		return false;
	while (part > name && !strchr(".:(\"", part[-1]))
		part--;
	return part > name && (part[-1] == '.' || part[-1] == ':') &&
	       pattern_match(a, part, end);
}
