#!/bin/bash
# A program that was started with libweft.so, but not recorded, is recorded while
# it runs, again and again: every call between two marks is there, it answers as
# ever, and gives back what it mapped. It stops no thread.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
times=6
[ "${DEEP:-}" ] && times=100

asks=()
begin env LD_PRELOAD="$B/lib/libweft.so" "$P/p_attach" 4
ask off
for i in $(seq $times); do
	# On a slow machine, fewer.
	[ "$i" -le 6 ] || [ $SECONDS -lt 200 ] || break
	attach
	ask "round 500"
	detach
	right_calls 2000 "time $i"
	[ "${answer% *}" = "calls 2000" ] || fail "it says \"$answer\""
	"$WEFT" dump --raw "$T/trace" >"$T/raw"
	grep -q ' process parent=[1-9]' "$T/raw" && fail "it has a parent"
	ask off
	await has_left || fail "it maps the pool"
	[ "$i" = 3 ] && three=$(awk '/VmSize/ { print $2 }' /proc/$pid/status)
done
now=$(awk '/VmSize/ { print $2 }' /proc/$pid/status)
# A thread that was not let run between two of them holds another pool's place:
# eight there may be, of 64 MiB at most.
[ "$now" -le "$((three + 6 * 65536 + 1024))" ] ||
	fail "it had $three KB, and has $now KB"

# Two recorders that ask at once: one gives up, and leaves the other's alone.
rm -rf "$T/trace" "$T/trace2"
for t in trace trace2; do
	"$WEFT" record -o "$T/$t" -p "$pid" >"$T/$t.out" 2>"$T/$t.err" 8>&- \
		9<&- &
	asks[${#asks[@]}]=$!
done
are_decided() {
	grep -q 'it is being recorded already' "$T/trace.err" "$T/trace2.err"
}
await are_decided || fail "both record it"
if grep -q already "$T/trace.err"; then
	recorder=${asks[1]}
	wait "${asks[0]}"
	rm -rf "$T/trace"
	ln -s "$T/trace2" "$T/trace"
else
	recorder=${asks[0]}
	wait "${asks[1]}"
fi
ask on
ask "round 500"
detach
right_calls 2000 "beside another recorder"

# A recorder that is killed: the program goes on, and can be attached again.
outlives_recorder

# The program ends while it is recorded.
attach
ask "round 500"
end
wait "$recorder" || fail "weft record fails when the program ends: $?"
right_calls 2000 "when the program ends"
grep 'ended by signal\|is not known' "$T/err" && fail "no signal ended it"
true
