#!/bin/bash
# A hook that the loader itself calls, before libweft is relocated, does no harm;
# such calls are counted as unrecorded: those of a library's and of the program's
# own resolvers.
# SPDX-License-Identifier: MIT
. tests/lib.sh
gcc -g -finstrument-functions -o "$T/resolved" tests/prog/p_resolved.c \
	"$(realpath "$P/p_resolver")" || fail "it does not build"
"$T/resolved"
[ $? = 3 ] || { echo "the loader cannot do it without weft either"; exit 77; }
record "$T/resolved"
status=$?
[ $status = 3 ] || fail "status $status, not 3"
report
grep -q '^# lost: 1 call that could .* made by the loader' "$T/report.err" ||
	fail "the resolver is not counted"
[ "$(calls call_chosen)" = 1 ] || fail "call_chosen is missing"
cat >"$T/own.c" <<'C'
static volatile int n;
static void helper(void) { n++; }
static int one(void) { return 1; }
static int (*choose(void))(void) { helper(); return one; }
int chosen(void) __attribute__((ifunc("choose")));
int main(void) { return chosen() + n; }
C
gcc -O0 -g -finstrument-functions -o "$T/own" "$T/own.c" || fail "own: not built"
record "$T/own"
status=$?
[ $status = 2 ] || fail "own: status $status, not 2"
report
grep -q '^# lost: 2 calls that could .* made by the loader' "$T/report.err" ||
	fail "own: the resolver and helper are not counted"
[ "$(calls one)" = 1 ] || fail "own: one is missing"
