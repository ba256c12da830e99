/* message.c - formats the lines on stderr. Does not know what they are about.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024, TROUBLES_MAX_BYTES = 1024 };

static bool is_quiet;
static bool is_rewritten;          /* the last line may be overwritten */
static char troubles[TROUBLES_MAX_BYTES];

#define CLEAR_LINE "\r\033[K"

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

void message_file_name(char *out, size_t room, const char *path)
{
	const char *const slash = strrchr(path, '/');
	const char *from = slash ? slash + 1 : path;
	size_t n = 0;

	for (; *from && n < room - 1; from++, n++)
		out[n] = strchr(" \t\n:;'\"\\$`*?", *from) ||
			 (unsigned char)*from < ' ' ? '_' : *from;
	if (n == 0 || out[0] == '.')
		out[0] = '_';
	out[n + (n == 0)] = '\0';
}

static void keep_trouble(const char *text)
{
	const size_t used = strlen(troubles);

	snprintf(troubles + used, sizeof(troubles) - used, "%s%.200s",
		 used > 0 ? "; " : "", text);
}

void message_put(enum message_kind kind, const char *format, ...)
{
	char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 32];
	va_list args;

	if (kind == MESSAGE_SUMMARY && is_quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message_clean(text);
	if (kind == MESSAGE_TROUBLE)
		keep_trouble(text);
	const int n = snprintf(line, sizeof(line), "%sweft: %s%s\n",
			       is_rewritten ? CLEAR_LINE : "",
			       kind == MESSAGE_SUMMARY ? "" : "record: ", text);

	is_rewritten = false;
	/* One write for the line: lines of several processes do not mix. */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void message_rewrite(const char *format, ...)
{
	char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 32];
	struct winsize size = { .ws_col = 0 };
	va_list args;

	if (is_quiet || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message_clean(text);
	/* A terminal of no known width is that of a program. */
	const int room = size.ws_col > 8 ? size.ws_col - 7 : 73;
	const int n = snprintf(line, sizeof(line), CLEAR_LINE "weft: %.*s",
			       room, text);

	is_rewritten = true;
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

const char *message_troubles(void)
{
	return troubles;
}
