#!/bin/bash
# The recorder is killed: the program goes on, ends as it would have, and what
# had been delivered is read and said to be incomplete.
# SPDX-License-Identifier: MIT
. tests/lib.sh
"$WEFT" record -o "$T/trace" -- "$P/p_slow" 3 >"$T/out" 2>"$T/err" &
recorder=$!
await grep -q '^pid' "$T/out" || fail "the program did not start"
pid=$(sed -n 's/^pid //p' "$T/out")
sleep 1
kill -9 $recorder
wait $recorder 2>/dev/null
await grep -q '^calls' "$T/out"
grep -qx 'calls 300000 tick' "$T/out" || fail "the program did not finish"
"$WEFT" report --csv "$T/trace" >"$T/report.csv" 2>"$T/report.err"
if [ -s "$T/report.csv" ]; then
	[ "$(calls tick)" -gt 1000 ] || fail "little was delivered"
	grep -qx '# nothing was lost' "$T/report.err" &&
		fail "it says that nothing was lost"
else
	fail "nothing can be read"
fi

# What it left in /dev/shm goes with the next recording.
pool=$(cat "$T/trace/pool") && [ -n "$pool" ] || fail "no name of the pool"
record "$P/p_exit" exit
[ ! -e "$pool" ] || fail "the dead recorder's pool is still there"

# A program that waits for it (--on-full wait) does not wait for ever.
rm -rf "$T/trace"
"$WEFT" record --pool-size 2M --on-full wait -o "$T/trace" -- \
	"$P/p_flood" 30 >"$T/out" 2>"$T/err" &
recorder=$!
has_recorded() {
	[ -n "$(find "$T/trace" -size +1M 2>/dev/null)" ]
}
await has_recorded
kill -9 $recorder
wait $recorder 2>/dev/null
await grep -q '^calls' "$T/out"
grep -qx 'calls 30000000 drop' "$T/out" || fail "the program waits"
exit 0
