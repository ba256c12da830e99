#!/bin/bash
# Inlined, recursive, jumped-over and templated functions, by both compilers at
# every level: every call is counted, and none is said to be skipped that was
# not.
# time: 300
# SPDX-License-Identifier: MIT
. tests/lib.sh
for c in gcc clang; do
	for o in O0 O1 O2 O3; do
		record "$P/p_dispatch-$c-$o" || fail "p_dispatch-$c-$o fails"
		report
		nothing_lost
		same_calls
		# main and the jumpers: nothing else ends by a jump.
		"$WEFT" dump "$T/trace" >"$T/dump" 2>/dev/null ||
			fail "weft dump fails"
		n=$(grep -c 'why=longjmp' "$T/dump")
		[ "$n" = 1500 ] || fail "$c -$o: $n jumps, not 1500"
		n=$(grep -cE 'why=(skipped|reset)' "$T/dump")
		[ "$n" = 0 ] || fail "$c -$o: $n calls said to be skipped"

		record "$P/p_cpp-$c-$o" || fail "p_cpp-$c-$o fails"
		report
		nothing_lost
		same_calls
		no_unwinds

		record "$P/p_cpp-$c-$o" throw || fail "p_cpp-$c-$o throw fails"
		report
		nothing_lost
		same_calls
	done
done
