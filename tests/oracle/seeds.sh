#!/bin/bash
# The random program, by both compilers at every level and with every version of
# Lua: its account and weft's are the same for each of 104 seeds, which they share
# (200 for each with DEEP=1), and with Lua 5.4, which has them all, each construct
# ran often enough.
# each: gcc-O0 gcc-O1 gcc-O2 gcc-O3 clang-O0 clang-O1 clang-O2 clang-O3 lua5.5 lua5.3 lua5.2 lua5.1 luajit
# time: 1800
# SPDX-License-Identifier: MIT
set -u
. tests/oracle/share.inc
share "$1" 104 200
program=$B/tests/oracle/woven-$1

# A recording waits more than it computes: two at a time, of many runs each.
half() {
	mkdir "$T/$1"
	# shellcheck disable=SC2046
	BATCH=10 ACCOUNTS=$T/accounts.$1 T=$T/$1 tests/oracle/seed \
		"$program" $(seq "$1" 2 $to)
}
status=0
half $from &
half $((from + 1)) || status=1
wait $! || status=1

# At least 1,000 times in 200 seeds; some seeds have less than their share.
least=0
case $1 in
gcc-* | clang-*) least=1000 ;;
esac
[ -n "${DEEP-}" ] || least=$((least * (to - from + 1) / 400))
cat "$T"/accounts.* | awk -v least=$least -v seeds="$from to $to" '
	{ n[$2] += $3 }
	END {
		for (c in n) {
			line = line sprintf("%s %d, ", c, n[c])
			if (n[c] < least) {
				printf "%s ran only %d times\n", c, n[c]
				bad = 1
			}
		}
		if (line == "") {
			print "no account"
			bad = 1
		}
		print "note: seeds " seeds ", constructs: " line
		exit bad
	}' || status=1
exit $status
