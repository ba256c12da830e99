#!/bin/bash
# Two recordings at one time, of one user or of two, share LTTng's daemon, not
# their chunks; and the last one stops the daemon that one of them started.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc

# pair WHO WHO: commands to run them with, "env" for as we are.
pair() {
	rm -rf "$HOME/a" "$HOME/b"
	"$1" "$WEFT" record -q -o "$HOME/a" -- "$P/p_slow" 1 >"$T/a" \
		2>"$T/a.err" &
	"$2" "$WEFT" record -q -o "$HOME/b" -- "$P/p_slow" 2 >"$T/b" \
		2>"$T/b.err"
	[ $? = 9 ] || fail "$1 $2: b"
	wait $!
	[ $? = 9 ] || fail "$1 $2: a"
	for t in a b; do
		got_daemon "$T/$t.err"
		rm -rf "$T/trace"
		cp -r "$HOME/$t" "$T/trace"
		cp "$T/$t" "$T/out"
		[ ! -e "$T/trace/spill.weft" ] ||
			fail "$1 $2: $t: LTTng was not used"
		report
		nothing_lost
		same_calls
		n=$("$WEFT" info "$T/trace" | grep -cE '^ *[0-9]+ pid ')
		[ "$n" = 1 ] || fail "$1 $2: $t: $n processes"
	done
}
pair as_user as_user
no_consumers() {
	[ -z "$(consumers)" ]
}
await no_consumers || fail "the daemon is still there"
[ "$(id -u)" = 0 ] || exit 0
chmod 777 "$HOME"
pair env env
pair env as_user
exit 0
