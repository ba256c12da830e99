#!/bin/bash
# --duration and --duty: recording is on when they say, and what the program
# called then is there, but for one call at each turn.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# told TURNS: the program's counts and the report's, of a trace in $T/trace. A
# program that is held up between looking and calling may not see two turns.
told() {
	local in out slack=$((2 * $1))
	in=$(sed -n 's/^inside //p' "$T/out")
	out=$(sed -n 's/^outside //p' "$T/out")
	report
	nothing_lost
	echo "note: inside $in: $(calls inside); outside $out: $(calls outside)"
	[ "$in" -gt 0 ] && [ "$(calls inside)" -le "$in" ] &&
		[ "$(calls inside)" -ge $((in - slack)) ] ||
		fail "inside: $(calls inside) of $in, $1 turns"
	[ "$(calls outside)" -le $slack ] || fail "outside: $(calls outside)"
}

# On at the start, then four more windows.
record --duty 40ms/100ms -- "$P/p_windows" 9
[ $? = 5 ] || fail "--duty: status"
told 9
"$WEFT" info "$T/trace" | grep -q 'duty  *0.04s/0.1s of 1' || fail "info: duty"
record --duty 50ms/50ms --of 3 -- "$P/p_windows" 4
told 4

# The recording ends and the program goes on: weft record ends as it does.
record --duration 1s -- "$P/p_windows" 1
[ $? = 5 ] || fail "--duration: status"
told 1
# It is over when the summary says, and not after.
took=$(sed -n 's/^weft: recorded \([0-9.]*\) s.*/\1/p' "$T/err")
"$WEFT" info "$T/trace" | awk -v took="$took" '$1 == "duration" {
	has = $2 / ($3 == "ms" ? 1000 : 1); exit !(has > took - 0.07 && has < took + 0.07) }' ||
	fail "recorded $took s: $("$WEFT" info "$T/trace" | grep ^duration)"

# After the end, the program cannot turn it on again: neither waits for the
# other.
RECORD_LIMIT=100 record --on-full wait --pool-size 1M --duration 300ms -- \
	"$P/p_windows" 1 again
[ $? = 5 ] || fail "recording on again: status"
grep -qx 'changes 1' "$T/out" || fail "it is on again after the end"
told 1

refuse() {
	"$WEFT" record -o "$T/none" "$@" true >"$T/o" 2>"$T/err"
	[ $? = 1 ] || fail "$*: it is not refused"
}
refuse --duration 1
refuse --duration 1ms
refuse --duty 10s
refuse --duty 20s/10s
refuse --of 2
refuse --duty 1s/2s --of 0
refuse --duty 1s/2s --paused

# The recording ends while threads go from one chunk to the next, which a build
# for tests prolongs: what was closed at that moment is not missing.
[ -e "$B/breaks/lib/libweft.so" ] || exit 0
mkdir "$T/slow"
cp -r "$B/bin" "$B/lib" "$B/libexec" "$T/slow/"
cp "$B/breaks/lib/libweft.so" "$T/slow/lib/"
for _ in 1 2 3 4 5 6; do
	WEFT=$T/slow/bin/weft WEFT_TEST_BREAK=closed record --duration 150ms \
		-- "$P/p_flat_out" 32 200000
	"$WEFT" check "$T/trace" | grep '[1-9][0-9]* chunks missing' &&
		fail "a chunk is missing"
done
exit 0
