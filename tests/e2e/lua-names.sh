#!/bin/bash
# What functions are called, in each Lua: as the source defines them (global,
# local, field, method, metamethod, of a table, argument, returned), whoever
# called them first and however; main chunk, loaded, stripped and nameless ones,
# library functions, those that these return, those of types and of package; one reached under two names
# is one. Their calls are counted.
# Without the source, the code that makes a function names it so, too, or else
# the name is the one by which most calls are made, not the first; where no
# caller names it, its place among the globals and modules. A stripped chunk has
# names of globals and their fields.
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
	t:method_one|function t:method_one|10
	mt.__index|__index =|5
	mt.__add|__add =|5
	mt.__call|__call =|5
	M.work|function M.work|3
	fib|local function fib|15
	shelf.helper|local shelf|6
	register|function register|1
	register("book")|register("book"|3
	make|local function make|1
	return of make#2|local function make|6
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
	for f in fib work helper M.work 'register("book")'; do
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
cat >"$T/stripped.lua" <<-'END'
	local load = loadstring or load
	local code = string.dump(load([[
	local function hidden() return 1 end
	function shown(f) return f() end
	shelf = { book = function() return 2 end, { page = hidden } }
	function shelf.close() return 3 end
	local x = shown
	return hidden]], "=kept"), true)
	local hidden = load(code)()
	for i = 1, 20 do
		for _, f in ipairs({ hidden, shelf.book, shelf.close }) do
			pcall(pcall, f)
		end
		shown(os.clock)
	end
END
for v in $LUAS; do
	record --lua-init -- $v "$T/stripped.lua" ||
		fail "$v: weft record fails"
	report
	for f in shown shelf.book shelf.close; do
		grep -q "^\"*$f <.*,20," "$T/report.csv" ||
			fail "$v: $f: $(cat "$T/report.csv")"
	done
done
exit 0
