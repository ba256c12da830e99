#!/bin/bash
# weft callers of a made-up trace: one function, a pattern, all, by coroutine,
# on a narrow terminal, as CSV; and names that fit nothing.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
same one 0 "$W" callers made-up+0x2000 t
same body 0 "$W" callers --sort calls body t
same pattern 0 "$W" callers --lines 1 --top 2 '*0x?000' t
same all 0 "$W" callers --all --top 3 t
same coroutine 0 "$W" callers --root coroutine body t
same 60 0 env COLUMNS=60 "$W" callers made-up+0x2000 t
same csv 0 "$W" callers --all --csv t
same nobody 2 "$W" callers nobody t
same similar 2 "$W" callers Bod t
same no-part 2 "$W" callers --under '*4000' MADE-UP+0x1 t
same part 0 "$W" callers --under '*2000' --skip '*3000' '*2000' t
same usage 1 "$W" callers t
# A function's callers add up to its line; its self time and its callees', to
# its total. Its line is the report's.
awk -F, 'NR > 1 && !/^2:/ {
	f = $2
	of[f, "calls"] += ($1 ~ /^caller$|^resumer$/) * $12
	of[f, "self"] += ($1 ~ /^caller$|^resumer$/) * $14
	of[f, "total"] += ($1 ~ /^caller$|^resumer$/) * $15
	of[f, "suspended"] += ($1 ~ /^caller$|^resumer$/) * $16
	below[f] += ($1 == "function") * $14
	below[f] += ($1 ~ /^callee$|^resumed$/) * $15
	if ($1 == "function")
		line[f] = $12 " " $14 " " $15 " " $16
}
END {
	for (f in line) {
		split(line[f], have, " ")
		if (line[f] != of[f, "calls"] " " of[f, "self"] " " \
		    of[f, "total"] " " of[f, "suspended"] ||
		    below[f] != have[3]) {
			print f ": " line[f] ", below " below[f]
			bad = 1
		}
	}
	exit bad
}' tests/cli/callers/csv.out || fail "the lines do not add up"
"$W" report --csv "$T/t" 2>/dev/null |
	awk -F, 'NR > 1 { print $1, $6, $7, $8, $9 }' | sort >"$T/report"
awk -F, '$1 == "function" { print $2, $12, $14, $15, $16 }' \
	tests/cli/callers/csv.out | sort | diff "$T/report" - ||
	fail "the report has other figures"
