#!/bin/bash
# A row that stands for more than one thing says so: functions of one source name
# beyond those that are told apart, and Lua states of which is not known which
# one ran. The calls are those that the program makes. With fewer, there is no
# such word.
# SPDX-License-Identifier: MIT
. tests/lib.sh
command -v lua5.4 >/dev/null || { echo "Lua is not installed"; exit 77; }
cat >"$T/loads.lua" <<'LUA'
local f = {}
for i = 1, tonumber(arg[1]) do
	f[i] = load("local function f" .. i .. "(x) return x + " .. i ..
		" end return f" .. i, "=gen")()
end
for k = 1, 3 do for i = 1, #f do f[i](k) end end
LUA
cat >"$T/states.c" <<'C'
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	lua_State *states[4];
	const int n = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < n; i++) {
		states[i] = luaL_newstate();
		luaL_dostring(states[i], "function f() return 1 end");
	}
	for (int i = 0; n > 0 && i < 120; i++) {
		lua_getglobal(states[i % n], "f");
		lua_call(states[i % n], 0, 0);
	}
	for (int i = 0; i < n; i++)
		lua_close(states[i]);
	return 0;
}
C
gcc -O1 $(pkg-config --cflags lua5.4) -o "$T/states" "$T/states.c" \
	$(pkg-config --libs lua5.4) || fail "the program is not built"
# of_gen: rows and calls of the functions f.
of_gen() {
	awk -F, '$1 ~ /^f[0-9]* <gen:1/ { n++; calls += $6 }
		END { print n, calls }' "$T/report.csv"
}
said='may each stand for several|may stand for several'

record --lua-init -- lua5.4 "$T/loads.lua" 400 || fail "weft record fails"
report
[ "$(of_gen)" = "400 1200" ] || fail "400: $(of_gen)"
grep -qE "$said" "$T/report.err" && fail "said of 400 functions"
record --lua-init -- lua5.4 "$T/loads.lua" 3000 || fail "weft record fails"
report
rows=$(of_gen)
[ "${rows#* }" = 9000 ] || fail "3000: $rows"
[ "${rows% *}" -lt 3000 ] || fail "all are told apart: what is this test for?"
grep -qE "note: .* <gen.* $said" "$T/report.err" || fail "not said of 3000"

record -- "$T/states" 1 || fail "weft record fails"
report --by vm
grep -q 'several Lua states' "$T/report.err" && fail "said of one state"
record -- "$T/states" 3 || fail "weft record fails"
report --by vm
grep -q '^\[Lua state not known\],123,' "$T/report.csv" ||
	fail "other calls: $(cat "$T/report.csv")"
grep -q 'note: \[Lua state not known\] may hold several Lua states' \
	"$T/report.err" || fail "not said of three states"
