#!/bin/bash
# weft info and weft check: what is in a trace, and what it lacks.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
# One folder's size on disk may differ; its other lines may not.
tidy() {
	sed -E 's/(CTF )[^,;)]*/\1SIZE/; s/; [0-9.]+ bytes a call//;
		s/babeltrace2 [0-9.]+/babeltrace2 VERSION/' "$1"
}
make_trace t coroutines=1 chunks=6
make_trace cut chunks=3 no_end=1
make_trace later first_number=2
"$W" info "$T/t" >"$T/info" || fail "info fails"
tidy "$T/info" | sed "s|$T|.|" >"$T/info.tidy"
same info-table 0 cat info.tidy
for name in t cut later; do
	"$W" check "$T/$name" >"$T/check" 2>"$T/check.err"
	echo "status $?" >>"$T/check"
	cat "$T/check.err" >>"$T/check"
	tidy "$T/check" | sed 's/, read by.*//' >"$T/check.$name"
	same "check-$name" 0 cat "check.$name"
done
# Nothing in the head of a report is different.
"$W" report "$T/cut" | grep -q '^lost: the recorder was ended' ||
	fail "report does not say that the recorder died"
"$W" report --csv "$T/later" 2>&1 >/dev/null |
	grep -q '^# lost: .*chunks missing' || fail "--csv does not tell of loss"
