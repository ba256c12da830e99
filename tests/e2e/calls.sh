#!/bin/bash
# Inlined, recursive, jumped-over, split and templated functions, by both
# compilers, and at every level with DEEP=1: every call is counted, and none is
# said to be skipped that was not. BUILDS: these alone.
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

# same_jumps PROGRAM N: so many calls end by a jump, and none is lost.
same_jumps() {
	record "$P/$1-$build" || fail "$1-$build fails"
	report
	nothing_lost
	same_calls
	"$WEFT" dump "$T/trace" >"$T/dump" 2>/dev/null ||
		fail "weft dump fails"
	n=$(grep -c 'why=longjmp' "$T/dump")
	[ "$n" = "$2" ] || fail "$1-$build: $n jumps, not $2"
	n=$(grep -cE 'why=(skipped|reset)' "$T/dump")
	[ "$n" = 0 ] || fail "$1-$build: $n calls said to be skipped"
}

# Calls that an exception ended: all of deep, and of risky those that were caught,
# in catcher (each calls after) and 300 in looper. Of clang, each report says so.
tells_of_exceptions() {
	local ended
	ended=$(awk '/ (deep|after)\(int\)$/ { n += $2 } END { print n + 300 }' \
		"$T/out")
	"$WEFT" export -o "$T/throw.pb.gz" "$T/trace" 2>"$T/report.err" ||
		fail "no profile"
	for of in "$T/trace" "$T/throw.pb.gz"; do
		"$WEFT" tree "$of" >"$T/tree"
		said=$(sed -n 's/^note: \(.*\) native calls ended without .*/\1/p' \
			"$T/tree" | tr -d ,)
		case $build in
		clang*) [ "$said" = "$ended" ] ;;
		*) [ -z "$said" ] ;;
		esac || fail "$build: $ended calls ended by exceptions, not $said"
	done
}

builds="gcc-O2 clang-O3"
[ -z "${DEEP-}" ] || builds=$(echo {gcc,clang}-O{0,1,2,3})
for build in ${BUILDS:-$builds}; do
	same_jumps p_dispatch 1500

	same_jumps p_split 200
	called_by split go main quit
	called_by again again back go main quit
	called_by turn back go turn
	called_by back again turn
	called_by kid again split
	called_by tiny split

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
	tells_of_exceptions
done
