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

# Parts: the lines of all threads, of all processes, on both sides of a moment
# add up to the whole; a coroutine's are its own.
"$W" dump "$T/big" >"$T/whole" || fail "dump fails"
lines() { wc -l <"$T/$1"; }
: >"$T/sum"
for tid in $(sed 's/.* tid=\([0-9]*\) .*/\1/' "$T/whole" | sort -u); do
	"$W" dump --thread $tid "$T/big" >"$T/part"
	grep " tid=$tid " "$T/whole" | cmp - "$T/part" || fail "--thread $tid"
done
"$W" dump --process 1000 "$T/big" | cmp - "$T/whole" || fail "--process"
"$W" dump --to 3us "$T/big" >"$T/sum"
"$W" dump --from 3us "$T/big" >"$T/part"
[ -s "$T/sum" ] && [ -s "$T/part" ] || fail "--from and --to"
sort "$T/sum" "$T/part" | cmp - <(sort "$T/whole") || fail "3us cuts a line off"
id=$(sed -n 's/.*coroutine_resume.* coroutine=\([0-9]*\) .*/\1/p' "$T/whole" |
	head -n 1)
"$W" dump --coroutine "$id" "$T/big" >"$T/part"
grep " coroutine=$id " "$T/whole" >"$T/sum"
[ -s "$T/sum" ] && cmp "$T/sum" "$T/part" || fail "--coroutine $id"
same no-under 1 "$W" dump --under 'made-up*' t
same no-raw-part 1 "$W" dump --raw --thread 1001 t
same no-process 2 "$W" dump --process 7 t
