#!/bin/bash
# A recorder that is stopped, or dead, does not hold the program up: each thread
# waits for it once at most. Every call is recorded or counted as lost.
# SPDX-License-Identifier: MIT
. tests/lib.sh
threads=8 each=400000
all=$((threads * each))
# A thread that waits wakes every tenth of a second, for a second. There are a
# few other reasons to sleep.
most=$((threads * 15 + 50))

# without_recorder SIGNAL: the program runs after the recorder got it.
without_recorder() {
	"$WEFT" record --pool-size 2M -o "$T/$1" -- sh -c \
		'r=$(pgrep -P $PPID -x weft-record); kill -s $0 $r; "$@"
		kill -CONT $r' "$1" "$P/p_flat_out" $threads $each \
		>"$T/$1.out" 2>"$T/err"
}
few_sleeps() {
	grep -qx "calls $all work" "$T/$1.out" || fail "$1: it ended early"
	slept=$(sed -n 's/^slept //p' "$T/$1.out")
	[ "${slept:-$((most + 1))}" -le $most ] ||
		fail "$1: $threads threads slept $slept times"
}
without_recorder STOP || fail "weft record fails"
few_sleeps STOP
lost=$(sed -n 's/^weft: lost: \([0-9]*\) records .*/\1/p' "$T/err")
[ "${lost:-0}" -gt 0 ] || fail "a stopped recorder lost nothing"
mv "$T/STOP" "$T/trace"
report
seen=$(calls work)
# A call is at least one record, and seldom more.
[ "$seen" -le $all ] && [ $((seen + lost)) -ge $all ] &&
	[ "$lost" -le $((all + all / 10)) ] ||
	fail "$seen calls of work and $lost records lost are not $all"

without_recorder KILL
await grep -q '^slept' "$T/KILL.out"
few_sleeps KILL
pool=$(cat "$T/KILL/pool") && [ -n "$pool" ] || fail "no name of the pool"
rm -f "$pool"
exit 0
