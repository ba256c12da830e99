#!/bin/bash
# The random program, of which calls down to some depth are recorded: the account
# of each stack, cut there, and weft's are the same; so they are where calls are
# only counted, and where brief ones are.
# each: gcc-O2 clang-O0 gcc-O3 lua5.5 lua5.3 lua5.2 lua5.1 luajit gcc-O0
# time: 900
# SPDX-License-Identifier: MIT
set -u
. tests/oracle/share.inc
share "$1" 54 54
status=0
for ((seed = from; seed <= to; seed += 2)); do
	RANDOM=$seed
	export WOVEN_DEPTH=$((RANDOM % 10 + 1))
	options="--on-full wait --max-depth $WOVEN_DEPTH"
	case $((RANDOM % 4)) in
	0) options+=" --count-only" ;;
	1) options+=" --min-duration $((RANDOM % 50 + 1))us" ;;
	esac
	BATCH=2 RECORD_OPTIONS=$options tests/oracle/seed \
		"$B/tests/oracle/woven-$1" "$seed" $((seed + 1)) || {
		echo "  with $options"
		status=1
	}
done
exit $status
