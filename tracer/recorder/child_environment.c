/* child_environment.c - the environment of the recorded program.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/child_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A Lua string of any bytes. */
static void quote(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == '"' || c == '\\' || c == 127)
			fprintf(to, "\\%03d", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

/* As the interpreter itself would: a file's name after @, or a text. */
static void put_before(FILE *to, const char *before, const char *variable)
{
	if (before[0] == '@') {
		fputs("return dofile(", to);
		quote(to, before + 1);
		fputs(")", to);
	} else {
		fputs("local f, e = (loadstring or load)(", to);
		quote(to, before);
		fprintf(to, ", \"=%s\") if not f then error(e, 0) end "
			"return f()", variable);
	}
}

char *surround_lua_init(const char *modules, const char *variable,
			const char *before)
{
	char *text = NULL;
	size_t size;
	FILE *const to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	/* Not by require: the program's paths stay as they are. */
	fputs("do local p = package local f = p and p.loadlib and p.loadlib(",
	      to);
	quote(to, modules);
	fputs(" .. \"/\" .. _VERSION:match(\"%d+%.%d+\") .. \"/weft.so\", "
	      "\"luaopen_weft\") if f then p.loaded.weft = f(\"weft\") "
	      "end end ", to);
	if (before && *before)
		put_before(to, before, variable);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* A variable with a version goes before the one without. */
static void set_lua_init(const char *modules)
{
	static const char *const names[] = {
		"LUA_INIT_5_2", "LUA_INIT_5_3", "LUA_INIT_5_4", "LUA_INIT_5_5",
		"LUA_INIT",
	};
	const size_t count = sizeof(names) / sizeof(names[0]);

	for (size_t i = 0; i < count; i++) {
		const char *const before = getenv(names[i]);
		char *text;

		if (!before && i < count - 1)
			continue;
		text = surround_lua_init(modules, names[i], before);
		if (text)
			setenv(names[i], text, 1);
		free(text);
	}
}

/* It ends a program that has another library before it. */
static void let_asan_be_second(void)
{
	const char *const before = getenv("ASAN_OPTIONS");
	char *text;

	if (before && strstr(before, "verify_asan_link_order"))
		return;
	if (asprintf(&text, "%s%sverify_asan_link_order=0",
		     before ? before : "", before && *before ? ":" : "") < 0)
		return;
	setenv("ASAN_OPTIONS", text, 1);
	free(text);
}

void surround_set(const struct surround *s)
{
	if (s->trace)
		setenv("WEFT_TRACE", s->trace, 1);
	if (s->preload)
		setenv("LD_PRELOAD", s->preload, 1);
	if (s->preload && s->is_asan)
		let_asan_be_second();
	if (s->modules)
		set_lua_init(s->modules);
}
