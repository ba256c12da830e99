/* out_json.h - untrusted text in JSON.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/func.h"

#include <stdio.h>

/* Write a text as a JSON string with its quotes: as out_escape_terminal has it,
 * so it is UTF-8 on one line, and safe in a page, because < is \u003c. */
void out_json_text(FILE *, const char *text);
/* The same of a function's name for viewers that add up by name: " [lua]" or
 * " [mark]" behind those that are not native. */
void out_json_name(FILE *, const struct func *);
/* Write texts as a JSON list of strings. */
void out_json_texts(FILE *, const char **text, size_t count);
