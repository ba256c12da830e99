#!/bin/bash
# A process with four busy threads is killed: what it had recorded is there, to
# the call.
# SPDX-License-Identifier: MIT
. tests/lib.sh
"$WEFT" record --on-full wait -o "$T/trace" -- "$P/p_kill" "$T/counts" \
	>"$T/out" 2>"$T/err" &
recorder=$!
for i in $(seq 300); do
	pid=$(pgrep -f "^$P/p_kill $T/counts" | head -n 1)
	[ -n "$pid" ] && [ -s "$T/counts" ] && break
	sleep 0.1
done
[ -n "$pid" ] || fail "the program did not start"
own() {
	od -An -t u8 -j $(($1 * 64)) -N 8 "$T/counts" | tr -d ' '
}
sleep 0.4
for i in 0 1 2 3; do
	for j in $(seq 100); do
		[ "$(own $i)" -gt 10000 ] && break
		sleep 0.1
	done
done
kill -9 "$pid"
wait $recorder
status=$?
[ $status = 137 ] || fail "weft record ends with $status, not 137"
report
nothing_lost
for i in 0 1 2 3; do
	own=$(own $i)
	weft=$(calls work_$i)
	[ "$own" -gt 10000 ] || fail "work_$i hardly ran: $own"
	[ "$weft" = "$own" ] || [ "$weft" = $((own + 1)) ] ||
		fail "work_$i: $own calls finished, weft says $weft"
done
