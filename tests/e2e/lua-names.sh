#!/bin/bash
# What functions are called, in each Lua: global, local, field, method,
# metamethod, main chunk, loaded, stripped and nameless ones, library functions;
# one reached under two names is one. Their calls are counted.
# SPDX-License-Identifier: MIT
. tests/lib.sh
# The line of names.lua on which that text stands first.
line() { grep -nF -m 1 -- "$1" tests/prog/lua/names.lua | cut -d: -f1; }

for v in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	index=__index add=__add stripped='main chunk <gone>'
	case $v in
	lua5.1) # says no names of metamethods
		index=function add=function ;;
	lua5.3) stripped='main chunk <?>' ;;
	lua5.4) index=index add=add stripped='main chunk <?>' ;;
	luajit) stripped= ;; # its source is its code
	esac
	record --lua-init -- $v tests/prog/lua/names.lua ||
		fail "$v: weft record fails"
	[ "$(cat "$T/out")" = 297 ] || fail "$v says $(cat "$T/out")"
	report
	nothing_lost
	# NAME TEXT CALLS: as defined on the line where TEXT stands.
	while IFS='|' read -r name text calls; do
		[ -z "$text" ] || name="$name <names.lua:$(line "$text")>"
		[ "$(calls "$name")" = "$calls" ] ||
			fail "$v: $name: $(calls "$name") calls, not $calls"
	done <<-END
	main chunk <names.lua>||1
	global_one|function global_one|10
	local_one|local function local_one|15
	field_one|function t.field_one|10
	method_one|function t:method_one|10
	$index|__index =|5
	$add|__add =|5
	object|__call =|5
	function|return 9|4
	main chunk <text>||1
	inner <text:2>||4
	setmetatable||1
	math.floor||1
	string.rep||1
	END
	n=$(awk -F, -v name="$stripped" '$1 == name || name == "" &&
		/x1bLJ/ { n += $6 } END { print n }' "$T/report.csv")
	[ "$n" = 4 ] || fail "$v: the stripped chunk: $n calls, not 4"
	grep -q '^again' "$T/report.csv" && fail "$v: an alias is a function"
done
exit 0
