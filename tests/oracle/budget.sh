#!/bin/bash
# The random program with a budget that cannot be kept: more and more functions
# are counted while it runs, also those that begin coroutines, catch errors or
# handle signals. Of each function, the account and weft have the same calls. By
# whom is not compared: what a counted function calls has another caller.
# each: gcc-O2 clang-O0 gcc-O3 lua5.5 lua5.3 lua5.2 lua5.1 luajit gcc-O0
# time: 900
# SPDX-License-Identifier: MIT
set -u
. tests/oracle/share.inc
share "$1" 90 180
status=0
# shellcheck disable=SC2046
BATCH=10 KEEP=1 TAILS=calls RECORD_OPTIONS="--budget 0.1% --lua exact --on-full wait" \
	tests/oracle/seed "$B/tests/oracle/woven-$1" $(seq $from $to) ||
	status=1
for trace in "$T"/*/trace; do
	"$WEFT" info "$trace" | sed -n 's/^budget.counted *//p'
done >"$T/counted"
if [ "$(sort -n "$T/counted" | tail -n 1)" -lt 100 ]; then
	echo "hardly anything is counted: $(tr '\n' ' ' <"$T/counted")"
	status=1
fi
exit $status
