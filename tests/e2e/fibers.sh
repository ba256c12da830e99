#!/bin/bash
# Native coroutines that own Lua states, whose code has coroutines of its own,
# moved between threads at every switch: calls, callers, ids and resumes are
# those the program counted, whoever tells weft of the switches, and whenever
# recording began. Fibers end, are left for ever, jump, and catch errors.
# SPDX-License-Identifier: MIT
. tests/lib.sh

compare() {
	report
	nothing_lost
	"$WEFT" tree --csv --recursion none "$T/trace" >"$T/tree" 2>/dev/null &&
	"$WEFT" coroutines --csv "$T/trace" >"$T/coroutines" 2>/dev/null ||
		fail "weft cannot read the trace"
	lua5.4 tests/e2e/fibers.lua "$T/out" "$T/report.csv" "$T/tree" \
		"$T/coroutines" "$@" || fail "the account and the trace differ"
}

for mode in api context tsan asan link; do
	echo "$mode"
	record "$P/p_fibers" $mode 1 24 4 || fail "it fails"
	compare
done
for mode in api context asan; do
	echo "$mode, recorded from the middle on"
	record --paused -- "$P/p_fibers" $mode 3 12 1 300 || fail "it fails"
	compare late
done

# What people see: native ones are told apart, and stand as bodies of their own.
record "$P/p_fibers" api 4 || fail "it fails"
"$WEFT" coroutines --top 0 "$T/trace" >"$T/seen" 2>&1 || fail "coroutines"
[ "$(grep -c ' native .*body_[0-9]*' "$T/seen")" = 12 ] ||
	fail "12 fibers, but weft shows: $(cat "$T/seen")"
"$WEFT" tree --root coroutine --min-share 0 "$T/trace" >"$T/seen" 2>&1 || fail "tree"
for i in 0 5 11; do
	grep -q "body_$i\$" "$T/seen" || fail "no tree of body_$i"
done
"$WEFT" stacks --every 1ms -n 0 "$T/trace" >"$T/seen" 2>&1 || fail "stacks"
grep -q 'body_5 .*\[coroutine' "$T/seen" ||
	fail "the fiber that was left for ever has no stack: $(cat "$T/seen")"

# Nothing happens in a program that is not recorded.
"$P/p_fibers" context 1 >"$T/out" || fail "it fails by itself"
