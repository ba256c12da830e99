#!/bin/bash
# The flight recorder writes a snapshot when a signal ends a program that it was
# attached to, or a fault another process of a recording, by the program's own
# count; and none if they end well, or are told to end. Its own death does the
# program no harm.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc

# why REASON: the snapshot that there must be says this.
why() {
	"$WEFT" check "$T/trace/snapshot-1" >"$T/check" ||
		fail "weft check: $(cat "$T/check")"
	"$WEFT" report --csv --top 0 --since-mark "$2" --until-mark "$3" \
		"$T/trace/snapshot-1" >"$T/report.csv" 2>"$T/report.err" ||
		fail "weft report: $(cat "$T/report.err")"
	nothing_lost
	grep -q "a snapshot ($1): " "$T/report.err" ||
		fail "not \"$1\": $(cat "$T/report.err")"
}

# child SIGNAL: a child dies of it, of which its parent never hears.
child() {
	rm -rf "$T/in" "$T/trace" "$T/out"
	mkfifo "$T/in"
	"$WEFT" record --flight-recorder 1M -o "$T/trace" -- "$P/p_flight" \
		CHILD 1000 "$1" <"$T/in" >"$T/out" 2>"$T/err" &
	exec 5>"$T/in"
	await grep -q '^calls' "$T/out" || fail "the program does not run"
}

child 11
await test -e "$T/trace/snapshot-1/spill.weft" || fail "no snapshot of a child"
exec 5>&-
wait $! || fail "no record"
why 'process [0-9]* ended by signal 11 (Segmentation fault)' from to
[ "$(calls tiny)" = "$(sed -n 's/^calls //p' "$T/out")" ] ||
	fail "$(calls tiny) calls of a child, $(cat "$T/out")"

# The recorder has heard of it when the program ends.
child 15
exec 5>&-
wait $! || fail "no record"
[ -e "$T/trace" ] && fail "a child that was told to end made a snapshot"

# Who started the program waits for it: before Linux 6.15, how it ended may not
# be found out then.
unknown=
printf '6.15\n%s\n' "$(uname -r)" | sort -VC ||
	unknown='\|it has ended; how is not known'
for signal in 15 11; do
	begin env LD_PRELOAD="$B/lib/libweft.so" "$P/p_attach" 1
	ask off
	begin_recorder --flight-recorder 1M
	ask on
	ask "round 1000"
	n=${answer#calls }
	kill -"$signal" "$pid"
	wait "$recorder" || fail "weft record fails: $?"
	why "ended by signal $signal (.*)$unknown" begin end
	[ "$(calls step)" = "${n%% *}" ] ||
		fail "$(calls step) calls of step; the program says: $answer"
done

# The recorder is killed: the program goes on, and can be attached again.
begin env LD_PRELOAD="$B/lib/libweft.so" "$P/p_attach" 4
ask off
begin_recorder --flight-recorder 1M
ask on
pool=$(grep -om 1 '/dev/shm/weft-[^ ]*' "/proc/$pid/maps")
kill -KILL "$recorder"
wait "$recorder"
await flock -sn "$pool" true || fail "the recorder lives"
ask "round 500"
[ "$answer" = "calls 2000 right" ] || fail "it says \"$answer\""
attach
ask "round 500"
detach
right_calls 2000 "after a flight recorder was killed"
end

[ -n "$unknown" ] && exit 0
begin env LD_PRELOAD="$B/lib/libweft.so" "$P/p_attach" 1
ask off
begin_recorder --flight-recorder 1M
ask on
end
wait "$recorder" || fail "weft record fails: $?"
[ -e "$T/trace" ] && fail "a program that ended well made a snapshot"
exit 0
