/* filter_match.c - patterns: simple enough that a hostile name costs no time.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/filter_match.h"
#include "analyzer/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One alternative, [p, end), against [t, last). A "*" that fails takes one
 * character more; older ones need not be tried again. */
static int match_part(const char *t, const char *last, const char *p,
		      const char *end)
{
	const char *star = NULL, *retry = NULL;

	while (t < last) {
		if (p < end && *p == '*') {
			star = ++p;
			retry = t;
		} else if (p < end && (*p == '?' || *p == *t)) {
			p++;
			t++;
		} else if (star) {
			p = star;
			t = ++retry;
		} else {
			return 0;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

/* The next alternative; NULL after the last. */
static const char *next_part(const char **pattern)
{
	const char *const end = strchr(*pattern, '|');
	const char *const stop = end ? end : *pattern + strlen(*pattern);

	*pattern = end ? end + 1 : NULL;
	return stop;
}

int select_match_text(const char *text, const char *pattern)
{
	while (pattern) {
		const char *const p = pattern;
		const char *const end = next_part(&pattern);

		if (match_part(text, text + strlen(text), p, end))
			return 1;
	}
	return 0;
}

static int match_path(const char *path, const char *p, const char *end)
{
	const char *const last = path + strlen(path);
	const char *const slash = strrchr(path, '/');

	return match_part(path, last, p, end) ||
	       (slash && match_part(slash + 1, last, p, end));
}

/* Parentheses that are no list of parameters. */
static size_t skip(const char *at)
{
	static const char *const words[] = { "(anonymous namespace)",
					     "operator()" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return 0;
}

/* "f(int)" is called f, "handler <app.lua:12>" handler. */
static const char *base_end(const char *name)
{
	const char *at = name;

	while (*at != '\0') {
		const size_t more = skip(at);

		if (at > name && more == 0 &&
		    (*at == '(' || strncmp(at, " <", 2) == 0))
			break;
		at += more != 0 ? more : 1;
	}
	return at;
}

static int match_name(const char *name, const char *p, const char *end)
{
	return match_part(name, name + strlen(name), p, end) ||
	       match_part(name, base_end(name), p, end);
}

static int begins(const char *p, const char *end, const char *key)
{
	const size_t n = strlen(key);

	return (size_t)(end - p) >= n && !memcmp(p, key, n);
}

static int match_func(struct session *s, const struct func *f, const char *p,
		      const char *end)
{
	if (begins(p, end, "module="))
		return f->kind == FUNC_NATIVE &&
		       match_path(func_elf(s->funcs, f->module)->path, p + 7,
				  end);
	if (begins(p, end, "file="))
		return match_path(f->file, p + 5, end);
	if (begins(p, end, "language=")) {
		const char *const l = func_language(f);

		return match_part(l, l + strlen(l), p + 9, end);
	}
	return match_name(f->name, p, end);
}

int select_match_func(struct session *s, func_id id, const char *pattern)
{
	const struct func *const f = func_get(s->funcs, id);

	while (pattern) {
		const char *const p = pattern;
		const char *const end = next_part(&pattern);

		if (match_func(s, f, p, end))
			return 1;
	}
	return 0;
}

uint8_t *select_match_all(struct session *s, const char *pattern)
{
	const size_t count = func_count(s->funcs);
	uint8_t *all;

	if (!pattern)
		return NULL;
	all = mem_alloc(count + 1);
	for (func_id f = 1; f <= count; f++)
		all[f] = (uint8_t)select_match_func(s, f, pattern);
	return all;
}

int select_match_thread(const struct session *s, uint32_t thread,
			const char *pattern)
{
	char tid[16];

	if (thread >= s->thread_count)
		return 0;
	snprintf(tid, sizeof(tid), "%" PRIu32, s->threads[thread].tid);
	return select_match_text(tid, pattern) ||
	       select_match_text(s->threads[thread].name, pattern);
}

uint8_t *select_match_threads(const struct session *s, const char *pattern)
{
	uint8_t *const threads = mem_alloc(s->thread_count + 1);
	int found = 0;

	for (uint32_t i = 0; i < s->thread_count; i++) {
		threads[i] = (uint8_t)select_match_thread(s, i, pattern);
		found |= threads[i];
	}
	if (found)
		return threads;
	mem_free(threads);
	return NULL;
}
