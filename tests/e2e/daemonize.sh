#!/bin/bash
# A program that goes into the background is recorded to its end, and weft
# record waits for it.
# SPDX-License-Identifier: MIT
. tests/lib.sh
record "$P/p_daemon" "$T/daemon.out" || fail "weft record fails"
[ -s "$T/daemon.out" ] || fail "weft record did not wait for the daemon"
cp "$T/daemon.out" "$T/out"
report
nothing_lost
same_calls
