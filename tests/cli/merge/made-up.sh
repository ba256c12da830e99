#!/bin/bash
# weft merge of made-up traces: the table; associative and commutative to the
# byte, whatever was lost in the sessions.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace a coroutines=1 chunks=4
make_trace b coroutines=1 chunks=6 threads=3 spill_from=2
make_trace c chunks=5 no_end=1
make_trace d first_number=3 threads=1 chunks=7
truncate -s 9000 "$T/b/spill.weft"
same table 0 "$W" merge a c d
same csv 0 "$W" merge --csv --sort calls a c d
same columns 0 "$W" merge --sort suspended --columns +total-deviation,file \
	--top 4 a c d
same no-thread 2 "$W" merge --thread nobody a d
same usage 1 "$W" merge
same refused 1 "$W" merge -o sum.pb --sort calls a d
same none 2 "$W" merge a none
for t in a b c d; do
	"$W" export -o "$T/$t.pb" "$T/$t" 2>/dev/null || fail "export $t"
done
cd "$T" || exit 1
"$W" merge -o all.pb a b c d || fail merge
"$W" merge -o ab.pb a.pb b || fail merge
"$W" merge -o cd.pb d c.pb || fail merge
"$W" merge -o bcd.pb cd.pb b.pb || fail merge
"$W" merge -o pairs.pb cd.pb ab.pb || fail merge
"$W" merge -o right.pb bcd.pb a || fail merge
"$W" merge -o self.pb all.pb || fail merge
for other in pairs right self; do
	cmp all.pb $other.pb || fail "$other: another sum"
done
for c in report "report --csv" "report --tables thread" tree "tree --tables thread" \
	merge check; do
	"$W" $c b a d c >of-all 2>&1
	"$W" $c right.pb >of-sum 2>&1
	diff -u of-all of-sum || fail "$c of the sum differs from that of all"
done
"$W" info all.pb | grep -E 'pid 0|tid 0' && fail "numbers that are none"
grep -q '^lost' <("$W" report all.pb) || fail "the losses are lost"
calls=$(cat ?.calls | awk '{ n += $2 } END { print n }')
[ "$calls" -gt 1000 ] || fail "no calls"

# Filters apply to each session: the merged rows of a part are the sums of the
# sessions' parts, whatever the other session lacks.
column() {
	"$W" "$@" 2>/dev/null | awk -F, -v name=calls '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ n += $at[name] }
		END { print n + 0 }'
}
for filter in --from=3us --to=3us '--under=*0x3000' --thread=1001 \
	'--skip=*0x2000' --process=1000; do
	a=$(column report --csv --top 0 $filter "$T/a")
	d=$(column report --csv --top 0 $filter "$T/d")
	sum=$(column merge --csv --top 0 $filter "$T/a" "$T/d")
	[ $((a + d)) = "$sum" ] && [ "$sum" -gt 0 ] ||
		fail "merge $filter: $sum calls, not $a and $d"
	sum=$(column report --csv --top 0 $filter "$T/a" "$T/d")
	[ $((a + d)) = "$sum" ] || fail "report $filter of two: $sum calls"
done
# A function or thread that one of the sessions has is found.
make_trace crowd threads=3 chunks=2
"$W" report --thread 1003 "$T/crowd" >/dev/null 2>&1 || fail "no thread 1003"
"$W" merge --thread 1003 "$T/a" "$T/crowd" >"$T/o" 2>&1 ||
	fail "one session lacks the thread: $(cat "$T/o")"
grep -q '^shown: thread "1003": ' "$T/o" || fail "not told: $(cat "$T/o")"
"$W" diff --thread 1002 "$T/a" "$T/crowd" 2>&1 | grep -q '^shown after: ' ||
	fail "diff does not say what is shown"
exit 0
