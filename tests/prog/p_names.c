/* p_names.c - calls Lua functions whose names, sources and labels want to take
 * over the terminal, the spreadsheet or the plot of whoever reads the report.
 * Prints how many Lua functions it called.
 * flags: -finstrument-functions -I/usr/include/lua5.4 -llua5.4
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

static const struct { const char *chunk, *name; } hostile[] = {
	{ "=\x1b]0;taken\x07", "\x1b[2J" },
	{ "@=HYPERLINK(\"http://x\")", "=cmd" },
	{ "=\xe2\x80\xaegnp.exe", "\xe2\x80\xae" },
	{ "@</script><script>", "<b>&amp;" },
	{ "='; system('touch /tmp/weft-pwned'); '", "`touch /tmp/weft-pwned`" },
	{ "@\xff\xfe\x80.lua", "\xc3" },
	{ "@a\nb\r\nlost: 3 chunks", "two\nlines" },
	{ "@%s%n%d", "%n%n%n" },
	{ "@,\"quoted\",", "a,\"b\"" },
	{ "@.so /etc/passwd", "\\fB$HOME" },
	{ "@", "" },
};

enum { COUNT = sizeof(hostile) / sizeof(hostile[0]), CALLS = 100 };

/* A function of that name is made and called by it, so that Lua tells it: the
 * name stands in the text, byte by byte. */
static void call(lua_State *L, const char *chunk, const char *name)
{
	char text[1000], quoted[300] = "";

	for (size_t i = 0; name[i] != '\0'; i++)
		sprintf(quoted + 4 * i, "\\%03d", (unsigned char)name[i]);
	snprintf(text, sizeof(text), "local t = {} "
		 "t['%s'] = function() local x = 0 "
		 "for i = 1, 2000 do x = x + i end return x end "
		 "for i = 1, 99 do t['%s']() end", quoted, quoted);
	if (luaL_loadbuffer(L, text, strlen(text), chunk) == LUA_OK)
		lua_call(L, 0, 0);
}

int main(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	for (int i = 0; i < COUNT; i++)
		call(L, hostile[i].chunk, hostile[i].name);
	printf("lua %d\n", COUNT * CALLS);
	lua_close(L);
	return 0;
}
