#!/bin/bash
# A program that gave up system calls is not killed for one of weft's.
# SPDX-License-Identifier: MIT
. tests/lib.sh
"$P/p_seccomp" filter >"$T/plain" || { echo "no seccomp here"; exit 77; }
record "$P/p_seccomp" filter || fail "filter: the program ends otherwise"
grep -qx alive "$T/out" || fail "filter: it did not get to its end"
report
nothing_lost
[ "$(calls leaf)" = 101000 ] || fail "filter: $(calls leaf) calls of leaf"

# Strict mode takes the clock, too: the record ends there, and says so.
record "$P/p_seccomp" strict || fail "strict: the program ends otherwise"
grep -qx alive "$T/out" || fail "strict: it did not get to its end"
grep -q "strict mode" "$T/err" || fail "strict: nothing is said of it"
report
[ "$(calls leaf)" = 1000 ] || fail "strict: $(calls leaf) calls of leaf"
