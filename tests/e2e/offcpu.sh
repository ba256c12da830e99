#!/bin/bash
# offcpu.sh - a thread that sleeps 5 times 50 ms is known to have been off the
# CPU for that long: its chunks carry the kernel's context switches. Threads that
# are blocked when the recorder begins to watch them, and stay so, have run for
# no longer than their own CPU clocks say, plus the moment before.
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
cc -O1 -g -finstrument-functions -o "$T/naps" tests/prog/p_naps.c &&
	cc -O1 -g -finstrument-functions -o "$T/blocked" \
		tests/prog/p_blocked.c -lpthread || fail "no program"
record -q -- "$T/naps" || fail "weft record fails"
if no_switches; then
	exit 77
fi

# Of several copies of a chunk the last, longest one holds; the first span is
# the time for which the switches are known. After a nap, others may have the core.
is_away() {
	record -q -- "$T/naps" || fail "weft record fails"
	"$WEFT" dump --raw "$T/trace" >"$T/raw" || fail "weft dump fails"
	hz=$("$WEFT" info "$T/trace" | sed -n 's/^clock *\([0-9]*\) ticks.*/\1/p')
	awk -v hz="$hz" -v truth="$(cat "$T/out")" '
	/ switches / {
		sum = 0; known = 0
		for (i = 4; i <= NF; i++) {
			split($i, p, /[-=]/)
			if (i == 4) known = p[2] - p[1]
			else if (p[1] == end) sum += nap > 0 ? p[2] - p[1] : 0
			else {
				nap = p[2] - p[1]
				if (nap < hz * 0.04 || nap > hz * 0.3) nap = 0
				sum += nap
			}
			end = p[2]
		}
		all += sum; spans += known
	}
	END {
		us = all / hz * 1e6
		printf "off for %d us, the program says %d us, known for %d us\n",
			us, truth, spans / hz * 1e6
		exit !(us > truth * 0.97 && us <= truth * 1.03)
	}' "$T/raw"
}
one_of 8 is_away

# weft diff lays longer naps at one door: nap waits, and does nothing else.
is_blamed() {
	for ms in 20 50; do
		for n in 1 2 3; do
			rm -rf "$T/$ms-$n"
			"$WEFT" record -q -o "$T/$ms-$n" -- "$T/naps" $ms >"$T/out"
		done
	done
	"$WEFT" diff --csv --min-share 5 "$T"/20-* vs "$T"/50-* >"$T/diff"
	awk -F, '$7 == "nap" { print $3; n++ } END { exit n != 1 }' "$T/diff" |
		grep -x wait || fail "$(cat "$T/diff")"
}
one_of 4 is_blamed

# The CSV's header says where its columns are.
is_blocked() {
	record -q -- "$T/blocked" || fail "weft record fails"
	"$WEFT" report --csv --raw --sort cpu "$T/trace" >"$T/csv" ||
		fail "weft report fails"
	awk '
	FILENAME == ARGV[1] { wall[$1] = $2; cpu[$1] = $3; next }
	{ split($0, f, ",") }
	FNR == 1 { for (i in f) at[f[i]] = i; next }
	f[1] in wall {
		on = f[at["total_cpu_ns"]]
		off = f[at["total_off_cpu_ns"]]
		printf "%s: on %d, off %d, of %d\n", f[1], on, off, wall[f[1]]
		if (on > cpu[f[1]] + wall[f[1]] / 2 || off < wall[f[1]] / 2)
			bad = 1
		seen++
	}
	END { exit bad || seen != 2 }' "$T/out" "$T/csv"
}
one_of 4 is_blocked

# Of threads that leave the CPU some ten thousand times a second, with few calls,
# it is known for nearly all their time what they did.
is_known() {
	record -q -- "$P/p_turns" 200000 || fail "weft record fails"
	"$WEFT" threads --csv "$T/trace" >"$T/csv" 2>"$T/err" ||
		fail "weft threads fails"
	awk -F, 'NR > 1 {
		printf "thread %s: %.3f of its life\n", $2, ($6 + $7 + $8) / $5
		bad += $6 + $7 + $8 < 0.8 * $5
	}
	END { exit bad > 0 || NR != 3 }' "$T/csv"
}
one_of 4 is_known
