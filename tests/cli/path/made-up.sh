#!/bin/bash
# weft path of a made-up trace: of a call, of a coroutine, from a mark to another;
# the steps of each request add up to it, at each depth.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=2 threads=3
same call 0 "$W" path -n 4 --call body t
same id 0 "$W" path --id 102 -n 3 --depth 1 t
same by-body 0 "$W" path --id body --requests 2 --sums t
same no-body 1 "$W" path --id made-up.lua t
same mark 1 "$W" path --mark 'a..b' t
"$W" path --call '*' --requests 50 --csv "$T/t" 2>/dev/null >"$T/steps"
"$W" slow --sort wall -n 50 --csv '*' "$T/t" 2>/dev/null >"$T/slow"
awk -F, 'FNR == 1 {
	for (i = 1; i <= NF; i++)
		at[NR == FNR, $i] = i
	next
}
NR == FNR { wall[FNR - 1] = $at[1, "wall_ns"]; next }
$at[0, "depth"] == 0 { sum[$at[0, "request"]] += $at[0, "time_ns"] }
{ deep += $at[0, "depth"] > 0 }
END {
	for (r in wall)
		if (wall[r] - sum[r] > 30 || sum[r] - wall[r] > 30) {
			print "request " r ": " sum[r] " not " wall[r]
			bad = 1
		}
	exit bad || !(50 in wall) || deep == 0
}' "$T/slow" "$T/steps" || fail "steps do not add up"
"$W" path --call '*' --requests 50 --sums --csv "$T/t" 2>/dev/null >"$T/sums"
awk -F, 'FNR == 1 {
	for (i = 1; i <= NF; i++)
		at[NR == FNR, $i] = i
	next
}
NR == FNR {
	if ($at[1, "depth"] == 0) {
		time[$1, $at[1, "what"]] += $at[1, "time_ns"]
		steps[$1] += 1
	}
	next
}
{
	time[$1, $at[0, "what"]] -= $at[0, "time_ns"]
	steps[$1] -= $at[0, "steps"]
	rows++
}
END {
	for (r in time) off += time[r] ^ 2 > 900
	for (r in steps) off += steps[r] != 0
	exit off || rows < 50
}' "$T/steps" "$T/sums" || fail "sums are not those of the steps"
# The third by each key is the third of weft slow; by start, it begins third.
for key in total self wall suspended start; do
	"$W" slow --sort "${key/start/total}" -n 0 --csv '*' "$T/t" 2>/dev/null |
		awk -F, -v by="$key" 'NR == 1 {
			for (i = 1; i <= NF; i++) at[$i] = i
			next
		}
		{ print by == "start" ? $at["start_ns"] : NR, $at["wall_ns"] }' |
		sort -n | sed -n '3s/.* //p' >"$T/third"
	"$W" path --call '*' --sort "$key" --nth 3 --csv "$T/t" 2>/dev/null |
		awk -F, -v wall="$(cat "$T/third")" 'NR == 1 {
			for (i = 1; i <= NF; i++) at[$i] = i
			next
		}
		$1 != 3 { bad = 1 }
		$at["depth"] == 0 { sum += $at["time_ns"] }
		END { exit bad || sum == 0 || (sum - wall) ^ 2 > 900 }' ||
		fail "--sort $key --nth 3 is not of $(cat "$T/third") ns"
done
same sums 0 "$W" path --call body --sums t
same none 1 "$W" path t
same two 1 "$W" path --id 102 --call body t
same half 1 "$W" path --mark tick t
same unknown 1 "$W" path --call nobody t
same no-coroutine 1 "$W" path --id 77777 t
same refused 1 "$W" path --thread 1 --call body t
same deep 1 "$W" path --depth 21 --call body t
same nth 1 "$W" path --call body --nth 99 t
same unsorted 1 "$W" path --mark a..b --sort cpu t
