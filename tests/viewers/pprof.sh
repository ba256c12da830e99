#!/bin/bash
# go tool pprof reads the profile: its own account of calls, self and suspended
# time of each function is the report's.
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
go tool pprof -raw "$T/t.pb" >"$T/raw" 2>"$T/e" || fail "-raw: $(cat "$T/e")"
grep -q '^PeriodType' "$T/raw" || fail "-raw prints: $(head "$T/raw")"
exit 0
