#!/bin/bash
# A leak is named first, by its stack in Lua: in a Lua table, in C under Lua, in a
# coroutine that is never resumed. All that stock Luas have is what they count
# themselves, but for what LuaJIT's interpreter had before weft; and LuaJIT gives
# back what it has when a state is closed, as without weft.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/keep.c" <<'END'
#include <lauxlib.h>
#include <stdlib.h>
static int keep(lua_State *L)
{
	*(volatile char *)malloc((size_t)luaL_checkinteger(L, 1)) = 1;
	return 0;
}
int luaopen_keep(lua_State *L)
{
	lua_register(L, "keep", keep);
	return 0;
}
END
cat >"$T/leak.lua" <<'END'
package.cpath = arg[1]
require "keep"
local where, cache, all = arg[2], {}, {}
local function remember(i) cache[#cache + 1] = { i, ("x"):rep(100 + i) } end
local function lose(i) keep(100 + i) end
local function sleeper(i)
	local mine = ("y"):rep(100 + i)
	coroutine.yield()
	return mine
end
local function start(i)
	local co = coroutine.create(sleeper)
	coroutine.resume(co, i)
	all[#all + 1] = co
end
local function work(i)
	local t = {}
	for k = 1, 20 do t[k] = ("z"):rep(k * 10 + i % 7) end
	return #table.concat(t)
end
local leaks = { table = remember, c = lose, coroutine = start }
for i = 1, 2000 do
	work(i)
	leaks[where](i)
end
collectgarbage() collectgarbage()
print(math.floor(collectgarbage("count") * 1024))
io.stdout:flush()
os.exit(0, false)
END
# leak LUA WHERE FUNCTION: it has more than half, and is named first.
leak() {
	record --heap=exact --lua-init -- "$1" "$T/leak.lua" "$T/?.so" "$2" ||
		fail "$1: weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$1: something was lost"
	"$WEFT" heap --csv "$T/trace" >"$T/heap" 2>"$T/report.err" ||
		fail "$1: weft heap"
	grep -E 'unseen' "$T/report.err" && fail "$1: frees are not seen"
	sed -n 2p "$T/heap" | grep -q "$3" ||
		fail "$1: $2: not first: $(head -n 4 "$T/heap")"
	awk -F, -v f="$3" 'NR > 1 { all += $1 } index($0, f) { its += $1 }
		END { exit !(its > all / 2) }' "$T/heap" ||
		fail "$1: $2: $3 has less than half"
}
for lua in $LUAS; do
	pkg-config --exists "$lua" || continue
	gcc -O1 -shared -fPIC $(pkg-config --cflags "$lua") -o "$T/keep.so" \
		"$T/keep.c" || fail "no module for $lua"
	leak "$lua" c lose
	leak "$lua" table remember
	# 5.5.1 counts 1 % of what such strings take.
	[ "$lua" = lua5.5 ] ||
		awk -F, -v own="$(tail -n 1 "$T/out")" 'NR > 1 { all += $1 }
		END { exit !(all >= own - 60000 && all < 1.01 * own + 100000) }' \
		"$T/heap" || fail "$lua: has $(tail -n 1 "$T/out")"
	leak "$lua" coroutine start
done
pkg-config --exists luajit || exit 0
cat >"$T/states.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
static const char work[] =
	"local p = newproxy(true)\n"
	"getmetatable(p).__gc = function()\n"
	"  local t = {}\n"
	"  for i = 1, 100 do t[i] = { i } end\n"
	"end\n"
	"local function deep(n) return n > 0 and 1 + deep(n - 1) or 0 end\n"
	"deep(3000)\n"
	"kept = coroutine.create(function() coroutine.yield({}) end)\n"
	"coroutine.resume(kept)\n";
int main(void)
{
	struct rusage u;
	long first = 0;

	for (int i = 0; i < 300; i++) {
		lua_State *const L = luaL_newstate();

		luaL_openlibs(L);
		if (luaL_dostring(L, work))
			return 1;
		lua_close(L);
		getrusage(RUSAGE_SELF, &u);
		first = i == 50 ? u.ru_maxrss : first;
	}
	/* Each would leave 128 KiB or more. */
	return u.ru_maxrss - first > 8000;
}
END
# shellcheck disable=SC2046
gcc -O1 -o "$T/states" "$T/states.c" $(pkg-config --cflags --libs luajit) ||
	fail "no program for luajit"
for options in --heap=exact "--heap=4k --lua sampled" --heap; do
	# shellcheck disable=SC2086
	record $options -- "$T/states" || fail "$options: states leave memory"
	"$WEFT" heap --csv "$T/trace" >"$T/heap" 2>"$T/report.err" ||
		fail "$options: weft heap"
	awk -F, 'NR > 1 { all += $1; taken += $5 }
		END { exit !(all < 20000 && taken > 300 * 50000) }' "$T/heap" ||
		fail "$options: in use: $(cut -c1-200 "$T/heap" | head -n 4)"
done
# Of compiled Lua, explain says the function that runs it, and how to know more;
# never what makes garbage.
cat >"$T/feed.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#define N __attribute__((noinline))
static const char text[] =
	"local events = {}\n"
	"function remember(i)\n"
	"  events[#events + 1] = { who = i, what = 'packet ' .. i }\n"
	"end\n"
	"function waste(i)\n"
	"  local t = {}\n"
	"  for k = 1, 9 do t[k] = 'garbage ' .. i * k end\n"
	"end\n";
N static void feed(lua_State *L, int i)
{
	lua_getglobal(L, "remember");
	lua_pushinteger(L, i);
	lua_call(L, 1, 0);
}
N static void spend(lua_State *L, int i)
{
	lua_getglobal(L, "waste");
	lua_pushinteger(L, i);
	lua_call(L, 1, 0);
}
int main(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_dostring(L, text))
		return 1;
	for (int i = 0; i < 30000; i++) {
		feed(L, i);
		spend(L, i);
	}
	return 0;
}
END
# shellcheck disable=SC2046
gcc -O1 -finstrument-functions -o "$T/feed" "$T/feed.c" \
	$(pkg-config --cflags --libs luajit) || fail "no program for luajit"
keeper() {
	record --heap=exact --lua "$1" -- "$T/feed" || fail "weft record fails"
	"$WEFT" explain "$T/trace" >"$T/said" 2>&1 || fail "weft explain"
	grep -qE "Memory in use grows: .*$2" "$T/said"
}
one_of 4 keeper exact '[.] remember <.* took .* of what stays in use[.]$'
one_of 4 keeper sampled '[.] (remember <.* took|feed took .*--lua exact names)'
"$WEFT" heap "$T/trace" 2>&1 | grep -q 'Lua was sampled: what its .*--lua exact' ||
	fail "it is not said that Lua functions lack memory"
exit 0
