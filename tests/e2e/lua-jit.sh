#!/bin/bash
# Stock luajit: recorded with its compiler off, which is back when recording
# pauses; calls through the FFI are those of the C functions they are.
# SPDX-License-Identifier: MIT
. tests/lib.sh
script=tests/prog/lua/jit.lua
LUA_CPATH=";;" luajit $script >"$T/alone" || fail "the script fails by itself"
record --lua-init -- luajit $script || fail "weft record fails"
diff <(grep -v '^\*' "$T/alone") <(grep -v '^\*' "$T/out") ||
	fail "the script says something else when recorded"
[ "$(grep '^\*' "$T/out" | cut -f 2,4- | awk '{ print $1, $NF }' | uniq -c |
	tr -s ' ')" = " 2 false false" ] ||
	fail "the compiler is on while it is recorded: $(cat "$T/out")"
report
nothing_lost
is() { # NAME CALLS
	local n
	# libc has several names for some functions: "a, b" becomes a|b.
	n=$(sed ':a; s/^\("[^",]*\), /\1|/; ta; s/"//g' "$T/report.csv" |
		awk -F, -v name="$1" '$1 ~ name { n += $6 }
			END { print n + 0 }')
	[ "$n" = "$2" ] || fail "$1: $n calls, not $2"
}
is '^abs$' 10
is '(^|[|])labs($|[|])' 10
is '^toupper$' 7
is '^qsort' 1
is '^ffi call$' 5
is '^__index.get <' 5
is '^math.floor$' 4
is '^string.byte$' 4
is '^tail <' 27
is '^var <jit.lua:31>' 6
is '^ffi.cdef$' 1
# Functions of Lua's own libraries are native, whatever LuaJIT makes of them.
report
for f in math.floor string.byte; do
	grep -q "^$f,native," "$T/report.csv" ||
		fail "$f: $(grep "^$f," "$T/report.csv")"
done
"$WEFT" info "$T/trace" 2>&1 | grep -q \
	'LuaJIT of pid [0-9]*, frames read by a checked peek, its JIT was off' ||
	fail "$("$WEFT" info "$T/trace")"
# Where LuaJIT does not tell of the return, the total and so the mean are bounds.
"$WEFT" report --columns total,mean --top 0 "$T/trace" | awk '
	/^ *~?[0-9.]+ [num]?s / { n[gsub("~", "")]++ }
	END { print n[0], n[1] + 0, n[2]; exit !(n[0] && n[2] && !n[1]) }' \
	>"$T/bounds" || fail "rows without ~, with one, with two: $(cat "$T/bounds")"

# LuaJIT's own functions that are written in Lua have no lines.
cat >"$T/own.lua" <<'LUA'
local t, s = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, "xyz"
for i = 1, 9 do table.remove(t) end
for i = 1, 7 do local n = s:len() end
LUA
record --lua-init -- luajit "$T/own.lua" || fail "weft record fails"
report
is '^remove$' 9
is '^len$' 7
