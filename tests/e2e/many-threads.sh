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

# Threads of which nothing is there are counted as well.
record --pool-size 1M -- "$P/p_threads" at-once 500 || fail "a small pool"
grep -q ' process, [0-9]* of 501 threads,' "$T/err" ||
	fail "500 threads and the main one"
"$WEFT" report "$T/trace" | grep -q '[0-9] of 501 threads$' &&
	"$WEFT" info "$T/trace" | grep -q '^threads .*[0-9] of 501$' ||
	fail "500 threads and the main one: $("$WEFT" report "$T/trace" | head -1)"

record --pool-size 8M --on-full wait -- "$P/p_flat_out" 256 20000 || fail "wait"
report
nothing_lost
same_calls
echo "note: 256 threads slept $(sed -n 's/^slept //p' "$T/out") times for" \
	"5,120,000 calls"

# How much is lost depends on the machine; make bench tells it. A call is at
# least one record, so that none is missing uncounted.
all=16000000
record "$P/p_flat_out" 32 500000 || fail "crowd"
[ "$(sed -n 's/^nice //p' "$T/out")" = "$(nice)" ] || fail "another priority"
lost=$(sed -n 's/^weft: lost: \([0-9]*\) records .*/\1/p' "$T/err")
echo "note: 32 threads lost ${lost:-0} records of 16,000,000 calls"
report
seen=$(calls work)
[ -n "$lost" ] || nothing_lost
[ $seen -le $all ] && [ $((seen + ${lost:-0})) -ge $all ] ||
	fail "$seen calls of work and ${lost:-0} records lost are not $all"
[ "${lost:-0}" -le $((all + all / 10)) ] || fail "$lost records lost"
room=$(df --output=avail -k /dev/shm | tail -n 1)
# More processes alive at once than the pool has places for.
if [ "$room" -gt 400000 ]; then
	record --pool-size 192M -- "$P/p_many" 1500 || fail "1,500 processes"
	report
	same_calls
	nothing_lost
	grep -q ' 477 processes beyond the 1024 ' "$T/err" ||
		fail "those without a place are not told: $(cat "$T/err")"
fi
