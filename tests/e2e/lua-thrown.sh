#!/bin/bash
# Errors in coroutines in which recording was turned on, and in handlers that
# resume other coroutines, in each Lua, as --lua-init and as calls of a shared
# library show them: each call stands on the function that has called it.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
script=tests/prog/lua/thrown.lua

# The script says "under LINE ON CALLS", weft's tree must say the same.
check() {
	"$WEFT" check "$T/trace" >"$T/checked" 2>&1 ||
		fail "$1: $(cat "$T/checked")"
	"$WEFT" tree --csv --recursion none "$T/trace" 2>"$T/report.err" \
		>"$T/tree.csv" || fail "$1: weft tree fails"
	grep -q '^# nothing was lost' "$T/report.err" ||
		fail "$1: something was lost"
	awk -F, '
		NR == FNR {
			split($0, w, " ")
			if (w[1] == "under")
				want[w[2] " " w[3]] = w[4]
			next
		}
		{
			name[$1] = $7 ~ /thrown.lua$/ ? $8 : $4
			sub(/^luaB_co/, "coroutine.", name[$1])
			on[$1] = $2
			got[name[$1] " " name[$2]] += $10
			got[name[$1] " " name[$2] "<" name[on[$2]]] += $10
		}
		END {
			for (k in want)
				if (got[k] + 0 != want[k]) {
					split(k, w, " ")
					print "line " w[1] " on " w[2] ": " \
						want[k] " calls, weft says " \
						got[k] + 0
					bad = 1
				}
			exit bad
		}' "$T/out" "$T/tree.csv" || fail "$1: a wrong caller"
}

for lua in $LUAS; do
	v=${lua#lua}
	export LUA_CPATH="$B/lib/lua/${v/jit/5.1}/?.so"
	has $lua $lua
	record --lua-init -- $lua $script || fail "$lua: weft record fails"
	check $lua
	pkg-config --exists $lua || continue
	gcc -O1 $(pkg-config --cflags $lua) tests/prog/lua/built.c \
		-o "$T/$lua" $(pkg-config --libs $lua) || fail "not built"
	record "$T/$lua" $script ||
		fail "$lua, shared: weft record fails"
	check "$lua, shared"
done
