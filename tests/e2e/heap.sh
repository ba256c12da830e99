#!/bin/bash
# What each stack took, and still has at the end, to the byte, as random programs
# know it themselves: all ways to take memory, threads that give back what others
# took, moves, failures, a child. With hooks and, by the caller, without.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# as_counted SEED THREADS STEPS, with OPTIONS
as_counted() {
	local pid
	record --heap=exact ${OPTIONS-} -- "$P/p_heap" "$@" || fail "$*: weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$*: something was lost"
	for pid in $(awk '{ print $2 }' "$T/out" | sort -u); do
		"$WEFT" heap --csv --process "$pid" "$T/trace" >"$T/heap" \
			2>"$T/report.err" || fail "weft heap"
		grep "^heap $pid " "$T/out" | awk '
			FILENAME != "-" {
				split($0, f, ",")
				name = $0
				gsub(/\([^()]*\)/, "", name)
				if (match(name, /path_[ab];by_[a-z]*/)) {
					k = substr(name, RSTART, RLENGTH)
					bytes[k] += f[1]; blocks[k] += f[2]
					taken[k] += f[6]; all[k] += f[5]
				}
				next
			}
			taken[$3] != $4 || all[$3] != $5 || blocks[$3] != $6 ||
			bytes[$3] != $7 {
				print $0 ": not", taken[$3] + 0, all[$3] + 0,
					blocks[$3] + 0, bytes[$3] + 0
				bad = 1
			}
			END { exit bad || NR < 40 }' "$T/heap" - ||
			fail "$*: process $pid: not as it counted"
		grep -E 'seen to take|unseen' "$T/report.err" && fail "$*: unknown"
	done
}
seeds=3
[ -z "${DEEP-}" ] || seeds=20
for seed in $(seq $seeds); do
	as_counted "$seed" 1 3000
	as_counted "$seed" 4 3000
done
as_counted 100 16 1000
# The same where calls are counted, and have no records; also in the child.
OPTIONS=--count-only as_counted 1 1 3000
OPTIONS=--count-only as_counted 2 8 3000
exit 0
