#!/bin/bash
# The recorder is killed: the program goes on, ends as it would have, and what
# had been delivered is read and said to be incomplete.
# SPDX-License-Identifier: MIT
. tests/lib.sh
mkfifo "$T/in"
"$WEFT" record -o "$T/trace" -- "$P/p_slow" 1 1 <"$T/in" >"$T/out" 2>"$T/err" &
recorder=$!
exec 5>"$T/in"
is_delivered() {
	"$WEFT" report --csv "$T/trace" >"$T/report.csv" 2>"$T/report.err"
	[ "$(calls tick)" -gt 1000 ]
}
await is_delivered || fail "nothing is delivered while it runs"
kill -9 $recorder
wait $recorder 2>/dev/null
exec 5>&-
await grep -q '^calls' "$T/out"
grep -qx 'calls 200000 tick' "$T/out" || fail "the program did not finish"
"$WEFT" report --csv "$T/trace" >"$T/report.csv" 2>"$T/report.err"
if [ -s "$T/report.csv" ]; then
	[ "$(calls tick)" -gt 1000 ] || fail "little was delivered"
	grep -qx '# nothing was lost' "$T/report.err" &&
		fail "it says that nothing was lost"
else
	fail "nothing can be read"
fi

# What it left in /dev/shm would be kept for a while.
pool=$(cat "$T/trace/pool") && [ -n "$pool" ] || fail "no name of the pool"
rm -f "$pool"

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
