/* message.h - what the recorder tells the user: whole lines on stderr, with bytes
 * that could steer a terminal made harmless.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_MESSAGE_H
#define WEFT_TRACER_RECORDER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Lines of the summary kind are left out from now on. */
void say_quiet(bool quiet);

/* "weft: record: ..." and a newline. */
__attribute__((format(printf, 1, 2)))
void say(const char *format, ...);

/* The same, and remembered: the trace's end note tells of it too. */
__attribute__((format(printf, 1, 2)))
void say_trouble(const char *format, ...);

/* A line of the summary, left out when quiet. */
__attribute__((format(printf, 1, 2)))
void say_line(const char *format, ...);

/* All that say_trouble said, "; " between; "" if nothing. */
const char *say_troubles(void);

/* Replace bytes a terminal could take for commands by '?'. */
void say_clean(char *text);

/* "1.2 GB" into out. Gives out. */
const char *say_bytes(char *out, size_t room, double bytes);

#endif
