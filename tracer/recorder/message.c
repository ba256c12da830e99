/* message.c - lines on stderr. Knows nothing of what they are about.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024, TROUBLE_MAX_BYTES = 1024 };

static bool is_quiet;
static char troubles[TROUBLE_MAX_BYTES];

void say_quiet(bool quiet)
{
	is_quiet = quiet;
}

void say_clean(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		/* C1 as UTF-8: c2 80 ... c2 9f. */
		if (*c < ' ' || *c == 0x7f ||
		    (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
			*c = '?';
	}
}

/* One write a line: lines of several processes do not mix. */
static void put(const char *prefix, char *text)
{
	char line[LINE_MAX_BYTES + 32];

	say_clean(text);
	const int n = snprintf(line, sizeof(line), "%s%s\n", prefix, text);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void say(const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put("weft: record: ", text);
}

void say_trouble(const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	const size_t have = strlen(troubles);
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put("weft: record: ", text);
	snprintf(troubles + have, sizeof(troubles) - have, "%s%.200s",
		 have > 0 ? "; " : "", text);
}

void say_line(const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	if (is_quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put("weft: ", text);
}

const char *say_troubles(void)
{
	return troubles;
}

const char *say_bytes(char *out, size_t room, double bytes)
{
	static const char *const unit[] = { "bytes", "KB", "MB", "GB", "TB" };
	size_t i = 0;

	for (; bytes >= 1000 && i + 1 < sizeof(unit) / sizeof(*unit); i++)
		bytes /= 1000;
	snprintf(out, room, i == 0 ? "%.0f %s" : "%.1f %s", bytes, unit[i]);
	return out;
}
