#!/bin/bash
# A program whose names want to take over the reader's terminal, spreadsheet or
# plot: every command shows them harmlessly, and counts right.
# SPDX-License-Identifier: MIT
. tests/lib.sh
command -v lua5.4 >/dev/null || { echo "Lua is not installed"; exit 77; }
rm -f /tmp/weft-pwned
record --label $'k=\x1b[2J`touch /tmp/weft-pwned`' -- "$P/p_names" ||
	fail "weft record fails"
# harmless WHO: what it wrote to $T/o and $T/e.
harmless() {
	# No control but the line's end; no C1, no bidirectional control.
	if LC_ALL=C grep -naP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]' \
		"$T/o" "$T/e" | head -n 3 | cat -v | grep .; then
		fail "$1 lets a control character through"
	fi
	iconv -f UTF-8 -t UTF-8 "$T/o" >/dev/null || fail "$1 prints no UTF-8"
}
for c in report "report --csv" explain "explain --json" tree "tree --csv --root coroutine" "tree --bottom-up" \
	"tree --bottom-up --csv" "callers -a" "callers -a --csv" coroutines \
	"coroutines --csv" "coverage --all" "coverage --all --csv" dump \
	"trim -m 0" "trim -m 0 --csv" "trim -m 0 -f gcc" "trim -m 0 -f skip" \
	"dump --raw" info check; do
	# shellcheck disable=SC2086
	"$WEFT" $c "$T/trace" >"$T/o" 2>"$T/e" || fail "$c fails: $(cat "$T/e")"
	harmless "$c"
	grep -q '^lost: 3 chunks' "$T/o" && fail "$c prints a name as a line"
done
babeltrace2 --plugin-path="$B/lib/babeltrace2/plugins" "$T/trace/ctf" \
	--component=filter.weft.explode >"$T/o" 2>"$T/e" ||
	fail "explode fails: $(cat "$T/e")"
harmless explode
report
nothing_lost
calls=$(sed 's/"[^"]*\(""[^"]*\)*"/q/g' "$T/report.csv" |
	awk -F, '$2 == "lua" { n += $6 } END { print n }')
[ "lua $calls" = "$(cat "$T/out")" ] || fail "$calls Lua calls, $(cat "$T/out")"
grep -E '^"?[=+@-]' "$T/report.csv" && fail "a formula begins a field"
if command -v gnuplot >/dev/null; then
	for kind in hot latency shares heat lanes; do
		"$WEFT" plot $kind -o "$T/$kind.svg" "$T/trace" 2>"$T/e" ||
			fail "plot $kind fails: $(cat "$T/e")"
		if command -v xmllint >/dev/null; then
			xmllint --noout "$T/$kind.svg" ||
				fail "the plot is no XML"
		fi
		grep -qi '<script' "$T/$kind.svg" &&
			fail "a name became an element"
		"$WEFT" plot $kind --term "$T/trace" 2>"$T/e" |
			LC_ALL=C grep -q $'[\001-\010\013\015-\037\177]' &&
			fail "plot $kind --term passes control characters on"
	done
fi
[ ! -e /tmp/weft-pwned ] || fail "a name was executed"
exit 0
