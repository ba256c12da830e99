#!/bin/bash
# Several versions of Lua in one process, each in a plugin of its own that nobody
# else sees into, loaded and unloaded again: every one runs as if it were alone,
# preloaded, and recorded. Those that are not known are left alone.
# SPDX-License-Identifier: MIT
. tests/lib.sh
set --
for v in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	pkg-config --exists $v || continue
	gcc -O1 -shared -fPIC $(pkg-config --cflags $v) \
		tests/prog/lua/plugin.c -o "$T/$v.so" $(pkg-config --libs $v) ||
		fail "the plugin of $v is not built"
	set -- "$@" "$T/$v.so"
done
[ $# -gt 0 ] || { echo "no Lua library for programs"; exit 77; }
gcc -O1 tests/prog/lua/hosts.c -o "$T/hosts" -ldl ||
	fail "the host is not built"
"$T/hosts" "$@" >"$T/alone" || fail "the host fails by itself"
LD_PRELOAD=$B/lib/libweft.so "$T/hosts" "$@" >"$T/preloaded" ||
	fail "the host fails when weft is there and does not record"
cmp "$T/alone" "$T/preloaded" || fail "the host says something else"
record "$T/hosts" "$@" || fail "weft record fails"
cmp "$T/alone" "$T/out" || fail "the recorded host says something else"
report
nothing_lost
# Twice three Lua states, a hundred and one coroutines each.
n=0
for v in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	[ ! -f "$T/$v.so" ] || n=$((n + 1))
done
grep -q "$((6 * n)) Lua states, $((606 * n)) coroutines" "$T/err" ||
	fail "$(cat "$T/err")"
