/* sym_lua.c - what to call a Lua function: by chunk name, line and the name the
 * recorder heard. Knows Lua's rules for chunk names; reads no file.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_lua.h"
#include "analyzer/base/text.h"

#include <stdio.h>
#include <string.h>

/* Of a source that is program text, this much stands in the name. */
enum { TEXT_SHOWN = 40 };

/* "@file" names a file, "=name" is any name, the rest is the text itself, of
 * which the first line is shown. */
static const char *source_name(const char *source, struct arena *arena)
{
	char shown[TEXT_SHOWN + 32];
	const size_t line = strcspn(source, "\r\n");
	const size_t kept = line < TEXT_SHOWN ? line : TEXT_SHOWN;

	if (source[0] == '@' || source[0] == '=')
		return source[1] != '\0' ? source + 1 : "?";
	if (source[0] == '\0')
		return "?";
	const int length = snprintf(shown, sizeof(shown), "[string \"%.*s%s\"]",
				    (int)kept, source,
				    source[kept] != '\0' ? "..." : "");
	return arena_copy(arena, shown, (size_t)length);
}

/* The same file shown within a name: its last part is enough. */
static const char *short_name(const char *file)
{
	return file[0] == '[' ? file : text_base_name(file);
}

/* Lua says "?" where the key of a call is no constant. */
static int is_name(const char *hint)
{
	return hint[0] != '\0' && strcmp(hint, "?") != 0;
}

/* LuaJIT's own functions have no lines; "=[builtin:NAME]" is all there is. */
static int is_builtin(struct func *f, struct arena *arena)
{
	static const char begin[] = "=[builtin:";
	const size_t n = sizeof(begin) - 1;
	const char *const name = f->source + n, *end;

	if (f->line != UINT32_MAX || strncmp(f->source, begin, n) != 0)
		return 0;
	end = strchr(name, ']');
	if (!end || end == name || end[1] != '\0')
		return 0;
	f->name = arena_copy(arena, name, (size_t)(end - name));
	f->file = "[LuaJIT]";
	f->file_line = 0;
	return 1;
}

/* Which of the functions on its lines it is, counted from 1, where it is not
 * the first. */
static const char *which(const struct func *f, char to[16])
{
	to[0] = '\0';
	if (f->ordinal > 0)
		snprintf(to, 16, "#%u", f->ordinal + 1);
	return to;
}

void sym_lua_name(struct func *f, struct arena *arena)
{
	char text[1024], number[16];
	int length;

	f->file = source_name(f->source, arena);
	f->file_line = f->line;
	if (is_builtin(f, arena))
		return;
	if (f->line == 0)
		length = snprintf(text, sizeof(text), "main chunk <%s>",
				  short_name(f->file));
	else
		length = snprintf(text, sizeof(text), "%s <%s:%u%s>",
				  is_name(f->hint) ? f->hint : "function",
				  short_name(f->file), f->line,
				  which(f, number));
	if (length >= (int)sizeof(text))
		length = (int)sizeof(text) - 1;
	f->name = arena_copy(arena, text, (size_t)length);
}
