#!/bin/bash
# Several versions of Lua in one process, each in a plugin of its own that nobody
# else sees into, all at once or loaded and unloaded again: every one runs as if
# it were alone, preloaded, and recorded, and its calls are exact.
# SPDX-License-Identifier: MIT
. tests/lib.sh
set --
names=
for v in $LUAS; do
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
		name="f <${1//_/ }:2>"
		[ "$(calls "$name")" = $((2 * (value / 1000))) ] ||
			fail "$name: $(calls "$name") calls, $value"
		shift
	done <"$T/out"
}
n=$#
recorded $n "$@"
recorded $n -k "$@"

# A LuaJIT with references of 32 bits, TeX's: it makes no states with another's
# allocator, and says so to the program's users. It is read by the API. Newer
# ones have references of 64 bits and are like any other.
narrow() {
	local lib iterator
	(
		cd "$T" && apt-get -o APT::Sandbox::User=root -qq download \
			libtexluajit2 && dpkg-deb -x libtexluajit2_*.deb tex
	) >"$T/apt" 2>&1 || return
	lib=$(echo "$T"/tex/usr/lib/*/libtexluajit.so.2)
	gcc -O1 -shared -fPIC $(pkg-config --cflags luajit) \
		tests/prog/lua/plugin.c -o "$T/narrow.so" "$lib" ||
		fail "the plugin of a narrow LuaJIT is not built"
	export LD_LIBRARY_PATH=${lib%/*}
	"$T/hosts" "$T/narrow.so" >"$T/alone" || fail "it fails by itself"
	record "$T/hosts" "$T/narrow.so" || fail "weft record fails"
	cmp "$T/alone" "$T/out" || fail "it says something else"
	! grep 'Must use' "$T/err" || fail "it speaks of what weft did"
	report
	nothing_lost
	iterator='return of ipairs'
	if grep -q 'Must use luaL_newstate' "$lib"; then
		"$WEFT" info "$T/trace" | grep -q 'read by the API' ||
			fail "it is not read by the API"
		# The API does not show whose result a function is.
		iterator='for iterator'
	fi
	read -r _ value <"$T/out"
	[ "$(calls 'f <LuaJIT:2>')" = $((2 * (value / 1000))) ] ||
		fail "narrow: $(calls 'f <LuaJIT:2>') calls, $value"
	[ "$(calls "$iterator")" = $((2 * $(calls ipairs))) ] &&
		[ "$(calls ipairs)" -gt 0 ] || fail "narrow: no $iterator"
}
! pkg-config --exists luajit || narrow
[ -d "$T/tex" ] || echo "note: no narrow LuaJIT from apt-get download"
