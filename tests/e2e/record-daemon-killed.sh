#!/bin/bash
# LTTng's daemons are killed while a program is recorded: nothing hangs, the
# user is told, and not a call is lost, whatever its chunks are packed with.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc

mkfifo "$T/in"
killed() {
	local who=$1 way=$2 pids
	rm -rf "$HOME/trace" "$T/out" # what the last program said
	as_user "$WEFT" record --compress "$way" -o "$HOME/trace" -- \
		"$P/p_slow" 1 1 <"$T/in" >"$T/out" 2>"$T/err" &
	local recorder=$!
	exec 5>"$T/in"
	await test -s "$T/out" || fail "$who: the program does not run"
	got_daemon "$T/err" $recorder
	is_recording() {
		pids=$($who)
		[ -n "$pids" ]
	}
	await is_recording || fail "$who: there is none"
	await grep -qx waits "$T/out" || fail "$who: the program does not run"
	kill -9 $pids
	local before=$SECONDS
	exec 5>&-
	wait $recorder
	[ $? = 9 ] || fail "$who: weft record fails"
	[ $((SECONDS - before)) -lt 100 ] || fail "$who: it hung"
	grep -q 'LTTng is no longer used' "$T/err" || fail "$who: nobody is told"
	[ -s "$HOME/trace/spill.weft" ] || fail "$who: no spill file"
	"$WEFT" info "$HOME/trace" | grep -q "^packing .*$3" ||
		fail "$who: packed otherwise"
	rm -rf "$T/trace"
	cp -r "$HOME/trace" "$T/trace"
	report
	[ "$(calls tick)" = 200000 ] || fail "$who: $(calls tick) calls"
	# That LTTng was given up is told; that nothing went with it counts.
	grep '^# lost' "$T/report.err" | grep -v 'the recorder says' &&
		fail "$who: something was lost"
	clean_up
	mkdir -p "$HOME"
	[ "$(id -u)" != 0 ] || chown 65534:65534 "$HOME"
}
killed consumers small "with zstd"
killed daemon none "not compressed"
exit 0
