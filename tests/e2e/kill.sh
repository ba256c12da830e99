#!/bin/bash
# A process with four busy threads is killed: what it had recorded is there, to
# the call, whatever its chunks are packed with.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/p_kill.inc
enough=300000 # that is some chunks
for way in auto none small; do
	rm -rf "$T/trace" "$T/counts"
	"$WEFT" record --compress "$way" --on-full wait -o "$T/trace" -- "$P/p_kill" "$T/counts" \
		>"$T/out" 2>"$T/err" &
	recorder=$!
	await started || fail "the program did not start"
	for i in 0 1 2 3; do
		await has_called $i || fail "thread $i does not call"
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
		[ "$own" -gt $enough ] || fail "work_$i hardly ran: $own"
		[ "$weft" = "$own" ] || [ "$weft" = $((own + 1)) ] ||
			fail "work_$i: $own calls finished, weft says $weft"
	done
done
