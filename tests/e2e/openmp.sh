#!/bin/bash
# OpenMP, by gcc's libgomp and clang's libomp: what each thread does in a region or
# a task stands under the calls that began it, whichever thread made these; with
# counts and times of each thread as the program says. In all views, where calls
# are only counted, and in a program that is attached to.
# SPDX-License-Identifier: MIT
. tests/lib.sh
export OMP_NUM_THREADS=4 OMP_DYNAMIC=false

# said OPTION...: "leaf STACK TID CALLS NS" of each thread, from weft tree; NS on the
# CPU, or elapsed where that is not known.
said() {
	"$WEFT" tree --csv --min-share 0 --recursion none --tables thread \
		--columns total-cpu,total,calls,function,node,parent "$@" \
		"$T/trace" 2>"$T/report.err" >"$T/tree" || fail "weft tree"
	awk -F, 'FNR == 1 {
			for (i = 1; i <= NF; i++) at[$i] = i
			next
		}
		{
			name = $at["function"]
			gsub(/"/, "", name)
			parent = $at["parent"]
			its = path[parent] ";" name
			if (name ~ /^\.omp|^return of/) its = path[parent]
			if (name ~ /^main chunk/) its = path[parent] ";script"
			if (name ~ /^job/) its = path[parent] ";job"
			if (parent == 0) {
				split(name, word, " ")
				tid = word[2]
				its = ""
			} else if (path[parent] == "" && name != "main" &&
				 name !~ / \[sampled\]$/)
				print "wrong root " name
			path[$at["node"]] = its
			cpu = $at["total_cpu_ns"]
			if (name == "leaf" && $at["calls"] > 0)
				print "leaf", substr(path[parent], 2), tid, \
					$at["calls"], \
					cpu == "" ? $at["total_ns"] : cpu
		}' "$T/tree" | sort
}

# same PERCENT OPTION...: it is what the program says, the times within so much;
# 100: times are not compared, nor are they of threads that were just begun.
same() {
	local percent=$1
	shift
	said "$@" >"$T/said"
	grep '^leaf' "$T/out" | awk -v percent="$percent" '
		function near(ns, its, calls, d) {
			d = ns - its
			d = d < 0 ? -d : d
			return percent == 100 || /inner/ ||
			       d <= percent * its / 100 + 3000 * calls
		}
		NR == FNR { calls[$2, $3] = $4; ns[$2, $3] = $5; n++; next }
		$1 != "leaf" || calls[$2, $3] != $4 ||
		    !near($5, ns[$2, $3], $4) {
			print "not " calls[$2, $3] " calls, " ns[$2, $3] \
				" ns: " $0
			bad = 1
		}
		{ seen++ }
		END { exit bad || seen != n || n < 20 }' - "$T/said"
}

right() {
	record "$@" || fail "weft record fails: $*"
	same 10 --raw
}

builds=${BUILDS:-gcc-O0 gcc-O2 clang-O0 clang-O2}
[ -z "${DEEP-}" ] || builds='gcc-O0 gcc-O1 gcc-O2 gcc-O3
	clang-O0 clang-O1 clang-O2 clang-O3'
for build in $builds; do
	one_of 8 right "$P/p_omp-$build"
	report
	nothing_lost
	no_unwinds
	"$WEFT" export --format folded "$T/trace" >"$T/folded" ||
		fail "weft export"
	! grep -v '^[^;]*\(;main\| [0-9]\)' "$T/folded" ||
		fail "$build: a stack that does not begin with main"
	"$WEFT" slow main "$T/trace" >"$T/slow" 2>&1 || fail "weft slow"
	grep -q '^main.*1 call' "$T/slow" || fail "more than one call of main"
done

# What is borrowed is in each chunk, wherever that begins.
record --min-duration 1us -- "$P/p_omp-gcc-O2" || fail "--min-duration"
same 100 || fail "--min-duration: other calls"
record --max-depth 5 -- "$P/p_omp-gcc-O2" || fail "--max-depth"
"$WEFT" check "$T/trace" >"$T/said" || fail "--max-depth: $(cat "$T/said")"
record --count-only -- "$P/p_omp-gcc-O2" || fail "--count-only"
same 100 || fail "--count-only: other calls"
# What is a coroutine's body where the region was begun is one where it is run.
"$WEFT" tree --csv --raw --min-share 0 "$T/trace" 2>"$T/report.err" |
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		/job <script/ { n++; bodies += $at["is_body"] }
		END { exit n != 1 || bodies != 1 }' ||
	fail "--count-only: $("$WEFT" tree --min-share 0 "$T/trace")"
exit 0
