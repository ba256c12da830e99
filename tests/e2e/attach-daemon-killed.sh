#!/bin/bash
# LTTng's session daemon, its consumers, or all of them are killed while a program
# is recorded that was attached to: it goes on, each call between two marks is
# there, and it can be attached again.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
if [ "$(id -u)" = 0 ]; then
	T=$HOME as_user bash "$0"
	exit $?
fi
. tests/e2e/attach.inc

has_carrier() {
	"$WEFT" status "$pid" | grep -qE '^carrier *(lttng|spill)$'
}
killed() {
	attach
	await has_carrier || fail "$*: it has not decided about LTTng"
	got_daemon "$T/err"
	pids=$("$@")
	[ "$pids" ] || fail "$*: there is none"
	kill -9 $pids
	ask "round 500"
	detach
	grep -q 'LTTng is no longer used' "$T/err" || fail "$*: nobody is told"
	report --since-mark begin --until-mark end
	grep '^# lost' "$T/report.err" | grep -v 'the recorder says' &&
		fail "$*: something was lost"
	[ "$(calls step)" = 2000 ] || fail "$*: $(calls step) calls of step"
	ask off
}
both() {
	daemon
	consumers
}
begin env LD_PRELOAD="$B/lib/libweft.so" "$P/p_attach" 4
ask off
killed daemon
killed both
killed consumers # the daemon has none any more
end
