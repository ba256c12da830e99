#!/bin/bash
# More threads than there are places for: those without one are counted, once,
# and are not slowed down by trying at each call.
# SPDX-License-Identifier: MIT
. tests/lib.sh
# --on-full drop: else threads wait for buffers.
record --pool-size 2M --on-full drop -- "$P/p_crowd" 1000 5000
[ $? = 77 ] && { echo "no 1000 threads here"; exit 77; }
lost=$(sed -n 's/.*lost: \([0-9]*\) threads beyond.*/\1/p' "$T/err")
seen=$(sed -n 's/.* \([0-9]*\) threads, .*/\1/p' "$T/err")
[ -n "$lost" ] || fail "no thread was one too many"
slots=$(sed -n 's/.*threads beyond the \([0-9]*\) .*/\1/p' "$T/err")
[ "$((lost + slots))" = 1001 ] || fail "$lost threads beyond $slots"
report
grep -q "lost: .*$lost threads beyond" "$T/report.err" ||
	fail "the report says: $(cat "$T/report.err")"
# A thread that had no place may get that of one that has ended.
[ "$seen" -ge "$slots" ] && [ "$seen" -le 1001 ] ||
	fail "$seen threads have $slots places"
grep -q "switches that nobody announced" "$T/err" && fail "switches were counted"
# A tenth at least have a place. Who tries at each call takes nine times as long.
[ "$slots" -ge 100 ] && [ "$lost" -ge 100 ] || fail "$slots places"
read -r fast slow <"$T/out"
echo "note: $fast and $slow ns a call"
[ "$slow" -lt $((4 * fast)) ] || fail "$slow ns a call, of others $fast"
