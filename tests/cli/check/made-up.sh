#!/bin/bash
# weft check of made-up traces: a whole one, one without an end, and one whose
# first chunks are missing. Reports say the same at their top.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
make_trace cut chunks=3 no_end=1
make_trace later first_number=2
for name in t cut later; do
	"$W" check "$T/$name" >"$T/check" 2>"$T/check.err"
	echo "status $?" >>"$T/check"
	cat "$T/check.err" >>"$T/check"
	sed 's/, read by.*//' "$T/check" >"$T/check.$name"
	same $name 0 cat "check.$name"
done
# How much of it a report shows is not the trace's fault.
"$W" check --max-nodes 3 "$T/t" >"$T/few" || fail "not whole: $(cat "$T/few")"
grep -q '^note: .* beyond --max-nodes' "$T/few" || fail "says: $(cat "$T/few")"
"$W" report "$T/cut" | grep -q '^lost: the recorder ended' ||
	fail "report does not say that the recorder died"
"$W" report --csv "$T/later" 2>&1 >/dev/null |
	grep -q '^# lost: .*chunks missing' || fail "--csv does not tell of loss"
