#!/bin/bash
# go tool pprof reads the profile: its own account of calls and times of each
# function is the report's.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need go golang-go
export HOME=$T PPROF_TMPDIR=$T
make_trace t coroutines=1 chunks=8 threads=2
"$W" export -o "$T/t.pb" "$T/t" 2>"$T/e" || fail "$(cat "$T/e")"

# top KIND: of all functions, "NAME<tab>FLAT"; its time is in ns.
top() {
	go tool pprof -top -nodecount=0 -nodefraction=0 -unit=ns \
		-sample_index="$1" "$T/t.pb" 2>"$T/e" >"$T/top" ||
		fail "-top: $(cat "$T/e")"
	awk '/flat%/ { rows = 1; next }
		rows {
			flat = $1
			for (i = 1; i <= 5; i++)
				sub(/^ *[^ ]+ */, "")
			sub(/ns$/, "", flat)
			print $0 "\t" flat
		}' "$T/top" | LC_ALL=C sort
}
for kind in calls:calls self:self_ns; do
	top ${kind%:*} >"$T/told"
	reported "$T/t" ${kind#*:} | sed 's/ \[lua\]\t/\t/' |
		grep -v '^\[' >"$T/want"
	grep -v '^\[' "$T/told" | diff "$T/want" - || fail "${kind%:*} differ"
	[ "$(wc -l <"$T/want")" -ge 5 ] || fail "functions are missing"
done
# On the CPU, without a core and asleep, where that is known.
cc -O1 -g -finstrument-functions -o "$T/threads" tests/prog/p_run_wait.c \
	-lpthread || fail "no program"
"$W" record -o "$T/waits" -- "$T/threads" >"$T/out" 2>"$T/e" ||
	fail "not recorded: $(cat "$T/e")"
if ! "$W" info "$T/waits" | grep -q '^samples.period 0$'; then
	"$W" export -o "$T/t.pb" "$T/waits" 2>"$T/e" || fail "$(cat "$T/e")"
	for kind in cpu run-wait blocked; do
		top $kind >"$T/told"
		"$W" report --csv "$T/waits" 2>"$T/e" |
			summed "$(echo $kind | tr - _)_ns" |
			awk -F'\t' 'NR == FNR { told[$1] = $2; next }
			/^(spin|nap|job)\t/ {
				d = told[$1] - $2
				n++
				if (d > 1000 || d < -1000) { print; bad = 1 }
			}
			END { exit bad || n != 3 }' "$T/told" - ||
			fail "$kind differs: $(cat "$T/told")"
	done
fi
go tool pprof -raw "$T/t.pb" >"$T/raw" 2>"$T/e" || fail "-raw: $(cat "$T/e")"
grep -q '^PeriodType' "$T/raw" || fail "-raw prints: $(head "$T/raw")"
# Memory: what weft heap says, in all and of a function.
c++ -O1 -w -finstrument-functions -o "$T/takes" tests/prog/p_heap.cc -lpthread ||
	fail "no program"
"$W" record --heap=exact -o "$T/heap" -- "$T/takes" 1 1 500 >"$T/out" 2>"$T/e" ||
	fail "not recorded: $(cat "$T/e")"
"$W" heap -o "$T/heap.pb" "$T/heap" >"$T/o" 2>&1 || fail "$(cat "$T/o")"
"$W" heap --csv "$T/heap" >"$T/rows" 2>"$T/e" || fail "$(cat "$T/e")"
for kind in inuse_space:1 inuse_objects:2 alloc_space:5 alloc_objects:6; do
	go tool pprof -top -nodecount=0 -nodefraction=0 -unit=B \
		-sample_index="${kind%:*}" "$T/heap.pb" 2>"$T/e" >"$T/top" ||
		fail "-top: $(cat "$T/e")"
	awk -F, -v f="${kind#*:}" 'FNR == NR {
			if (FNR > 1) {
				all += $f
				if ($0 ~ /by_calloc[^;]*",[^"]*$/)
					its += $f
			}
			next
		}
		/Total samples/ { sub(/.*= /, ""); told = $0 + 0 }
		/by_calloc/ { split($0, c, " "); flat += c[1] + 0 }
		END { print all, told, its, flat
			exit !(all == told && its > 0 && its == flat) }' \
		"$T/rows" "$T/top" >"$T/o" || fail "${kind%:*}: $(cat "$T/o")"
done
exit 0
