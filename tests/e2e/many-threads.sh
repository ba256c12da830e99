#!/bin/bash
# 3,000 threads at once. With room for all of them nothing is lost; with the
# usual pool every record is there or counted as lost, and the program is none
# the slower for it. Of many threads that call flat out, those that wait for
# buffers sleep until there is one; if weft record may take priority, few calls
# are lost though nobody waits. The program's own priority stays as it is.
# SPDX-License-Identifier: MIT
. tests/lib.sh
n=3000
"$P/p_threads" at-once $n >/dev/null || {
	echo "may not have that many threads"
	exit 77
}
record "$P/p_threads" at-once $n || fail "weft record fails"
kept=$(sed -n 's/^weft: \([0-9]*\) records,.*/\1/p' "$T/err")
lost=$(sed -n 's/^weft: lost: \([0-9]*\) records .*/\1/p' "$T/err")
# A thread has 38 calls of small, a record each, and one that takes two; the
# time at the barrier may take some records more.
least=$((n * 40 + 2))
all=$((kept + ${lost:-0}))
[ $all -ge $least ] && [ $all -le $((least + 4 * n)) ] ||
	fail "$kept records and $lost lost are not $least"
report
seen=$(calls small)
[ -n "$lost" ] || nothing_lost
[ $seen -le $((38 * n)) ] || fail "$seen calls of small"
[ $((seen + ${lost:-0})) -ge $((38 * n)) ] ||
	fail "$seen calls of small and $lost records lost"

# A chunk has some 8,000 records; a thread that is woken may come too late, and
# nobody sleeps for longer than a tenth of a second.
record --pool-size 8M --on-full wait -- "$P/p_flat_out" 256 20000 || fail "wait"
report
nothing_lost
same_calls
slept=$(sed -n 's/^slept //p' "$T/out")
echo "note: 256 threads slept $slept times for 5,120,000 calls"
[ "$slept" -le 20000 ] || fail "the threads that wait slept $slept times"
record "$P/p_flat_out" 32 500000 || fail "crowd"
[ "$(sed -n 's/^nice //p' "$T/out")" = "$(nice)" ] || fail "another priority"
lost=$(sed -n 's/^weft: lost: \([0-9]*\) records .*/\1/p' "$T/err")
echo "note: 32 threads lost ${lost:-0} of 16,000,000 calls"
! nice -n -20 true 2>/dev/null || [ "${lost:-0}" -le 1600000 ] ||
	fail "$lost records of 16,000,000 lost"
[ "$(df --output=avail -k /dev/shm | tail -n 1)" -gt 2000000 ] || exit 0
record --pool-size 512M -- "$P/p_threads" at-once $n || fail "512 MiB"
report
nothing_lost
same_calls
