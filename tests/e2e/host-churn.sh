#!/bin/bash
# Threads that come and go are counted and cost little memory, of which none
# stays behind.
# SPDX-License-Identifier: MIT
. tests/lib.sh
record "$P/p_churn" 8 250 || fail "weft record fails"
report
nothing_lost
[ "$(calls leaf)" = 2000 ] || fail "$(calls leaf) calls of leaf, not 2000"
grep -q "2001 threads" "$T/err" || fail "not 2001 threads"
read -r _ first _ _ late _ <"$T/out"
echo "note: $first kB a thread, $late kB more in later rounds"
[ "$first" -lt 80 ] || fail "a thread takes $first kB"
[ "$late" -lt 4 ] || fail "$late kB a thread are not given back"
