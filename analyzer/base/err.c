/* err.c - the chain of causes behind a failure. There is one for the process,
 * innermost cause first. Makes untrusted bytes printable; knows no exit status.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/text.h"

#include <stdarg.h>

enum { CAUSES = 16, CAUSE_BYTES = 512 };

/* count <= CAUSES. Further causes are dropped: the first ones say the most. */
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

/* Characters that could move the cursor, reorder the line or break the
 * terminal, and bytes that are not UTF-8, are shown as \xNN. */
static void print_visible(FILE *to, const char *text)
{
	while (*text) {
		uint32_t code;
		const size_t size = text_utf8(text, &code);

		if (code == TEXT_NO_CODE || text_is_hostile(code))
			for (size_t i = 0; i < size; i++)
				fprintf(to, "\\x%02x", (unsigned char)text[i]);
		else
			fwrite(text, 1, size, to);
		text += size;
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
