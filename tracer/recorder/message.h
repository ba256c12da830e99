/* message.h - what the recorder prints: whole lines on stderr. Bytes that could
 * control a terminal are replaced.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_MESSAGE_H
#define WEFT_TRACER_RECORDER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Print "weft: record: ..." and a newline. */
__attribute__((format(printf, 1, 2)))
void message(const char *format, ...);

/* The same, and keep the text for the trace's end notes. */
__attribute__((format(printf, 1, 2)))
void message_trouble(const char *format, ...);

/* Print "weft: ..." and a newline: a line of the summary. Prints nothing after
 * message_quiet(true). */
__attribute__((format(printf, 1, 2)))
void message_summary(const char *format, ...);
void message_quiet(bool quiet);

/* All texts of message_trouble, separated by "; ". "" if there were none. */
const char *message_troubles(void);

/* Replace the bytes that a terminal could take for commands with '?'. */
void message_clean(char *text);

/* Write a size such as "1.2 GB" to out. Returns out. */
const char *message_bytes(char *out, size_t room, double bytes);

#endif
