#!/bin/bash
# 3,000 threads that live at once and wait for each other: the pool grows, so that
# nothing is lost, whatever a thread does that finds no buffer. Of threads that call
# flat out every record is there or counted as lost, and none is lost if they wait
# for buffers. weft record may take priority; the program's own stays as it is.
# SPDX-License-Identifier: MIT
. tests/lib.sh
n=3000
"$P/p_threads" at-once $n >/dev/null || {
	echo "may not have that many threads"
	exit 77
}
for how in lend wait; do
	record --on-full $how -- "$P/p_threads" at-once $n || fail "$how fails"
	report
	nothing_lost
	same_calls
done
# A pool has places for 128 threads for each MiB.
record --pool-size 1M --on-full wait -- "$P/p_threads" at-once 120 || fail "1 MiB"
report
nothing_lost
same_calls

# Threads of which nothing is there are counted as well, and those without a place.
record --pool-size 1M -- "$P/p_threads" at-once 500 || fail "a small pool"
# threads FILE: of those that its first line has, and those beyond, the sum. One that
# finds no place may find one later, on a slow machine, and is both.
threads() {
	local all beyond
	all=$(sed -nE '/^#|lost/!s/.*[^0-9]([0-9]+) threads?(,.*|$)/\1/p' "$1" |
		head -n 1)
	beyond=$(sed -nE 's/.*lost:* *([0-9]+) threads beyond .*/\1/p' "$1")
	[ $((all + ${beyond:-0})) -ge 501 ] && [ "$all" -le 501 ] &&
		[ "${beyond:-0}" -le $((501 - 128)) ] ||
		fail "500 threads and the main one: $all and $beyond beyond"
}
threads "$T/err"
"$WEFT" report "$T/trace" >"$T/report" 2>&1
threads "$T/report"
