/* out_escape.h - untrusted text made safe for the place where it goes. Every
 * result is a new string that the caller frees with mem_free.
 *
 * This folder writes tables, CSV, plots and files of other tools. It may use
 * analyzer/base and model; it knows nothing of commands.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* For one line of a terminal. Control characters (C0, DEL, C1),
 * characters that turn the direction of writing or break the line,
 * noncharacters, and bytes that are not UTF-8 become visible ("\x1b",
 * "\u202e"). All other UTF-8 stays. */
char *out_escape_terminal(const char *text);

/* Print as fprintf does, but safe for a terminal: any argument may be untrusted
 * text. Of line ends, those that the format begins or ends with stay. */
__attribute__((format(printf, 2, 3)))
void out_print(FILE *, const char *format, ...);

/* A CSV field (RFC 4180) on one line: as for a terminal, in quotes if it has a
 * comma or a quote. Text that a spreadsheet would take for a formula, because
 * it starts with = + - @ or a control character, gets a ' in front, inside
 * quotes. */
char *out_escape_csv(const char *text);

/* Text between single quotes in a gnuplot script, where backticks, backslashes
 * and $ have no meaning: as for a terminal, with a typographic apostrophe for
 * '. Doubled, as gnuplot's manual has it, it ends the text at the text's start
 * and where two follow each other. */
char *out_escape_gnuplot(const char *text);

/* Text for the body of a troff page: backslashes and leading dots and quotes
 * lose their meaning, and - stays a plain minus. Control characters stay: this
 * is for texts of weft itself. */
char *out_escape_roff(const char *text);

/* One word of a shell's command line. */
char *out_escape_shell(const char *text);

/* How many columns of a terminal an escaped text takes, by wcwidth: wide
 * characters take two, combining ones none. Needs a UTF-8 locale, which main
 * sets. */
size_t out_escape_width(const char *text);

/* Cut an escaped text to at most width columns, with "..." at its end, or at
 * its start if keep_end is set. Takes the text over, and returns it if it fits;
 * otherwise a new string. Either is the caller's to free. */
char *out_escape_cut(char *text, size_t width, bool keep_end);

/* The part of a name that tells functions of one name apart: from the last " <"
 * or " (" on, if the text ends with its closing bracket; NULL if there is
 * none. Borrowed. */
const char *out_escape_tail(const char *text);

/* Cut a function's name in the same way. Its tail is kept if there is room for
 * it: " <app.lua:12>" or " (3 levels)". */
char *out_escape_cut_name(char *text, size_t width);
