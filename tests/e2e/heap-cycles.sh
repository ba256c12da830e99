#!/bin/bash
# The cycles of a Lua state's collector are seen, in all versions: each one that a
# finalizer in Lua sees, by state, with exact calls, sampled Lua or counted calls; by
# samples of blocks, no more. weft plot memory marks them, weft dump lists them.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/cycles.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>
static const char text[] =
	"local new = newproxy and function(f)\n"
	"	local p = newproxy(true)\n"
	"	getmetatable(p).__gc = f\n"
	"end or function(f) setmetatable({}, { __gc = f }) end\n"
	"cycles = 0\n"
	"local function again() cycles = cycles + 1 new(again) end\n"
	"new(again)\n"
	"kept = {}\n"
	"function work(n)\n"
	"	for i = 1, n do\n"
	"		local t = { i, tostring(i) .. 'x' }\n"
	"		if i % 40 == 0 then kept[#kept + 1] = t end\n"
	"	end\n"
	"end\n"
	"function all() collectgarbage() end\n"
	"function young() collectgarbage('generational') end\n";
static void call(lua_State *L, const char *name, int n)
{
	lua_getglobal(L, name);
	lua_pushinteger(L, n);
	lua_call(L, 1, 0);
}
static int seen(lua_State *L)
{
	int n;

	lua_getglobal(L, "cycles");
	n = (int)lua_tointeger(L, -1);
	lua_pop(L, 1);
	return n;
}
int main(int argc, char **argv)
{
	lua_State *const a = luaL_newstate(), *const b = luaL_newstate();

	lua_gc(a, LUA_GCSTOP, 0);
	lua_gc(b, LUA_GCSTOP, 0);
	luaL_openlibs(a);
	luaL_openlibs(b);
	if (luaL_dostring(a, text) || luaL_dostring(b, text))
		return 1;
	if (argc > 1 && strcmp(argv[1], "young") == 0)
		call(a, "young", 0);
	lua_gc(a, LUA_GCRESTART, 0);
	for (int i = 0; i < 60; i++) {
		call(a, "work", 2000);
		call(b, "work", 20);
	}
	for (int i = 0; i < 7; i++) {
		call(b, "all", 0);
		lua_gc(b, LUA_GCSTOP, 0);
		call(b, "work", 20);
	}
	printf("%d %d\n", seen(a), seen(b));
	fflush(stdout);
	lua_close(a);
	lua_close(b);
	return 0;
}
END
# cycles N: of state N.
cycles() {
	awk -F, -v s="state $1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cycles")
		at = i; next } index($0, s) { print $at }' "$T/heap"
}
# counted LEAST MOST OPTIONS...: as many as the program itself counts, by so many
# less or more: its finalizers see a cycle a little later.
counted() {
	local least=$1 most=$2 a b
	shift 2
	record "$@" || fail "$lua: $*: weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$lua: $*: something was lost"
	"$WEFT" heap --by vm --csv "$T/trace" >"$T/heap" 2>"$T/report.err" ||
		fail "$lua: weft heap --by vm"
	read -r a b <"$T/out"
	[ "$a" -ge 3 ] && [ "$b" -ge 6 ] || fail "$lua: only $a $b cycles"
	[ "$(cycles 1)" -ge $((a + least)) ] &&
		[ "$(cycles 1)" -le $((a + most)) ] &&
		[ "$(cycles 2)" -ge $((b + least)) ] &&
		[ "$(cycles 2)" -le $((b + most)) ] ||
		fail "$lua: $*: not $a $b: $(cat "$T/heap")"
}
# between: two readings, a state has cycles, but what it has in use is not known.
between() {
	local at
	at=$("$WEFT" dump "$T/trace" 2>/dev/null |
		awk '/ collected .* vm=/ { print $1; exit }')
	"$WEFT" heap --by vm --from "$at" --to $((at + 1000)) "$T/trace" \
		>"$T/heap" 2>&1 || fail "no range around a cycle: $(cat "$T/heap")"
	grep -qE '^ +-( +-)+ +1 +[^ ]* .*state 1$' "$T/heap" ||
		fail "not -: $(cat "$T/heap")"
}
for lua in $LUAS; do
	pkg-config --exists "$lua" || continue
	# shellcheck disable=SC2046
	gcc -O1 -o "$T/cycles" "$T/cycles.c" $(pkg-config --cflags --libs "$lua") ||
		fail "no program for $lua"
	counted -1 2 --heap=exact -- "$T/cycles"
	[ "$lua" != lua5.4 ] || between
	counted -1 2 --heap=exact --lua sampled -- "$T/cycles"
	counted -999 2 --heap=4k -- "$T/cycles"
	case $lua in lua5.[45]) counted -1 2 --heap=exact -- "$T/cycles" young ;; esac
	counted -1 2 --heap=exact --count-only -- "$T/cycles"
done
all=$(($(cycles 1) + $(cycles 2)))
"$WEFT" plot memory --keep "$T/kept" -o "$T/plot.svg" "$T/trace" 2>"$T/err" ||
	fail "no plot"
grep -q "a cycle of a Lua collector ends ($all seen)" "$T/kept" ||
	fail "not $all marks: $(grep title "$T/kept")"
[ "$("$WEFT" dump "$T/trace" 2>/dev/null | grep -c ' collected .* vm=')" = $all ] ||
	fail "weft dump has other cycles"
exit 0
