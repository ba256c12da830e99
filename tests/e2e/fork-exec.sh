#!/bin/bash
# Processes that fork, exec, vfork and close their descriptors: every one's
# calls are there, each under its own identity.
# SPDX-License-Identifier: MIT
. tests/lib.sh
record "$P/p_fork" || fail "weft record fails"
report
nothing_lost
same_calls
n=$("$WEFT" info "$T/trace" | awk '$1 == "processes" { print $2 }')
[ "$n" = 3 ] || fail "$n processes, not 3"
# Threads that fork while others call: all fit into the pool.
record "$P/p_prefork" 8 || fail "weft record fails"
report
nothing_lost
same_calls
record "$P/p_exec" || fail "weft record fails"
report
nothing_lost
same_calls
grep 'not recorded' "$T/err" && fail "p_exec: it was recorded"
# Images that come and go: none is said to have been missed.
record sh -c 'for i in $(seq 100); do (exec env true); done
	exec env "$0"' "$P/p_exec" || fail "weft record fails"
report
nothing_lost
same_calls
grep 'not recorded' "$T/err" && fail "a recorded program is said to be missed"
exit 0
