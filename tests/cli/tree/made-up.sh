#!/bin/bash
# weft tree of a made-up trace: rooted at threads, at coroutines, cut, as CSV,
# and turned around.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
same table 0 "$W" tree t
same coroutine 0 "$W" tree --root coroutine t
same depth 0 "$W" tree --depth 2 --tables thread t
same min 0 "$W" tree --min-share 20% t
same 80 0 env COLUMNS=80 "$W" tree t
same csv 0 "$W" tree --csv t
# A row's total is its self and the totals of the rows below it.
awk -F, 'NR > 1 { self[$1] = $11; total[$1] = $12; below[$2] += $12 }
END { for (n in total) if (total[n] - self[n] - below[n] > 3 ||
			   total[n] - self[n] - below[n] < -3) {
		print "node " n ": " total[n]; bad = 1 }
	exit bad }' tests/cli/tree/csv.out || fail "totals do not add up"

same up 0 "$W" tree --bottom-up t
same up-by-thread 0 "$W" tree --bottom-up --tables thread --depth 2 --min-share 10 t
same up-coroutine 0 "$W" tree --bottom-up --root coroutine --sort suspended t
same up-csv 0 "$W" tree --bottom-up --csv t
# A caller's row is part of the row above it, in every figure, and the functions'
# self times are all there is.
awk -F, 'NR > 1 && !/^2:/ {
	depth[$1] = $3
	for (i = 10; i <= 14; i++) {
		figure[$1, i] = $i
		below[$2, i] += $i
	}
	has[$2]
}
END {
	for (n in has)
		for (i = 10; i <= 14; i++)
			if (depth[n] > 0 && figure[n, i] != below[n, i] ||
			    i == 11 && n > 0 && figure[n, i] != below[n, i]) {
				print "node " n ", column " i
				bad = 1
			}
	exit bad
}' tests/cli/tree/up-csv.out || fail "callers do not add up"
# The functions' rows are the report's.
"$W" report --csv "$T/t" 2>/dev/null |
	awk -F, 'NR > 1 { print $1, $6, $7, $8, $9 }' | sort >"$T/report"
awk -F, '$3 == 1 && $4 != "[outside]" { print $4, $10, $11, $12, $13 }' \
	tests/cli/tree/up-csv.out | sort | diff "$T/report" - ||
	fail "the report has other figures"

# --columns chooses the CSV's columns.
[ "$("$W" tree --csv --columns node,self,name "$T/t" 2>/dev/null |
	head -n 1)" = "node,self_ns,function" ] || fail "tree has other columns"
[ "$("$W" callers --all --csv --columns relation,name,share "$T/t" \
	2>/dev/null | head -n 1)" = "relation,other,share" ] ||
	fail "callers has other columns"
