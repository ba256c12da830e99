/* err.c - the chain of causes behind a failure: one a process, innermost
 * first. Knows how to make untrusted bytes printable; knows no exit status.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"

#include <stdarg.h>
#include <stddef.h>

enum { CAUSES = 16, CAUSE_BYTES = 512 };

/* 0 <= count; causes beyond CAUSES are counted, not kept: what went wrong first
 * says most. */
static struct {
	char text[CAUSES][CAUSE_BYTES];
	size_t count;
} chain;

int err_add(const char *format, ...)
{
	va_list args;

	if (chain.count < CAUSES) {
		va_start(args, format);
		vsnprintf(chain.text[chain.count], CAUSE_BYTES, format, args);
		va_end(args);
		chain.count++;
	}
	return -1;
}

/* Control bytes and anything above ASCII that is no well-formed UTF-8 could
 * move the cursor or break the terminal: they are shown as \xNN. */
static size_t utf8_length(const unsigned char *s)
{
	const size_t n = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
			 s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* C1 controls, overlong forms, surrogates, beyond U+10FFFF. */
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

static void print_visible(FILE *to, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = *s >= ' ' && *s < 0x7f ? 1 : utf8_length(s);

		if (n == 0) {
			fprintf(to, "\\x%02x", *s++);
			continue;
		}
		while (n--)
			fputc(*s++, to);
	}
}

void err_print(FILE *to, const char *command)
{
	if (chain.count == 0)
		return;
	fputs("weft: ", to);
	print_visible(to, command);
	for (size_t i = chain.count; i-- > 0; ) {
		fputs(": ", to);
		print_visible(to, chain.text[i]);
	}
	fputc('\n', to);
	err_clear();
}

void err_clear(void)
{
	chain.count = 0;
}
