#!/bin/bash
# weft report of a made-up trace: the table, fitted to widths, sorted, by thread
# and as CSV.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
same table 0 "$W" report t
same 80 0 env COLUMNS=80 "$W" report t
same 50 0 env COLUMNS=50 "$W" report t
same calls 0 "$W" report --sort calls --top 2 t
same csv 0 "$W" report --csv t
same by-thread 0 "$W" report --tables thread --csv t
awk 'length($0) > 80 { print "too wide: " $0; bad = 1 } END { exit bad }' \
	tests/cli/report/80.out || fail "wider than 80 columns"

# The rows of --csv add up to what the trace's maker counted.
"$W" report --csv "$T/t" 2>/dev/null >"$T/csv"
have=$(awk -F, 'NR > 1 { n += $6 } END { print n }' "$T/csv")
want=$(awk '{ n += $2 } END { print n }' "$T/t.calls")
[ "$have" = "$want" ] || fail "$have calls instead of $want"
