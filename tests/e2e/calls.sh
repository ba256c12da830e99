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
	none_skipped "$1"
}

# Of each call that ended without a word, it was said why, when it ended.
none_skipped() {
	"$WEFT" dump "$T/trace" >"$T/dump" 2>/dev/null ||
		fail "weft dump fails"
	n=$(grep -cE 'why=(skipped|reset)' "$T/dump")
	[ "$n" = 0 ] || fail "$1-$build: $n calls said to be skipped"
}

# thrown P_CPP: what is called after an exception stands under who caught it.
thrown() {
	record "$1" throw || fail "$1 throw fails"
	report
	nothing_lost
	same_calls
	called_by "after(int)" "catcher(int)"
	called_by "risky(int)" "catcher(int)" "looper(int)"
	called_by "catcher(int)" main
}

# What an exception runs on its way stands under the call whose it is: so often
# as that was called.
own_destructors() {
	"$WEFT" export --format csv -o "$T/stacks" "$T/trace" || fail "no csv"
	awk -F, '$5 > 0 && /,deep\(int\),/ { deep[$1] = $13 }
	/,guard::~guard\(\),/ { own[$2] += $13 }
	END { for (id in own) if (!(id in deep)) exit 1
	for (id in deep) { n++; if (own[id] != deep[id]) exit 1 }
	exit n == 0 }' "$T/stacks" ||
		fail "destructors are not their own: $(cat "$T/stacks")"
}

# Where the unwinder is the program's own, nobody tells that an exception lands:
# the next call that lies above shows it, and each report says how many calls
# ended so: all of deep, and of risky those that were caught, in catcher (each calls
# after) and 300 in looper.
unled() {
	local ended said of
	clang++ -g -O0 -std=c++17 -finstrument-functions -DSMALL -static-libgcc \
		-static-libstdc++ -o "$T/unled" tests/prog/p_cpp.cc ||
		fail "unled: not built"
	thrown "$T/unled"
	ended=$(awk '/ (deep|after)\(int\)$/ { n += $2 } END { print n + 300 }' \
		"$T/out")
	"$WEFT" export -o "$T/throw.pb.gz" "$T/trace" 2>"$T/report.err" ||
		fail "no profile"
	for of in "$T/trace" "$T/throw.pb.gz"; do
		"$WEFT" tree "$of" >"$T/tree"
		said=$(sed -n 's/^note: \(.*\) native calls ended without .*/\1/p' \
			"$T/tree" | tr -d ,)
		[ "$said" = "$ended" ] ||
			fail "unled: $ended calls ended by exceptions, not $said"
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

	thrown "$P/p_cpp-$build"
	own_destructors
	none_skipped "p_cpp throw"
done
unled
