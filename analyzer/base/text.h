/* text.h - what several parts need to know about text: its hash, the base name
 * of a path, and UTF-8; and files of it. Texts may be untrusted bytes.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hash of n bytes. seed is any number, or the hash of what comes before. */
uint64_t text_hash_bytes(uint64_t seed, const void *bytes, size_t n);

/* The hash of a text with its NUL: two texts hashed in a row, the second with
 * the first one's hash as seed, do not run into one another. */
uint64_t text_hash(uint64_t seed, const char *text);

/* The hash of a native function's name of n bytes: what the compiler made of
 * one function in pieces, "work.part.0" or "work(int) [clone .cold]", is called
 * as the function is. */
uint64_t text_hash_function(const char *name, size_t n);

bool text_begins(const char *text, const char *with);

/* What follows the last '/' of path; all of it if nothing follows. Points into
 * path. */
const char *text_base_name(const char *path);

/* Append to the text in `to`, as printf does. What does not fit is cut off. */
__attribute__((format(printf, 3, 4)))
void text_addf(char *to, size_t room, const char *format, ...);

/* Bytes as hexadecimal digits; to has 2 * count + 1 bytes. */
void text_hex(const uint8_t *bytes, size_t count, char *to);

/* What *code is set to for a byte that does not belong to well-formed UTF-8. */
#define TEXT_NO_CODE UINT32_MAX

/* Length of the UTF-8 sequence at text, 1 to 4 bytes, and its code point in
 * *code. Where there is none (overlong, a surrogate, cut off, beyond U+10FFFF),
 * returns 1 and sets *code to TEXT_NO_CODE. text must not be empty. */
size_t text_utf8(const char *text, uint32_t *code);

/* Could this character move the cursor, reorder the line, hide text, or make
 * XML invalid? */
bool text_is_hostile(uint32_t code);

/* The length of C++'s "operator", with its sign if one follows, where the text
 * begins with it; else 0. */
size_t text_operator(const char *);
/* The same at a place in a name; 0 if it is the end of another word. */
size_t text_operator_in(const char *name, const char *at);
/* Past the bracket that begins here, with all that is in it; NULL if it does
 * not end. "a->b", "(3>2)" and "A::operator<" close and open none. */
const char *text_past_bracket(const char *at);

/* Native functions at one address have one name: "f(int, int), g, and 2 more".
 * The size of the first name in it; what follows that, or NULL; and whether
 * this name is in it. */
size_t text_name_size(const char *names);
const char *text_name_next(const char *names);
bool text_name_is_in(const char *names, const char *name);

/* ---- files -------------------------------------------------------------- */

struct stat;

/* Open a plain file to read it: its descriptor, or -1 with errno. Waits for no
 * pipe and takes no terminal, whatever the path is of. */
int text_file_open(const char *path, struct stat *status);
/* Is it a plain file that begins with these n bytes, 8 at most? */
bool text_file_begins(const char *path, const void *bytes, size_t n);

/* A file of text, line by line. Its path comes from a trace, so it may be any
 * file. Owns its lines, which have no line end; tabs are spaces up to the next
 * column of eight. All else is untrusted. */
struct text_file {
	char **lines;            /* line 1 is element 0 */
	size_t count;
	int64_t changed;         /* when it was written: seconds since 1970 */
};

/* Read a plain file of at most 64 MiB. 0, or -1 if there is none that can be
 * read; then it is empty. text_file_fini frees what it holds in either case. */
int text_file_read(struct text_file *, const char *path);
void text_file_fini(struct text_file *);
