#!/bin/bash
# Inlined, recursive, jumped-over and templated functions, by both compilers at
# two levels each, and at every level with DEEP=1: every call is counted, and
# none is said to be skipped that was not. BUILDS: these alone.
# time: 900
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

builds="gcc-O0 gcc-O2 clang-O1 clang-O3"
[ -z "${DEEP-}" ] || builds=$(echo {gcc,clang}-O{0,1,2,3})
for build in ${BUILDS:-$builds}; do
	record "$P/p_dispatch-$build" || fail "p_dispatch-$build fails"
	report
	nothing_lost
	same_calls
	# main and the jumpers: nothing else ends by a jump.
	"$WEFT" dump "$T/trace" >"$T/dump" 2>/dev/null ||
		fail "weft dump fails"
	n=$(grep -c 'why=longjmp' "$T/dump")
	[ "$n" = 1500 ] || fail "$build: $n jumps, not 1500"
	n=$(grep -cE 'why=(skipped|reset)' "$T/dump")
	[ "$n" = 0 ] || fail "$build: $n calls said to be skipped"

	record "$P/p_cpp-$build" || fail "p_cpp-$build fails"
	report
	nothing_lost
	same_calls
	no_unwinds

	record "$P/p_cpp-$build" throw || fail "p_cpp-$build throw fails"
	report
	nothing_lost
	same_calls
	called_by "after(int)" "catcher(int)"
	called_by "risky(int)" "catcher(int)" "looper(int)"
	called_by "catcher(int)" main
done
