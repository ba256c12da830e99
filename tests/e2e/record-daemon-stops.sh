#!/bin/bash
# LTTng's daemons are stopped for a while, as a machine without memory or a
# debugger stops them, and go on: the program is not held up, and no call is lost.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
: "${STOP:=$([ "${DEEP:-}" = 1 ] && echo 10 || echo 1)}"
mkfifo "$T/in"

# stopped WHO: while the program calls, and when it ends.
stopped() {
	local who=$1 name=$2 pids
	rm -f "$T/out" # what the last program said
	as_user "$WEFT" record -o "$HOME/$name" -- "$P/p_slow" 0.1 0.5 \
		<"$T/in" >"$T/out" 2>"$T/err" &
	local recorder=$!
	exec 5>"$T/in"
	await grep -qx waits "$T/out" || fail "$who: the program does not run"
	got_daemon "$T/err" $recorder
	pids=$($who)
	[ -n "$pids" ] || fail "$who: there is none"
	kill -STOP $pids
	exec 5>&-
	await grep -q '^calls' "$T/out" || fail "$who: the program is held up"
	sleep "$STOP"
	kill -CONT $pids
	wait $recorder
	[ $? = 9 ] || fail "$who: weft record fails"
	rm -rf "$T/trace"
	cp -r "$HOME/$name" "$T/trace"
	report
	same_calls
	grep '^# lost' "$T/report.err" | grep -v 'the recorder says' &&
		fail "$who: something was lost"
	[ "$(calls tick)" = 60000 ] || fail "$who: $(calls tick) calls"
}
both() {
	daemon
	consumers
}
trap 'kill -CONT $(both) 2>/dev/null; clean_up' EXIT
stopped daemon a
stopped consumers b
stopped both c
exit 0
