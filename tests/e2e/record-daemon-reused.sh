#!/bin/bash
# The daemon that a recorder started has died, and a daemon that the user starts
# has its number: it is not the recorders' to stop.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
command -v lttng-sessiond >/dev/null || { echo "no lttng-sessiond"; exit 77; }

once() {
	rm -rf "$HOME/trace"
	as_user "$WEFT" record -o "$HOME/trace" -- "$P/p_slow" 0 0 </dev/null \
		>"$T/out" 2>"$T/err"
	[ $? = 9 ] || fail "weft record fails"
	got_daemon "$T/err"
}
# The lock of this user and home: the one that is not there before.
locks() {
	find /dev/shm -maxdepth 1 -name "weft-lock-$(as_user id -u)-*" | sort
}
locks >"$T/before"
# Other tests of this user have locks of their own.
is_noted() {
	noted=$(daemon)
	lock=$(locks | comm -13 "$T/before" - |
		xargs -r grep -lE "^$noted( |\$)" | head -n 1)
	[ -n "$noted" ] && [ -n "$lock" ]
}
once
await is_noted || fail "no recorder notes its daemon"
kill -9 "$noted" $(consumers)
has_ended() { ! kill -0 "$noted" 2>/dev/null; }
await has_ended || fail "the daemon lives"

# A child of the one that was killed may hold its lock for a moment.
begins() { as_user lttng-sessiond --daemonize --no-kernel 2>"$T/err"; }
await begins || fail "no daemon: $(cat "$T/err")"
theirs=$(daemon)
echo "$theirs 1" | as_user tee "$lock" >"$T/out"
once
is_gone() { [ ! -e "$lock" ]; }
await is_gone || fail "the last recorder does not look at its daemon"
kill -0 "$theirs" || fail "a recorder stopped a daemon that none started"
