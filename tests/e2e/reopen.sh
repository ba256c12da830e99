#!/bin/bash
# An instrumented library opened and closed 50 times, another in its place each
# time between; and a program whose malloc is instrumented: every call counts,
# under its own name, and the program does what it does alone.
# SPDX-License-Identifier: MIT
. tests/lib.sh
same() {
	local status
	"$@" >"$T/plain"
	status=$?
	record "$@"
	local got=$?
	[ $got = $status ] || fail "$1: status $got, not $status"
	report
	same_calls
}
same "$P/p_reopen" "$P/p_plugin_a" "$P/p_plugin_b"
nothing_lost
cmp "$T/out" "$T/plain" || fail "p_reopen: another output"
grep -q 'one address: yes' "$T/out" || echo "note: the libraries never met"
same "$P/p_malloc"
# With one library more to load, the loader may call malloc more often.
[ "$(sed 's/[0-9]\+/N/' "$T/out")" = "$(sed 's/[0-9]\+/N/' "$T/plain")" ] ||
	fail "p_malloc: another output"
# Of a thread that has ended, to itself and to weft, libc frees what is NULL: that
# is counted as lost, and nothing else is.
freed=$(sed -n 's/^freed //p' "$T/out")
late=$(sed -n 's/^# lost: \([0-9]*\) calls of threads after .*/\1/p' \
	"$T/report.err")
[ $(($(calls free) + ${late:-0})) = "$freed" ] ||
	fail "free: $freed calls, weft has $(calls free) and ${late:-0} too late"
grep '^# lost: ' "$T/report.err" |
	grep -vE 'after their last destructor|says that it is not complete' &&
	fail "something else was lost"
exit 0
