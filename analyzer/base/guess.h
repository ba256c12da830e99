/* guess.h - the name that was meant by one that nothing has.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Names are offered one by one; the best one is kept. One is like the wanted
 * name if it takes one change for each three characters at most (a character
 * more, less, another, or two that changed places; upper and lower case are the
 * same), or if it contains the wanted name. */
struct guess {
	const char *wanted;      /* borrowed */
	char best[120];          /* "": none so far; untrusted */
	size_t distance;         /* of best; beyond changes: contained only */
};

void guess_init(struct guess *, const char *wanted);
/* Offer a name. Only its first `length` bytes are compared, but the whole name
 * is told, if it is the best. */
void guess_offer(struct guess *, const char *name, size_t length);
/* '; did you mean "NAME"?'; or "; " and the other text, which is not empty, if
 * nothing is like the wanted one, or "" if that is NULL. Returns to. */
const char *guess_text(const struct guess *, const char *otherwise, char *to,
		       size_t size);
enum { GUESS_TEXT = 160 };
