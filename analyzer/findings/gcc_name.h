/* gcc_name.h - what gcc calls a function when it reads its option
 * -finstrument-functions-exclude-function-list: the name with its scopes,
 * without parameters. It is told from the demangled name, as far as both are
 * the same. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A text for the list, in `to`, of size bytes: gcc is sure to find it in this
 * function's name. Of letters, digits and "_:~" only, so that no shell and no
 * gcc (which splits the list at commas) takes it for something else. False:
 * there is none, or it is longer. */
bool gcc_name_text(const char *name, char *to, size_t size);

/* Texts that are looked for in many names: a name takes about as long for
 * many texts as for one. */
struct gcc_texts;

/* The texts are borrowed. The caller frees it with gcc_texts_free. */
struct gcc_texts *gcc_texts_new(const char *const *texts, size_t count);
void gcc_texts_free(struct gcc_texts *); /* NULL is allowed */

/* gcc finds the text in the name or, if it is not sure, may find it: it is in a
 * part that gcc spells in its own way, such as a template's values. */
struct gcc_hit {
	size_t text;
	bool is_sure;
};

/* The texts that gcc finds in the name, each once, in no order; borrowed, valid
 * until the next call. */
const struct gcc_hit *gcc_texts_find(struct gcc_texts *, const char *name,
				     size_t *count);
