#!/bin/bash
# Inlined, recursive, jumped-over and templated functions, by both compilers at
# every level: every call is counted, and none is said to be skipped that was
# not. COMPILERS and LEVELS: these alone.
# time: 300
# SPDX-License-Identifier: MIT
. tests/lib.sh

# called_by FUNCTION CALLER...: no other function calls it.
called_by() {
	"$WEFT" tree --csv "$T/trace" 2>/dev/null | awk -F, '
	BEGIN {
		for (i = 2; i < ARGC; i++)
			may[ARGV[i]]
		name = ARGV[1]
		ARGC = 1
	}
	{
		of[$1] = $4
		if ($4 == name) {
			seen++
			if (!(of[$2] in may)) {
				print name " is said to be called by " of[$2]
				bad = 1
			}
		}
	}
	END { exit bad || seen == 0 }' "$@" || fail "a wrong caller of $1"
}

for c in ${COMPILERS:-gcc clang}; do
	for o in ${LEVELS:-O0 O1 O2 O3}; do
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
		called_by "after(int)" "catcher(int)"
		called_by "risky(int)" "catcher(int)" "looper(int)"
		called_by "catcher(int)" main
	done
done
