/* out_json.c - quotes text for JSON. Control characters and what is not UTF-8
 * are gone when it comes here, so that three characters are left to quote.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_json.h"

#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"

#include <string.h>

static void put_inside(FILE *to, const char *text)
{
	char *const safe = out_escape_terminal(text);
	const char *at = safe;

	for (;;) {
		const size_t plain = strcspn(at, "\"\\<");

		fwrite(at, 1, plain, to);
		at += plain;
		if (*at == '\0')
			break;
		if (*at == '<')
			fputs("\\u003c", to);
		else
			fprintf(to, "\\%c", *at);
		at++;
	}
	mem_free(safe);
}

void out_json_text(FILE *to, const char *text)
{
	fputc('"', to);
	put_inside(to, text);
	fputc('"', to);
}

void out_json_name(FILE *to, const struct func *f)
{
	fputc('"', to);
	put_inside(to, f->name);
	if (f->kind == FUNC_NAME || !strcmp(func_language(f), "lua"))
		fprintf(to, " [%s]", func_language(f));
	fputc('"', to);
}

void out_json_texts(FILE *to, const char **text, size_t count)
{
	fputc('[', to);
	for (size_t i = 0; i < count; i++) {
		fputs(i > 0 ? "," : "", to);
		out_json_text(to, text[i]);
	}
	fputc(']', to);
}
