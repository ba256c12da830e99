#!/bin/bash
# Programs that know how long their functions take: every call is counted, and
# net times are nearer to the truth than raw ones. tests/bench/truth.sh says how
# near, at full length.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# compare PROGRAM: $T/trace with $T/truth.
compare() {
	report
	nothing_lost
	lua5.4 tests/bench/truth_table.lua "$T/report.csv" "$T/truth" test \
		>"$T/table" || fail "$1: $(cat "$T/table")"
	"$WEFT" info "$T/trace" | grep -q '^samples.why-not' ||
		grep -q '^net is off' "$T/table" ||
		fail "$1: there are samples, and no net times"
	echo "note: $1: $(tail -n 2 "$T/table" | paste -sd ';')"
}

for build in "gcc -O2" "clang -O0"; do
	$build -D_GNU_SOURCE -finstrument-functions -o "$T/truth-program" \
		tests/bench/truth.c || fail "$build: no program"
	record "$T/truth-program" 5 || fail "$build: weft record fails"
	cp "$T/out" "$T/truth"
	compare "$build"
done
for l in lua5.4 luajit; do
	$l tests/bench/truth.lua 50 true >"$T/truth" || fail "no $l"
	record --lua-init -- $l tests/bench/truth.lua 50 ||
		fail "$l: weft record fails"
	compare $l
done
