#!/bin/bash
# The first hour: a Lua that cannot be seen, since it is linked statically, is
# told of, with the way in that fits: an interpreter's, a program's, stripped or
# not, also of a program that another one started. What is seen is left alone.
# time: 900
# SPDX-License-Identifier: MIT
. tests/lib.sh

# says WHAT STATUS PATTERN [OPTIONS --] PROGRAM...
says() {
	local what=$1 status=$2 pattern=$3
	shift 3
	record "$@"
	local got=$?
	[ $got = "$status" ] || fail "$what: status $got, not $status"
	grep -qE "$pattern" "$T/err" || fail "$what: no word of $pattern"
}
silent() {
	grep -E "$2" "$T/err" && fail "$1: says what is not so"
	return 0
}
interpreter='which has a Lua of its own linked in.*--lua-init'
for lua in $LUAS; do
	says $lua 3 "$lua.*, $interpreter" $lua -e 'os.exit(3)'
	silent $lua 'finstrument'
	record --lua-init -- $lua -e 'os.exit(3)'
	[ $? = 3 ] || fail "$lua: status"
	silent "$lua, seen" 'record:'
done
says -E 3 'lua5.4", which .*require "weft"' --lua-init -- \
	lua5.4 -E -e 'os.exit(3)'
# By a shell, by a script's first line, once each.
says child 0 "lua5.3\", $interpreter" sh -c 'lua5.3 -v; lua5.3 -v; exit 0'
[ "$(grep -c "$interpreter" "$T/err")" = 1 ] || fail "child: said twice"
# Found among the arguments afterwards.
says env 3 'lua5.3" was not recorded' --lua-init -- \
	env -i "$(command -v lua5.3)" -e 'os.exit(3)'
printf '#!/usr/bin/env lua5.4\nos.exit(4)\n' >"$T/script"
chmod +x "$T/script"
says script 4 "lua5.4\", $interpreter" "$T/script"
record --lua-init -- "$T/script"
[ $? = 4 ] || fail "script: status"
silent "script, seen" 'record:'

cat >"$T/own.c" <<'C'
#include <lauxlib.h>
#include <lualib.h>
#ifdef READY
#include "tracer/host/weft.h"
#endif
int main(int argc, char **argv)
{
	lua_State *L = argc > 1 ? NULL : luaL_newstate();

	(void)argv;
	if (L == NULL)
		return 5;
#ifdef READY
	weft_lua_attach(L);
#endif
	luaL_openlibs(L);
	return luaL_dostring(L, "local function f() end f() f()") ? 1 : 5;
}
C
way='Lua of its own linked in.*weft-lua-static.*weft_lua_attach'
for lua in $LUAS; do
	name=lib${lua/luajit/luajit-5.1}.a
	archive=$(find /usr/lib -name "$name" | head -n 1)
	[ -n "$archive" ] || fail "no $name"
	# shellcheck disable=SC2046
	gcc -o "$T/own" $(pkg-config --cflags $lua) "$T/own.c" "$archive" \
		-lm -ldl || fail "$lua: it does not link"
	says "own $lua" 5 "$way" "$T/own"
	strip "$T/own"
	says "stripped $lua" 5 "$way" "$T/own"
	says "child $lua" 5 "$way" sh -c '"$0"; exit $?' "$T/own"
	# shellcheck disable=SC2046
	gcc -o "$T/shared" $(pkg-config --cflags --libs $lua) "$T/own.c" \
		$(pkg-config --libs $lua) || fail "$lua: it does not link"
	says "shared $lua" 5 '1 Lua state,' --no-native -- "$T/shared"
	silent "shared $lua" 'record:'
	says "no state, $lua" 5 'no Lua state was seen' "$T/shared" none
done
gcc -static -o "$T/static" $(pkg-config --cflags lua5.4) "$T/own.c" \
	"$(find /usr/lib -name liblua5.4.a | head -n 1)" -lm -ldl 2>"$T/cc" ||
	fail "it does not link: $(cat "$T/cc")"
says static 5 'linked statically.*link it dynamically$' "$T/static"
gcc -DREADY -I. -o "$T/ready" $(pkg-config --cflags lua5.4) "$T/own.c" \
	-L"$B/lib" -lweft "$(find /usr/lib -name liblua5.4.a | head -n 1)" \
	-Wl,-rpath,"$B/lib" -lm -ldl || fail "it does not link"
says ready 5 '1 Lua state,' --no-native -- "$T/ready"
silent ready 'record:'
says "ready, no state" 5 'no Lua state was seen' "$T/ready" none
exit 0
