#!/bin/bash
# Several versions of Lua in one process, each in a plugin of its own that nobody
# else sees into, all at once or loaded and unloaded again: every one runs as if
# it were alone, preloaded, and recorded, and its calls are exact.
# SPDX-License-Identifier: MIT
. tests/lib.sh
set --
names=
for v in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	pkg-config --exists $v || continue
	gcc -O1 -shared -fPIC $(pkg-config --cflags $v) \
		tests/prog/lua/plugin.c -o "$T/$v.so" $(pkg-config --libs $v) ||
		fail "the plugin of $v is not built"
	set -- "$@" "$T/$v.so"
	case $v in
	luajit) names="$names LuaJIT" ;;
	*) names="$names Lua_${v#lua}" ;;
	esac
done
[ $# -gt 0 ] || { echo "no Lua library for programs"; exit 77; }
gcc -O1 tests/prog/lua/hosts.c -o "$T/hosts" -ldl ||
	fail "the host is not built"
"$T/hosts" "$@" >"$T/alone" || fail "the host fails by itself"
LD_PRELOAD=$B/lib/libweft.so "$T/hosts" "$@" >"$T/preloaded" ||
	fail "the host fails when weft is there and does not record"
cmp "$T/alone" "$T/preloaded" || fail "the host says something else"
# Twice three Lua states, a hundred and one coroutines each; a function that
# counts its calls itself, in thousands, and gives the sum of three runs.
recorded() {
	local n=$1 name value
	shift
	record "$T/hosts" "$@" || fail "weft record fails"
	cmp "$T/alone" "$T/out" || fail "the recorded host says something else"
	report
	nothing_lost
	grep -q "$((6 * n)) Lua states, $((606 * n)) coroutines" "$T/err" ||
		fail "$(cat "$T/err")"
	"$WEFT" info "$T/trace" >"$T/info" || fail "weft info fails"
	[ "$(grep -c 'frames read by a checked peek' "$T/info")" = \
		"$(grep -c 'frames read by' "$T/info")" ] ||
		fail "not every layout is known: $(cat "$T/info")"
	set -- $names
	while read -r _ value; do
		[ $# -gt 0 ] || break
		name="function <${1//_/ }:2>"
		[ "$(calls "$name")" = $((2 * (value / 1000))) ] ||
			fail "$name: $(calls "$name") calls, $value"
		shift
	done <"$T/out"
}
n=$#
recorded $n "$@"
recorded $n -k "$@"
