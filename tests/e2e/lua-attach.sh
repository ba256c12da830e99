#!/bin/bash
# A host with Lua linked in statically names its Lua state: its calls, callers
# and coroutines are exact, although no resume and no protected call is seen.
# SPDX-License-Identifier: MIT
. tests/lib.sh
lua=$(pkg-config --variable=libdir lua5.4)/liblua5.4.a
[ -f "$lua" ] || lua=/usr/lib/$(gcc -print-multiarch)/liblua5.4.a
[ -f "$lua" ] || { echo "no static library of Lua 5.4"; exit 77; }
gcc -O1 -g -finstrument-functions -I. $(pkg-config --cflags lua5.4) \
	tests/prog/lua/attach.c -o "$T/attach" -L"$B/lib" -lweft "$lua" -lm \
	-ldl || fail "the host is not built"
export LD_LIBRARY_PATH=$B/lib

# Not recorded: nothing happens, and it says so.
"$T/attach" 30 >"$T/plain" || fail "the host fails by itself"
printf 'attach 1\nfailed 10\nagain 1\ndetach 1\n' | cmp - "$T/plain" ||
	fail "the host says something else"

record "$T/attach" 30 || fail "weft record fails"
printf 'attach 0\nfailed 10\nagain 0\ndetach 0\n' | cmp - "$T/out" ||
	fail "the recorded host says something else"
report
nothing_lost
is() {
	[ "$(calls "$1")" = "$2" ] || fail "$1: $(calls "$1") calls, not $2"
}
is handle 31
is l_work 62
is settle 93
is "leaf <script:2>" 120
is "tail <script:4>" 120
is "body <script:3>" 30 # by the code around it
is "handle <script:5>" 30 # called by the host alone: a global

# After an error that a protected call of the host's caught, the host goes on.
"$WEFT" dump "$T/trace" >"$T/dump" 2>/dev/null || fail "weft dump fails"
n=$(grep -c 'native_enter .*depth=2 function="settle"' "$T/dump")
[ "$n" = 31 ] || fail "settle is called by handle $n times, not 31"
"$WEFT" coroutines --csv "$T/trace" >"$T/coroutines" 2>/dev/null ||
	fail "weft coroutines fails"
awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ n++; r += $at["resumes"]; s[$at["state"]]++ }
	END { exit n == 30 && r == 60 && s["error"] == 6 &&
		s["returned"] == 24 ? 0 : 1 }' "$T/coroutines" ||
	fail "coroutines: $(cat "$T/coroutines")"

# A script puts weft's hook away, in each Lua; one that only looks at hooks does
# not. What is missing is told.
cat >"$T/hooks.c" <<'END'
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <weft.h>

int main(int argc, char **argv)
{
	lua_State *const L = luaL_newstate();

	(void)argc;
	weft_lua_attach(L);
	luaL_openlibs(L);
	return luaL_dostring(L, argv[1]);
}
END
for v in 5.1 5.2 5.3 5.4 jit; do
	name=liblua$v.a
	[ $v != jit ] || name=libluajit-5.1.a
	lua=$(find /usr/lib -name $name | head -n 1)
	[ -n "$lua" ] || fail "no $name"
	# shellcheck disable=SC2046
	gcc -O1 -Itracer/host $(pkg-config --cflags "lua$v") "$T/hooks.c" \
		-o "$T/hooks" -L"$B/lib" -lweft "$lua" -lm -ldl ||
		fail "$v: hooks.c is not built"
	record "$T/hooks" 'debug.gethook()' || fail "$v: weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$v: gethook: lost?"
	record "$T/hooks" 'debug.sethook() debug.gethook()' ||
		fail "$v: weft record fails"
	grep -q "^weft: lost: not known (a script's debug.sethook put" \
		"$T/err" || fail "$v: calls are missing, and nobody says so"
	report
	! grep -qx '# nothing was lost' "$T/report.err" ||
		fail "$v: nothing is said to be lost"
done
