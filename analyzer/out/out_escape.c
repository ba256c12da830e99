/* out_escape.c - untrusted text made safe for terminal, CSV, gnuplot, troff.
 * Names in a trace are whatever the recorded program liked.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_escape.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* A byte becomes at most 4: "\x1b". */
enum { GROWTH = 4 };

char *out_escape_terminal(const char *text)
{
	char *const result = mem_alloc(strlen(text) * GROWTH + 1);
	char *to = result;
	uint32_t code;

	while (*text != '\0') {
		const size_t size = text_utf8(text, &code);

		if (code == TEXT_NO_CODE ||
		    (code < 0x80 && text_is_hostile(code))) {
			to += sprintf(to, "\\x%02x",
				      (unsigned char)*text);
		} else if (text_is_hostile(code)) {
			to += sprintf(to, code > 0xffff ? "\\U%06x" : "\\u%04x",
				      code);
		} else {
			memcpy(to, text, size);
			to += size;
		}
		text += size;
	}
	*to = '\0';
	return result;
}

void out_print(FILE *to, const char *format, ...)
{
	const size_t first = strspn(format, "\n");
	size_t last = 0, size;
	char *text, *safe;
	va_list args;

	while (last < strlen(format) - first &&
	       format[strlen(format) - last - 1] == '\n')
		last++;
	va_start(args, format);
	size = (size_t)vasprintf(&text, format, args);
	va_end(args);
	text[size - last] = '\0';
	safe = out_escape_terminal(text + first);
	fprintf(to, "%.*s%s%s", (int)first, format, safe,
		format + strlen(format) - last);
	mem_free(safe);
	free(text);
}

/* A new string: before, the text with each byte `doubled` twice, after. Safe in
 * UTF-8: no byte of a longer character is ASCII. */
static char *twice(const char *text, char doubled, const char *before,
		   const char *after)
{
	char *const result = mem_alloc(strlen(text) * 2 + strlen(before) +
				       strlen(after) + 1);
	char *to = stpcpy(result, before);

	for (; *text != '\0'; text++) {
		if (*text == doubled)
			*to++ = doubled;
		*to++ = *text;
	}
	strcpy(to, after);
	return result;
}

char *out_escape_csv(const char *text)
{
	const bool is_formula = text[0] != '\0' &&
			       (strchr("=+-@", text[0]) ||
				(unsigned char)text[0] < 0x20);
	char *const plain = out_escape_terminal(text);
	char *result = plain;

	if (is_formula || strpbrk(plain, ",\"")) {
		result = twice(plain, '"', is_formula ? "\"'" : "\"", "\"");
		mem_free(plain);
	}
	return result;
}

char *out_escape_gnuplot(const char *text)
{
	char *const plain = out_escape_terminal(text);
	char *const result = mem_alloc(strlen(plain) * 3 + 1);
	char *to = result;

	for (const char *at = plain; *at != '\0'; at++)
		if (*at == '\'')
			to = stpcpy(to, "\u2019");
		else
			*to++ = *at;
	mem_free(plain);
	return result;
}

char *out_escape_roff(const char *text)
{
	char *const result = mem_alloc(strlen(text) * 2 + 3);
	char *to = result;

	if (*text == '.' || *text == '\'')
		to = stpcpy(to, "\\&");
	for (; *text != '\0'; text++) {
		if (*text == '\\' || *text == '-')
			*to++ = '\\';
		*to++ = *text;
		if (*text == '\\')
			to[-1] = 'e';
	}
	*to = '\0';
	return result;
}

/* Characters that the C library does not know count as one column. */
static size_t columns(uint32_t code)
{
	const int width = wcwidth((wchar_t)code);

	return width < 0 ? 1 : (size_t)width;
}

size_t out_escape_width(const char *text)
{
	size_t width = 0;
	uint32_t code;

	while (*text != '\0') {
		text += text_utf8(text, &code);
		width += columns(code);
	}
	return width;
}

/* Length in bytes of the longest start of text that takes at most width
 * columns. */
static size_t prefix(const char *text, size_t width)
{
	size_t bytes = 0;
	uint32_t code;

	while (text[bytes] != '\0') {
		const size_t size =
			text_utf8(text + bytes, &code);
		const size_t taken = columns(code);

		if (taken > width)
			break;
		width -= taken;
		bytes += size;
	}
	return bytes;
}

/* A name is not cut to fewer columns than this to keep its tail: below it, the
 * whole text is cut at its end. */
enum { NAME_LEAST = 4 };

char *out_escape_cut(char *text, size_t width, bool keep_end)
{
	const size_t dots = width < 3 ? width : 3;
	const char *end = text;
	size_t rest = out_escape_width(text);
	uint32_t code;
	char *result;

	if (rest <= width)
		return text;
	result = mem_alloc(strlen(text) + dots + 1);
	if (keep_end) {
		while (rest > width - dots) {
			end += text_utf8(end, &code);
			rest -= columns(code);
		}
		sprintf(result, "%.*s%s", (int)dots, "...", end);
	} else {
		sprintf(result, "%.*s%.*s", (int)prefix(text, width - dots),
			text, (int)dots, "...");
	}
	mem_free(text);
	return result;
}

const char *out_escape_tail(const char *text)
{
	const size_t length = strlen(text);
	const char open = length == 0 ? '\0' : text[length - 1] == '>' ? '<' :
			  text[length - 1] == ')' ? '(' : '\0';

	for (size_t i = length, inner = 0; open != '\0' && i-- > 1; ) {
		inner += text[i] == text[length - 1];
		inner -= text[i] == open;
		if (text[i] == open && text[i - 1] == ' ' &&
		    (open == '<' || inner == 0))
			return text + i - 1;
		/* What "f<void (int)>(x)" ends with is no tail. */
		if (open == '(' && inner == 0)
			break;
	}
	return NULL;
}

char *out_escape_cut_name(char *text, size_t width)
{
	const char *const tail = out_escape_tail(text);
	const size_t kept = !tail ? 0 : out_escape_width(tail);
	const size_t indent = strspn(text, " ");
	char *result;

	if (kept == 0 || out_escape_width(text) <= width ||
	    width < kept + 3 + indent + NAME_LEAST)
		return out_escape_cut(text, width, false);
	result = mem_alloc(strlen(text) + 4);
	sprintf(result, "%.*s...%s", (int)prefix(text, width - kept - 3),
		text, tail);
	mem_free(text);
	return result;
}

char *out_escape_shell(const char *text)
{
	char *const word = mem_alloc(4 * strlen(text) + 3);
	size_t n = 0;

	if (text[0] != '\0' && text[0] != '-' &&
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
			"UVWXYZ0123456789_./:,+=@-")] == '\0')
		return memcpy(word, text, strlen(text) + 1);
	word[n++] = '\'';
	for (; *text != '\0'; text++)
		if (*text == '\'')
			n += (size_t)sprintf(word + n, "'\\''");
		else
			word[n++] = *text;
	word[n++] = '\'';
	word[n] = '\0';
	return word;
}
