/* message.h - what the recorder prints: whole lines on stderr. Bytes that could
 * control a terminal are replaced.
 *
 * The folder base/ has what every part of the recorder needs: messages, ELF
 * files, the clock's rate, the pool. It knows no process and no trace.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum message_kind {
	MESSAGE,                   /* "weft: record: ..." */
	MESSAGE_TROUBLE,           /* the same, and the end notes contain it */
	MESSAGE_SUMMARY,           /* "weft: ...", unless message_quiet(true) */
};

/* Print one line of the given kind. The text does not end with a newline. */
#define message(...) message_put(MESSAGE, __VA_ARGS__)
#define message_trouble(...) message_put(MESSAGE_TROUBLE, __VA_ARGS__)
#define message_summary(...) message_put(MESSAGE_SUMMARY, __VA_ARGS__)

/* Print a line, cut to 1 KiB and cleaned. Errors of the write are ignored. */
__attribute__((format(printf, 2, 3)))
void message_put(enum message_kind kind, const char *format, ...);
/* Whether to leave out the lines of MESSAGE_SUMMARY; false at the start. */
void message_quiet(bool quiet);

/* Print a line on the terminal in place of the last one of these; the next
 * message takes its place. Cut to the terminal's width. Nothing if stderr is no
 * terminal, or after message_quiet(true). */
__attribute__((format(printf, 1, 2)))
void message_rewrite(const char *format, ...);

/* All texts of message_trouble, separated by "; " and cut to 1 KiB. "" if there
 * were none. The text is valid until the next message_trouble. */
const char *message_troubles(void);

/* Replace the bytes that a terminal could take for commands with '?', in place:
 * control characters, also those that UTF-8 writes with two bytes. */
void message_clean(char *text);

/* Write what stands behind the last slash, cut to room, as a file may be
 * called: bytes that are awkward there, or in a shell, become '_'. */
void message_file_name(char *out, size_t room, const char *path);
