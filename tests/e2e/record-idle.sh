#!/bin/bash
# A recording of a program that sleeps sleeps, too: it wakes up at most 100 times
# a second to see whether there is something to do. make bench tells what that
# costs.
# SPDX-License-Identifier: MIT
. tests/lib.sh
woken() {
	sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"
}
now_ms() {
	echo $((${EPOCHREALTIME/./} / 1000))
}
"$WEFT" record -q -o "$T/trace" -- "$P/p_idle" 9 >"$T/out" 2>"$T/err" &
recorder=$!
is_asleep() {
	at_work=$(pgrep -P $recorder -x weft-record) &&
		grep -qs '^State:.*S' "/proc/$(pgrep -P $recorder \
			-x p_idle)/status"
}
await is_asleep || fail "the program does not sleep"
began=$(now_ms)
before=$(woken $at_work)
sleep 5
times=$(($(woken $at_work) - before))
ms=$(($(now_ms) - began))
wait $recorder || fail "weft record fails"
echo "note: an idle recording woke up $times times in $ms ms"
[ $times -le $((ms / 10)) ] || fail "it woke up $times times in $ms ms"
report
[ "$(calls nap)" = 1 ] || fail "it was not recorded"
exit 0
