#!/bin/bash
# What functions are called, in each Lua: as the source defines them (global,
# local, field, method, metamethod, of a table, argument, returned), whoever
# called them first and however; main chunk, loaded, stripped and nameless ones,
# library functions, those that these return, those of types and of package; one reached under two names
# is one. Their calls are counted.
# Without the source, the code around a function names it, with the last two
# parts of such a name, or else the name is the one by which most calls are made,
# not the first; where no caller names it, its place among the globals and
# modules.
# SPDX-License-Identifier: MIT
. tests/lib.sh
# The line of names.lua on which that text stands first.
line() { grep -nF -m 1 -- "$1" tests/prog/lua/names.lua | cut -d: -f1; }

# names_are LUA [OPTION]
names_are() {
	v=$1
	stripped='main chunk <gone>' loaders=searchers
	case $v in lua5.1 | luajit) loaders=loaders ;; esac
	case $v in
	# Before 2023 the source of LuaJIT's is its code.
	lua5.[345] | luajit) stripped='main chunk <?>' ;;
	esac
	method=t:method_one argument='register("book")' made='return of make'
	[ -z "${2-}" ] ||
		method=t.method_one argument='register(...)' made=made
	record --lua-init ${2-} -- "$v" tests/prog/lua/names.lua ||
		fail "$v: weft record fails"
	[ "$(cat "$T/out")" = 416 ] || fail "$v says $(cat "$T/out")"
	report
	nothing_lost
	# NAME TEXT CALLS: as defined on the line where TEXT stands.
	while IFS='|' read -r name text calls; do
		which=${name##*#}
		[ "$which" != "$name" ] && name=${name%#*} which="#$which" ||
			which=
		[ -z "$text" ] ||
			name="$name <names.lua:$(line "$text")$which>"
		case $name in *\"*) name="\"${name//\"/\"\"}\"" ;; esac
		[ "$(calls "$name")" = "$calls" ] ||
			fail "$v: $name: $(calls "$name") calls, not $calls"
	done <<-END
	main chunk <names.lua>||1
	global_one|function global_one|10
	local_one|local function local_one|15
	t.field_one|function t.field_one|10
	$method|function t:method_one|10
	mt.__index|__index =|5
	mt.__add|__add =|5
	mt.__call|__call =|5
	M.work|function M.work|3
	fib|local function fib|15
	shelf.helper|local shelf|6
	register|function register|1
	$argument|register("book"|3
	make|local function make|1
	$made#2|local function make|6
	coroutine.wrap(...)|thread = coroutine|1
	function|return 9|4
	main chunk <text>||1
	inner <text:2>||4
	gamma <called:1>||6
	alpha <[string "local function alpha() return 1 end..."]:1>||3
	setmetatable||1
	return of coroutine.wrap||3
	return of string.gmatch||3
	return of ipairs||3
	for iterator||1
	for iterator <loop:1>||4
	math.floor||1
	string.rep||1
	FILE*.__tostring||1
	package.${loaders}[1]||2
	package.${loaders}[2]||2
	package.${loaders}[4]||2
	END
	# In LuaJIT it has no lines, and the name of its calls.
	n=$(awk -F, -v name="$stripped" '$1 == name || /x1bLJ/ ||
		$1 ~ /^(stripped_fn|function) <\?>$/ { n += $6 }
		END { print n }' "$T/report.csv")
	[ "$n" = 4 ] || fail "$v: the stripped chunk: $n calls, not 4"
	grep -q '^again' "$T/report.csv" && fail "$v: an alias is a function"
	for f in fib work helper M.work "$argument"; do
		"$WEFT" callers "$f" "$T/trace" >"$T/callers" 2>&1 ||
			fail "weft callers $f: $(cat "$T/callers")"
	done
}
for v in $LUAS; do
	names_are "$v"
	names_are "$v" --no-lua-names
done
for v in $LUAS; do
	record --lua-init -- $v tests/prog/lua/placed.lua ||
		fail "$v: weft record fails"
	[ "$(cat "$T/out")" = 200 ] || fail "$v says $(cat "$T/out")"
	report
	nothing_lost
	for f in 'my.library.work <library:2>' 'Tools.work <tools:2>' \
		'za <alias:1>' 'function <library:3>'; do
		[ "$(calls "$f")" = 50 ] ||
			fail "$v: $f: $(calls "$f") calls, not 50"
	done
done
exit 0
