/* message.c - formats the lines on stderr. Does not know what they are about.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024, TROUBLES_MAX_BYTES = 1024 };

static bool is_quiet;
static char troubles[TROUBLES_MAX_BYTES];

void message_quiet(bool quiet)
{
	is_quiet = quiet;
}

void message_clean(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		/* The C1 control characters are c2 80 ... c2 9f in UTF-8. */
		if (*c < ' ' || *c == 0x7f ||
		    (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
			*c = '?';
	}
}

/* Format the text and print it. One write for the line, so that lines of
 * several processes do not mix. */
static void put(char text[LINE_MAX_BYTES], const char *prefix,
		const char *format, va_list args)
{
	char line[LINE_MAX_BYTES + 32];

	vsnprintf(text, LINE_MAX_BYTES, format, args);
	message_clean(text);
	const int n = snprintf(line, sizeof(line), "%s%s\n", prefix, text);

	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void message(const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	put(text, "weft: record: ", format, args);
	va_end(args);
}

void message_trouble(const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	const size_t used = strlen(troubles);
	va_list args;

	va_start(args, format);
	put(text, "weft: record: ", format, args);
	va_end(args);
	snprintf(troubles + used, sizeof(troubles) - used, "%s%.200s",
		 used > 0 ? "; " : "", text);
}

void message_summary(const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	if (is_quiet)
		return;
	va_start(args, format);
	put(text, "weft: ", format, args);
	va_end(args);
}

const char *message_troubles(void)
{
	return troubles;
}

const char *message_bytes(char *out, size_t room, double bytes)
{
	static const char *const unit[] = { "bytes", "KB", "MB", "GB", "TB" };
	size_t i = 0;

	for (; bytes >= 1000 && i + 1 < sizeof(unit) / sizeof(*unit); i++)
		bytes /= 1000;
	snprintf(out, room, i == 0 ? "%.0f %s" : "%.1f %s", bytes, unit[i]);
	return out;
}
