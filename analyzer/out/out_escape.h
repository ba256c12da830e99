/* out_escape.h - untrusted text made safe for where it is going. Every result
 * is a new string that the caller frees with mem_free.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_ESCAPE_H
#define WEFT_ANALYZER_OUT_OUT_ESCAPE_H

#include <stddef.h>

/* For a terminal, one line: control characters (C0, DEL, C1), bidirectional
 * and line-breaking controls, noncharacters and bytes that are not UTF-8
 * become visible ("\x1b", "\u202e"). All other UTF-8 stays. */
char *out_escape_terminal(const char *text);

/* A CSV field (RFC 4180) that stays on its line: as for a terminal, quoted
 * where need be. Text that a spreadsheet would take for a formula (it starts
 * with = + - @ or a control character) gets a ' in front. */
char *out_escape_csv(const char *text);

/* Between single quotes in a gnuplot script, where backticks, backslashes and
 * $ mean nothing: as for a terminal, with ' doubled. */
char *out_escape_gnuplot(const char *text);

/* Troff text: backslashes and leading dots and quotes lose their meaning. */
char *out_escape_roff(const char *text);

/* Columns the text takes on a terminal; for escaped text. */
size_t out_escape_width(const char *text);

/* Cut escaped text to at most width columns, with "..." at its end, or at its
 * start if keep_end is set. Returns text itself if it fits. */
char *out_escape_cut(char *text, size_t width, int keep_end);
/* The same for a function's name: where there is room for it, what stands
 * behind the name itself stays, " <app.lua:12>" or " (3 levels)". */
char *out_escape_cut_name(char *text, size_t width);

#endif
