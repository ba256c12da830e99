#!/bin/bash
# Functions that call themselves, directly, by way of each other, through Lua
# and in a coroutine: callers as the program counted them; one line in the tree.
# SPDX-License-Identifier: MIT
. tests/lib.sh
command -v lua5.4 >/dev/null || { echo "Lua is not installed"; exit 77; }
record "$P/p_recursion" || fail "weft record fails"
sort "$T/out" >"$T/want"
"$WEFT" callers --all --csv "$T/trace" >"$T/callers" 2>"$T/report.err" ||
	fail "weft callers fails"
nothing_lost
# "walk <script:1>" is walk; the script's own calls of it are not counted.
sed 's/ <script:[0-9]*>//g' "$T/callers" | awk -F, '
	function is_known(name) {
		return name ~ /^(main|fib|is_even|is_odd|descend|walk)$/
	}
	$1 == "callee" && is_known($2) && is_known($7) {
		print $2, $7, $12, $13
	}' | sort >"$T/have"
diff "$T/want" "$T/have" || fail "the program counted other callers"
[ "$(wc -l <"$T/have")" = 8 ] || fail "$(wc -l <"$T/have") pairs"

# rows FUNCTION OPTION...: how many lines the tree has of it, calls and levels.
rows() {
	local name=$1
	shift
	"$WEFT" tree --csv "$@" "$T/trace" 2>/dev/null | awk -F, -v name="$name" '
		$4 == name || index($4, name " <") == 1 {
			n++; calls += $10; recursive += $14
			if ($15 > levels)
				levels = $15
		}
		END { print n + 0, calls, recursive, levels }'
}
expect() {
	local want=$1
	shift
	[ "$(rows "$@")" = "$want" ] || fail "$*: $(rows "$@"), not $want"
}
# fib(15) makes 1,973 calls, 15 levels deep.
expect "1 1974 1972 15" fib
expect "15 1974 1972 1" fib --recursion none
# 100 levels of two functions: one line each for main's calls of either.
expect "2 55 53 51" is_even --recursion all
expect "55 55 53 1" is_even
# On the thread and in the coroutine: each by itself.
expect "2 11 8 6" walk --recursion all
expect "2 11 8 6" walk --recursion all --root coroutine
# Whatever is folded, there is as much of everything, and no more time.
for fold in none direct all; do
	for up in "" --bottom-up; do
		"$WEFT" tree --csv --recursion $fold $up "$T/trace" 2>/dev/null |
			awk -F, -v up="$up" 'NR > 1 && (up == "" || $3 == 1) {
				calls += $10; recursive += $14 }
				NR == 2 { total = $12 }
				END { print calls, recursive, total }'
	done
done | sort -u >"$T/sums"
[ "$(wc -l <"$T/sums")" = 1 ] || fail "folded otherwise: $(cat "$T/sums")"
exit 0
