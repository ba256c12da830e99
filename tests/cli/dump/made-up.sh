#!/bin/bash
# weft dump of a made-up trace: events in order and in pairs, chunks as they are.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 threads=1 chunks=1 records=30
same events 0 "$W" dump t
same raw 0 "$W" dump --raw t
make_trace big coroutines=1 chunks=8 threads=3
"$W" dump "$T/big" | awk '
$2 ~ /_enter$|_call$/ { enters++; key = $4 " " $5; open[key]++ }
$2 ~ /_exit$|_return$/ { leaves++; key = $4 " " $5; open[key]-- }
$1 < last[$4] { print "out of order: " $0; bad = 1 }
{ last[$4] = $1 }
END { for (k in open) if (open[k] != 0) { print k ": " open[k]; bad = 1 }
	if (enters == 0 || enters != leaves) bad = 1; exit bad }' ||
	fail "entries and exits are not in pairs and in order"
