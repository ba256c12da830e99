#!/bin/bash
# What the commands print does not depend on --jobs: fibers that move between
# threads and own Lua states, handlers that interrupt hooks, many threads, forked
# processes, a trace with loss, a range of time, more stacks than --max-nodes.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS

# print JOBS DIR: what all commands say.
print() {
	local n=0 c
	mkdir -p "$2"
	for c in "report --csv --columns all --top 0" "report --by body --csv" \
		"report --by vm --csv" "report --tables thread --top 0" \
		"report --by process --csv" "tree --csv --min-share 0" \
		"tree --root coroutine --csv" "callers --all --csv" \
		"coroutines --csv --top 0" "coroutines --by body" \
		"export -f speedscope -o $2/speedscope" \
		"export -f pprof -o $2/pprof" info check \
		"report --from 20ms --to 150ms --csv"; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		"$WEFT" $c --jobs "$1" $limit "$T/trace" >"$2/$n" 2>&1
		echo "status $?" >>"$2/$n"
	done
}
# same NAME JOBS: with so many as with one; with DEEP=1, with others, too.
same() {
	local jobs
	rm -rf "$T"/jobs-*
	print 1 "$T/jobs-1"
	! grep -L 'status [02]$' "$T"/jobs-1/[0-9]* | grep . ||
		fail "$1: not with one job"
	for jobs in ${DEEP:+2 3 4 16} "$2"; do
		print $jobs "$T/jobs-$jobs"
		diff -r "$T/jobs-1" "$T/jobs-$jobs" >"$T/diff" ||
			fail "$1: another result with $jobs jobs:" \
				"$(head -n 20 "$T/diff")"
	done
}
span=0.1
[ -z "${DEEP-}" ] || span=0.5
limit=
record "$P/p_fibers" api 1 24 4 || fail "fibers"
same fibers 2
limit="--max-nodes 30"
same "fibers, folded" 3
grep -q 'deeper' "$T/jobs-1/1" || fail "nothing was folded"
limit=
record "$P/p_handlers" 1000 "$span" || fail "handlers"
same handlers 16
record --pool-size 2M -- "$P/p_flat_out" 24 40000 || fail "flat out"
same "many threads" 3
record "$P/p_fork" || fail "fork"
same fork 2
record "$P/p_fibers" context 2 12 1 300 || fail "context"
find "$T/trace" -name 'chunks_0' -size +0 -delete
same "without a stream" 16
exit 0
