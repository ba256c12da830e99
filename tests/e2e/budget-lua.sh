#!/bin/bash
# A budget on Lua, in one version: a Lua state whose calls cost too much comes to
# be sampled, and that is said. What C functions Lua calls is counted all the
# while, and functions have the shares that the program says they have. States
# that call little stay as they are.
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# SPDX-License-Identifier: MIT
. tests/lib.sh
v=$1
gcc -O2 -g -finstrument-functions -o "$T/host" tests/prog/lua/budget.c \
	$(pkg-config --cflags --libs $v) || fail "the host is not built"

# run MODE SECONDS [OPTION...]: calls of C are all there, and nothing is lost.
run() {
	record --budget 5% "${@:3}" -- "$T/host" "$1" tests/prog/lua/budget.lua "$2" ||
		fail "$1: weft record fails"
	"$WEFT" check "$T/trace" >"$T/check" 2>&1 || fail "$1: $(cat "$T/check")"
	report --top 0
	nothing_lost
	for f in spin inner; do
		[ "$(calls $f)" = "$(awk -v f=$f '$1 == "calls" && $3 == f { print $2 }' "$T/out")" ] ||
			fail "$1: $f: $(calls $f) calls of $(cat "$T/out")"
	done
	"$WEFT" info "$T/trace" | sed -n 's/^budget.lua *//p' >"$T/sampled"
}

# near: light and heavy have the shares that the program says, within 5 points:
# a thousand ticks have an error of 1.5, more on a busy machine.
near() {
	awk -F'[ ,]' '
		FNR == NR { if ($1 == "share") said[$2] += $3; next }
		FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$1 == "light" || $1 == "heavy" { is[$1] = $(at["total_cpu_ns"] + 1) }
		END {
			x = 100 * said["light"] / (said["light"] + said["heavy"])
			y = 100 * is["light"] / (is["light"] + is["heavy"])
			print "light said", x, "is", y
			exit !(x - y < 5 && y - x < 5)
		}' "$T/out" "$T/report.csv" >"$T/shares" ||
		fail "the program says other shares: $(cat "$T/shares" "$T/report.csv")"
}

dense() {
	run "$1" 4
	grep -q 'state 1 from [0-9.]* s to the end' "$T/sampled" ||
		fail "$1: it does not end sampled: $(cat "$T/sampled")"
	near
}
one_of 3 dense dense
"$WEFT" report --top 0 "$T/trace" >"$T/said" 2>&1
grep -q 'Lua was sampled at times, as the budget asked (state' "$T/said" ||
	fail "it is not said: $(cat "$T/said")"
grep -q ' >[0-9,]* .*small <budget.lua' "$T/said" ||
	fail "calls are shown as if whole: $(cat "$T/said")"
if [ $v = luajit ]; then
	"$WEFT" dump --raw "$T/trace" 2>/dev/null | grep -q 'NOTED flags=2' ||
		fail "no compiled code: is it off?"
fi
one_of 3 dense server

# Of the state that calls little, all calls are there.
rest_is_whole() {
	local n
	n=$(awk '/^"?rest </ { split($0, w, ","); print w[6] }' "$T/report.csv")
	[ "$n" = "$(awk '$1 == "few" && $2 > 0 { print $2 }' "$T/out")" ] ||
		fail "$1: $n calls of $(cat "$T/out")"
}
few() {
	run few 1.5
	[ ! -s "$T/sampled" ] || fail "few: $(cat "$T/sampled")"
	rest_is_whole few
}
few
two() {
	run two 3
	grep -q 'state 1 ' "$T/sampled" || fail "two: $(cat "$T/sampled")"
	! grep -q 'state 2 ' "$T/sampled" || fail "two: $(cat "$T/sampled")"
	rest_is_whole two
}
one_of 3 two
# Closed while that changes.
run closed 2
# It changes below a C function of the program's, within Lua: what Lua does when
# that has returned is not the work's.
looped() {
	run looped 2
	[ -s "$T/sampled" ] || fail "looped: it is not sampled"
	"$WEFT" export -f folded "$T/trace" 2>/dev/null >"$T/folded"
	awk '/looped.*;after.*;light/ { after += $NF }
		/;light/ { all += $NF }
		/;loop;.*after/ { wrong += $NF }
		END { print after, all, wrong + 0
		      exit !(after > all / 2 && wrong == 0) }' "$T/folded" >"$T/after" ||
		fail "looped: $(cat "$T/after" "$T/folded")"
}
one_of 3 looped
# Who says exact gets it.
run dense 0.5 --lua exact
[ ! -s "$T/sampled" ] || fail "exact: $(cat "$T/sampled")"
exit 0
