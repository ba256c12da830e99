#!/bin/bash
# Recursion 200,001 calls deep: every command reads it in the time of a shallow
# trace, and has the calls that the program counted. A command that looks at all
# frames for each call would take an hour.
# time: 300
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DISPLAY
ulimit -s unlimited 2>/dev/null || { echo "the stack is limited"; exit 77; }
record "$P/p_deep" || fail "weft record fails"
(cd "$T" && mv trace t)

# run COMMAND...: its output is in $T/said.
run() {
	(cd "$T" && exec timeout 60 "$WEFT" "$@") >"$T/said" 2>"$T/report.err" ||
		fail "weft $*: status $?: $(tail -n 1 "$T/report.err")"
}
run report --csv --columns name,calls t
grep -E '^(even|odd|self|leaf),' "$T/said" | tr , ' ' | sort >"$T/have"
sort "$T/out" | diff - "$T/have" || fail "the program counted other calls"

# Each call of even that ended is slower than all before.
run slow even t
grep -q '100,001 calls' "$T/said" || fail "slow has other calls"
run slow --csv --top 3 even t
awk -F, 'NR > 1 { print $21 }' "$T/said" >"$T/have"
printf 'main;%s\n' even 'even;odd;even' 'even;odd;even;odd;even' |
	diff - "$T/have" || fail "the slowest calls are not the outermost"
# Of the one at the bottom, the innermost frames alone.
run slow --csv --top 0 leaf t
grep -qE ',\[[0-9]+ frames\];(even|odd);.*;even;leaf' "$T/said" ||
	fail "no short stack: $(sed -n 2p "$T/said" | cut -c 1-200)"
run html -o page.html t
run explain t
run tree --csv t
run tree --bottom-up t
run callers --all t
run coroutines t
run stacks --at 0.001 t
run diff t t
for format in pprof csv json firefox; do
	run export -f $format -o "out.$format" t
	rm -f "$T/out.$format"
done
! command -v gnuplot >/dev/null || run plot heat -o plot.svg t
# Each stack with all its frames: said before it is written. Net times of some
# are 0 where hooks take most of the time.
(cd "$T" && "$WEFT" export --raw -f collapsed t 2>"$T/note") | head -n 1 >/dev/null
grep -qE 'about [0-9.]+ GB are written' "$T/note" || fail "no note of the size"

# Lua: a caught overflow of the stack, and a deep coroutine that sleeps 20 times.
! command -v lua5.4 >/dev/null && { echo "Lua is not installed"; exit 77; }
cat >"$T/deep.lua" <<'END'
local function over() return 1 + over() end
assert(not pcall(over))
local function deep(n)
	if n > 0 then return 1 + deep(n - 1) end
	for _ = 1, 20 do coroutine.yield() end
	return 0
end
local resume = coroutine.wrap(function() return deep(50000) end)
for _ = 0, 20 do resume() end
END
record --lua-init -- lua5.4 "$T/deep.lua" || fail "weft record fails"
report
nothing_lost
run slow "main chunk" trace
run slow --top 1 deep trace
grep -qE '^1\. .*, suspended .*, coroutine' "$T/said" ||
	fail "the deep coroutine: $(tail -n 9 "$T/said")"
