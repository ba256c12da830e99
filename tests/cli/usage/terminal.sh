#!/bin/bash
# What a person at a terminal has: a pager, unless it is cat or empty, with
# tables of the terminal's width; progress that leaves nothing behind. Scripts
# get neither.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
command -v script >/dev/null || { echo "script is not installed"; exit 77; }
make_trace t coroutines=1 chunks=6
unset PAGER WEFT_PAGER LESS NO_COLOR
cd "$T" || exit 1
# on COMMAND...: run on a terminal of 60 columns; sets out.
on() {
	out=$(script -qec "stty cols 60 rows 24; $*" /dev/null </dev/null |
		tr -d '\r') || fail "$*: $out"
}
on "WEFT_PAGER='sed s/^/P:/' $W report t"
[ "$(echo "$out" | grep -c '^P:')" -ge 9 ] || fail "no pager: $out"
echo "$out" | grep -v '^P:' | grep . && fail "not all of it is paged"
echo "$out" | grep '^P:.*made-up+0x' | grep -v note |
	awk 'length($0) > 62 { exit 1 }' || fail "wider than the terminal: $out"
on "PAGER='sed s/^/Q:/' $W report t"
echo "$out" | grep -q '^Q:' || fail "PAGER is not asked: $out"
on "PAGER='sed s/^/Q:/' WEFT_PAGER= $W report t"
echo "$out" | grep -q '^Q:' && fail "a pager, though WEFT_PAGER is empty"
on "PAGER='sed s/^/Q:/' WEFT_PAGER=cat $W report t"
echo "$out" | grep -q '^Q:' && fail "a pager, though WEFT_PAGER is cat"
# A pager that ends early takes weft along: no failure, and no word but the notes.
make_trace long coroutines=3 chunks=60 threads=9
on "WEFT_PAGER='head -n 1' $W dump long; echo status \$?"
[ "$(echo "$out" | grep -vc '^# ')" = 2 ] &&
	echo "$out" | grep -qx 'status 0' || fail "the pager was left: $out"
# What a command found is its exit status, whether all of it was read or not.
make_trace other coroutines=1 chunks=9
on "WEFT_PAGER='head -n 1' $W diff --counts --top 0 --fail-over 0 t other
	echo status \$?"
echo "$out" | grep -q 'fail-over' && echo "$out" | grep -qx 'status 4' ||
	fail "another status, the pager was left: $out"
find long -type f -size +20k -exec truncate -s -5000 {} +
"$W" check long >checked
[ $? = 2 ] && [ -s checked ] || fail "no damage"
on "WEFT_PAGER='exit 0' $W check long; echo status \$?"
echo "$out" | grep -qx 'status 2' || fail "check, the pager was left: $out"
on "WEFT_PAGER=./no-such $W report t; echo status \$?"
echo "$out" | grep -q 'no-such' && echo "$out" | grep -qx 'status 2' ||
	fail "there is no such pager: $out"
# A command that does something is not ended by its pager.
on "WEFT_PAGER='touch paged' $W recover -o found t; :"
[ -d found ] && [ ! -e paged ] || fail "weft recover has a pager: $out"
# It is not started for a command line that makes no sense.
on "WEFT_PAGER='sed s/^/P:/' $W report --no-such t; echo status \$?"
echo "$out" | grep -qx 'status 1' || fail "another status: $out"
on "WEFT_PAGER='touch started; cat' $W report --no-such t; :"
[ ! -e started ] || fail "a pager for a mistake"
# Errors are seen, behind what the pager showed; the status stays.
on "WEFT_PAGER='sed s/^/P:/' $W report none; echo status \$?"
echo "$out" | grep -q '^weft: report: .*none' || fail "no error: $out"
echo "$out" | grep -qx 'status 2' || fail "another status: $out"
# Not on a terminal, there is none.
WEFT_PAGER='sed s/^/P:/' "$W" report t | grep -q '^P:' && fail "pages a pipe"
# What takes no second shows no progress.
"$W" report t >piped || fail report
on "WEFT_PAGER=cat $W report t 2>&1 >/dev/null"
[ -z "$out" ] || fail "progress of a moment: $out"
exit 0
