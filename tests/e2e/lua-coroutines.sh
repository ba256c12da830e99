#!/bin/bash
# Coroutines of every fate, in each Lua, as --lua-init and as calls of a shared
# library show them: those at an address of a collected one, never run ones,
# errors that a wrapped function passes on, closed ones. How many there are of
# each state, how often the library was called for them, and what stands on what
# are as the script says.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
script=tests/prog/lua/coroutines.lua

# state: how many coroutines are in each, and in no other.
states() {
	"$WEFT" coroutines --csv "$T/trace" 2>"$T/report.err" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "state") at = i }
		NR > 1 { n[$at]++ }
		END { for (s in n) print s, n[s] }' | sort >"$T/states"
	awk '$1 == "state" { print $3, $2 }' "$T/out" | sort |
		diff - "$T/states" || fail "$1: coroutines of other states"
}

# The functions of Lua's libraries that are called for nothing else.
library() {
	awk -F, '
		NR == FNR {
			split($0, w, "\t")
			if (w[1] == "library")
				want[w[3]] = w[2]
			next
		}
		{ name = $1; sub(/^luaB_co/, "coroutine.", name) }
		name ~ /\+0x|wrap_aux|auxwrap/ { name = "wrapped" }
		name in want { got[name] += $6 }
		END {
			for (name in want)
				if (got[name] + 0 != want[name]) {
					print name ": " want[name] \
						" calls, weft says " got[name] + 0
					bad = 1
				}
			exit bad
		}' "$T/out" "$T/report.csv" ||
		fail "$1: other calls of the library"
}

# under LINE ON: all calls of the function there stand on that one.
under() {
	"$WEFT" tree --csv "$T/trace" 2>"$T/report.err" >"$T/tree.csv"
	awk -F, '
		NR == FNR {
			split($0, w, "\t")
			if (w[1] == "under")
				on[w[2]] = w[3]
			next
		}
		{
			name[$1] = $4
			if ($4 ~ /\+0x|wrap_aux|auxwrap/)
				name[$1] = "wrapped"
		}
		$7 ~ /coroutines.lua$/ && $8 in on {
			seen[$8] = 1
			if (name[$2] != on[$8]) {
				print $4 " stands on " name[$2]
				bad = 1
			}
		}
		END {
			for (line in on)
				bad = bad || !seen[line]
			exit bad
		}' "$T/out" "$T/tree.csv" || fail "$1: a wrong caller"
}

check() {
	same_lines $script "$T/out"
	states "$1"
	library "$1"
	under "$1"
}

for lua in $LUAS; do
	has $lua $lua
	record --lua-init -- $lua $script || fail "$lua: weft record fails"
	check $lua
	pkg-config --exists $lua || continue
	gcc -O1 $(pkg-config --cflags $lua) tests/prog/lua/built.c \
		-o "$T/$lua" $(pkg-config --libs $lua) || fail "not built"
	record "$T/$lua" $script || fail "$lua, shared: weft record fails"
	check "$lua, shared"
done
