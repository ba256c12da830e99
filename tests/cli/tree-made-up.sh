#!/bin/bash
# weft tree of a made-up trace: rooted at threads, at coroutines, cut, as CSV.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
same tree-table 0 "$W" tree t
same tree-coroutine 0 "$W" tree --root coroutine t
same tree-depth 0 "$W" tree --depth 2 --by-thread t
same tree-min 0 "$W" tree --min 20% t
same tree-80 0 env COLUMNS=80 "$W" tree t
same tree-csv 0 "$W" tree --csv t
# A row's total is its self and the totals of the rows below it.
awk -F, 'NR > 1 { self[$1] = $11; total[$1] = $12; below[$2] += $12 }
END { for (n in total) if (total[n] - self[n] - below[n] > 3 ||
			   total[n] - self[n] - below[n] < -3) {
		print "node " n ": " total[n]; bad = 1 }
	exit bad }' tests/cli/tree-csv.out || fail "totals do not add up"
