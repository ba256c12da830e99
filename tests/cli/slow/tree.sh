#!/bin/bash
# The command that weft slow prints, as it is, shows the slowest call alone; --thread leaves
# the others' calls out. The command names a function that was found by the last part of its
# name, a trace that looks like an option, and --debug-dir so that it runs, too.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
# told NAME: the tree of the slowest call has its total, and its calls below it.
told() {
	local command total
	command=$("$W" slow -n 1 "$1" "$T/t" 2>/dev/null | grep '^weft tree')
	total=$("$W" slow -n 1 --csv "$1" "$T/t" 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR == 2 { print $at["total_ns"] }')
	eval "\"$W\" ${command#weft } --csv --recursion none" \
		2>/dev/null | awk -F, -v name="${1#\*}" -v total="$total" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		!top && index($0, name) { top = 1; good = $at["total_ns"] == total &&
			$at["calls"] == 1; node = $at["node"] }
		top && $at["parent"] == node { below++ }
		END { exit !(good && below > 0) }' ||
		fail "$1: not the tree of $total ns: $command"
}
# The other command shows the same call step by step.
for key in total self suspended; do
	command=$("$W" slow -n 1 --sort $key '*0x2000' "$T/t" 2>/dev/null |
		grep '^weft path')
	wall=$("$W" slow -n 1 --sort $key --csv '*0x2000' "$T/t" 2>/dev/null |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR == 2 { print $at["wall_ns"] }')
	eval "\"$W\" ${command#weft } --csv" 2>/dev/null |
		awk -F, -v wall="$wall" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["depth"] == 0 { sum += $at["time_ns"] }
		END { exit sum == 0 || (sum - wall) ^ 2 > 900 }' ||
		fail "by $key, not the path of $wall ns: $command"
done
"$W" slow -n 1 --from 1us '*0x2000' "$T/t" 2>/dev/null | grep '^weft path' &&
	fail "a part has another slowest call"
told '*0x1000'
told '*0x2000'
"$W" slow -n 0 --csv '*' "$T/t" 2>/dev/null | awk -F, 'NR > 1 { print $2 }' |
	sort | uniq -c >"$T/calls"
while read -r count tid; do
	[ "$("$W" slow -n 0 --csv --thread "$tid" '*' "$T/t" 2>/dev/null |
		tail -n +2 | wc -l)" = "$count" ] || fail "thread $tid"
done <"$T/calls"
[ "$(wc -l <"$T/calls")" = 3 ] || fail "no three threads"
make_trace -d coroutines=1 chunks=6 threads=3 taking=1
ran=$(cd "$T" && "$W" slow -n 1 --debug-dir . --debug-dir "$T" body -- -d \
	2>/dev/null | grep '^weft tree')
(cd "$T" && eval "\"$W\" ${ran#weft }") 2>/dev/null | grep -q 'at::body(int)' ||
	fail "does not run: $ran"
[[ $ran = *" --debug-dir .:$T "* ]] || fail "where are names from? $ran"
same no-thread 2 "$W" slow --thread nobody '*0x1000' t
exit 0
