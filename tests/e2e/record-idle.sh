#!/bin/bash
# A recording of a program that sleeps costs less than 0.5 % of a core.
# SPDX-License-Identifier: MIT
. tests/lib.sh
ticks() {
	# utime and stime, behind the name in parentheses.
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}
"$WEFT" record -q -o "$T/trace" -- "$P/p_idle" 7 >"$T/out" 2>"$T/err" &
recorder=$!
sleep 1.5
before=$(ticks $recorder)
sleep 5
used=$(($(ticks $recorder) - before))
wait $recorder || fail "weft record fails"
ms=$((used * 1000 / $(getconf CLK_TCK)))
echo "note: an idle recording used $ms ms in 5 s"
[ $ms -le 25 ] || fail "$ms ms of CPU time in 5 s"
report
[ "$(calls nap)" = 1 ] || fail "it was not recorded"
exit 0
