#!/bin/bash
# Children of a program with threads, some unknown to libc: each call is there,
# and weft record sees all of them end.
# SPDX-License-Identifier: MIT
. tests/lib.sh
timeout 300 "$WEFT" record --on-full wait -o "$T/trace" -- "$P/p_clone" \
	>"$T/out" 2>"$T/err"
status=$?
[ $status = 124 ] && fail "weft record waits for processes that have ended"
[ $status = 0 ] || fail "status $status"
report
nothing_lost
read -r threads children <"$T/out"
[ "$(calls in_thread)" = "$threads" ] || fail "not $threads calls of in_thread"
[ "$(calls in_child)" = "$children" ] || fail "not $children calls of in_child"
