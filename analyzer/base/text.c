/* text.c - hash, base name and UTF-8 of untrusted text, and files of it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/text.h"

#include "analyzer/base/vec.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a: short texts, and no one gains by making them collide. */
static const uint64_t fnv_prime = UINT64_C(0x100000001b3);

uint64_t text_hash_bytes(uint64_t seed, const void *bytes, size_t n)
{
	const unsigned char *const p = bytes;

	for (size_t i = 0; i < n; i++)
		seed = (seed ^ p[i]) * fnv_prime;
	return seed;
}

uint64_t text_hash(uint64_t seed, const char *text)
{
	return text_hash_bytes(seed, text, strlen(text) + 1);
}

uint64_t text_hash_function(const char *name, size_t n)
{
	const char *const clone = memmem(name, n, " [clone", 7);
	const char *const dot = memchr(name, '(', n) ? NULL :
				memchr(name, '.', n);
	const char *const end = clone ? clone : dot && dot > name ? dot :
				name + n;

	return text_hash_bytes(0, name, (size_t)(end - name));
}

bool text_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

const char *text_base_name(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void text_addf(char *to, size_t room, const char *format, ...)
{
	const size_t used = strlen(to);
	va_list args;

	va_start(args, format);
	vsnprintf(to + used, room - used, format, args);
	va_end(args);
}

void text_hex(const uint8_t *bytes, size_t count, char *to)
{
	*to = '\0';
	for (size_t i = 0; i < count; i++)
		to += sprintf(to, "%02x", bytes[i]);
}

size_t text_utf8(const char *text, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char first = (unsigned char)text[0];
	const size_t size = first < 0x80 ? 1 : (first & 0xe0) == 0xc0 ? 2 :
			    (first & 0xf0) == 0xe0 ? 3 :
			    (first & 0xf8) == 0xf0 ? 4 : 0;
	uint32_t value = size <= 1 ? first : first & (0x7fu >> size);

	assert(first != '\0');
	*code = TEXT_NO_CODE;
	if (size == 0)
		return 1;
	for (size_t i = 1; i < size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 1;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[size] || value > 0x10ffff ||
	    (value >= 0xd800 && value <= 0xdfff))
		return 1;
	*code = value;
	return size;
}

/* The ranges are control characters, the soft hyphen, marks of
 * direction, characters of no width, separators of lines, noncharacters and
 * tags. */
bool text_is_hostile(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) ||
	       code == 0xad || code == 0x61c || code == 0x180e ||
	       (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfdd0 && code <= 0xfdef) ||
	       (code >= 0xfff9 && code <= 0xfffb) ||
	       (code >= 0xe0000 && code <= 0xe0fff) ||
	       (code & 0xfffe) == 0xfffe;
}

size_t text_operator(const char *at)
{
	static const char word[] = "operator";
	static const char *const signs[] = {
		"()", "[]", "<=>", "->*", "<<=", ">>=", "->", "<<", ">>", "<=",
		">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=",
		"/=", "%=", "^=", "&=", "|=", "+", "-", "*", "/", "%", "^",
		"&", "|", "~", "!", "=", "<", ">", ","
	};
	const size_t size = sizeof(word) - 1;

	if (strncmp(at, word, size) != 0 || at[size] == '_' ||
	    isalnum((unsigned char)at[size]))
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strncmp(at + size, signs[i], strlen(signs[i])) == 0)
			return size + strlen(signs[i]);
	return size;
}

size_t text_operator_in(const char *name, const char *at)
{
	return at > name && (at[-1] == '_' || isalnum((unsigned char)at[-1])) ?
	       0 : text_operator(at);
}

const char *text_past_bracket(const char *at)
{
	enum { DEEPEST = 256 };
	static const char opening[] = "(<[{", closing[] = ")>]}";
	const char *const name = at;
	char open[DEEPEST];
	size_t depth = 0;

	do {
		const size_t skipped = text_operator_in(name, at);
		const char *const closes = strchr(closing, *at);

		if (*at == '\0')
			return NULL;
		if (skipped > 0) {
			at += skipped;
			continue;
		}
		if (strchr(opening, *at)) {
			if (depth == DEEPEST)
				return NULL;
			open[depth++] = *at;
		} else if (closes && *at != '>') {
			while (depth > 1 && open[depth - 1] == '<')
				depth--;
			depth--;
		} else if (closes && open[depth - 1] == '<' && at[-1] != '-') {
			depth--;
		}
		at++;
	} while (depth > 0);
	return at;
}

size_t text_name_size(const char *names)
{
	const char *at = names;

	while (at && *at && !text_begins(at, ", ")) {
		const size_t skipped = text_operator_in(names, at);

		at = skipped > 0 ? at + skipped :
		     strchr("(<[{", *at) ? text_past_bracket(at) : at + 1;
	}
	return at ? (size_t)(at - names) : strlen(names);
}

const char *text_name_next(const char *names)
{
	const size_t size = text_name_size(names);

	return names[size] && !text_begins(names + size, ", and ") ?
	       names + size + 2 : NULL;
}

bool text_name_is_in(const char *names, const char *name)
{
	const size_t size = strlen(name);

	for (; names; names = text_name_next(names))
		if (text_name_size(names) == size &&
		    memcmp(names, name, size) == 0)
			return true;
	return false;
}

/* ---- files -------------------------------------------------------------- */

enum { LARGEST = 64 << 20, TAB = 8 };

/* O_NONBLOCK is there because a pipe is opened before it is known to be one,
 * and that would wait. */
int text_file_open(const char *path, struct stat *status)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || (fstat(fd, status) == 0 && S_ISREG(status->st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

bool text_file_begins(const char *path, const void *bytes, size_t n)
{
	char first[8];
	struct stat status;
	const int fd = text_file_open(path, &status);
	const bool begins = fd >= 0 && read(fd, first, n) == (ssize_t)n &&
			    memcmp(first, bytes, n) == 0;

	if (fd >= 0)
		close(fd);
	return begins;
}

/* A copy without its line end, and with spaces for tabs; a NUL ends it. */
static char *copy(const char *line, size_t length)
{
	char *const to = mem_alloc(length * TAB + 1);
	size_t n = 0;

	for (size_t i = 0; i < length && line[i] != '\0'; i++) {
		if (line[i] == '\n' || (line[i] == '\r' &&
					i + 2 >= length))
			break;
		if (line[i] != '\t')
			to[n++] = line[i];
		else
			do
				to[n++] = ' ';
			while (n % TAB != 0);
	}
	return mem_grow(to, n + 1, 1);
}

int text_file_read(struct text_file *t, const char *path)
{
	struct stat status;
	const int fd = text_file_open(path, &status);
	FILE *file;
	char *line = NULL;
	size_t room = 0, lines = 0;
	ssize_t length;

	*t = (struct text_file){ .lines = NULL };
	if (fd < 0)
		return -1;
	file = status.st_size <= LARGEST ? fdopen(fd, "r") : NULL;
	if (!file) {
		close(fd);
		return -1;
	}
	t->changed = status.st_mtime;
	while ((length = getline(&line, &room, file)) >= 0)
		*vec_add(&t->lines, &lines, &t->count) = copy(line,
							(size_t)length);
	free(line);
	fclose(file);
	return 0;
}

void text_file_fini(struct text_file *t)
{
	for (size_t i = 0; i < t->count; i++)
		mem_free(t->lines[i]);
	mem_free(t->lines);
}
