#!/bin/bash
# A program that gave up system calls is not killed for one of weft's.
# SPDX-License-Identifier: MIT
. tests/lib.sh
"$P/p_seccomp" filter >"$T/plain" || { echo "no seccomp here"; exit 77; }
record "$P/p_seccomp" filter || fail "filter: the program ends otherwise"
grep -qx alive "$T/out" || fail "filter: it did not get to its end"
report
nothing_lost
[ "$(calls leaf)" = 101000 ] || fail "filter: $(calls leaf) calls of leaf"
record --pool-size 1M --on-full wait -- "$P/p_seccomp" filter ||
	fail "wait: the program ends otherwise"
grep -qx alive "$T/out" || fail "wait: it did not get to its end"

# Its stack grows: there is memory for that, which was there before.
record "$P/p_seccomp" deep || fail "deep: the program ends otherwise"
grep -qx alive "$T/out" || fail "deep: it did not get to its end"
report
nothing_lost
[ "$(calls deep)" = 50001 ] || fail "deep: $(calls deep) calls of deep"
[ "$(calls leaf)" = 151000 ] || fail "deep: $(calls leaf) calls of leaf"

# Threads that come later make no call that libc does not make for them.
record "$P/p_seccomp" crowd || fail "crowd: the program ends otherwise"
grep -qx alive "$T/out" || fail "crowd: it did not get to its end"
report
nothing_lost
[ "$(calls leaf)" = 3000 ] || fail "crowd: $(calls leaf) calls of leaf"

# Strict mode takes the clock, too: the record ends there, and says so.
record "$P/p_seccomp" strict || fail "strict: the program ends otherwise"
grep -qx alive "$T/out" || fail "strict: it did not get to its end"
grep -q "strict mode" "$T/err" || fail "strict: nothing is said of it"
report
[ "$(calls leaf)" = 1000 ] || fail "strict: $(calls leaf) calls of leaf"
for f in err report.err; do
	grep -q '100[0,]*000 calls that could not be' "$T/$f" ||
		fail "strict: the rest is not counted as what it is"
done

# Threads that come later are recorded without what their memory cannot be.
"$P/p_seccomp" threads >"$T/plain" || { echo "no seccomp here"; exit 77; }
record "$P/p_seccomp" threads || fail "threads: the program ends otherwise"
grep -qx alive "$T/out" || fail "threads: it did not get to its end"
report
nothing_lost
[ "$(calls leaf)" = 4100 ] || fail "threads: $(calls leaf) calls of leaf"
n=$("$WEFT" info "$T/trace" | awk '$1 == "threads" { print $2 }')
[ "$n" = 22 ] || fail "threads: $n threads, not 22"

# A process that cannot be recorded is told of, and why.
record "$P/p_seccomp" start || fail "start: the program ends otherwise"
grep -qx alive "$T/out" || fail "start: it did not get to its end"
grep -q 'lost: 1 process not recorded: .*MADV_WIPEONFORK' \
	"$T/err" || fail "start: nothing is said of it"
! grep -q 'lost: 0' "$T/err" || fail "start: nothing is said to be lost"
report
[ "$(calls leaf)" = 1000 ] || fail "start: $(calls leaf) calls of leaf"
! grep -q 'nothing was lost' "$T/report.err" || fail "report: nothing was lost"

# One that may not wait for the recorder, which is stopped, does not try again
# and again. It cannot count on a buffer: what it drops is counted.
if [ "$(uname -m)" = x86_64 ]; then
	record --pool-size 2M -- sh -c 'r=$(pgrep -P $PPID -x weft-record)
		kill -STOP $r; "$1" futex; kill -CONT $r' sh "$P/p_seccomp" ||
		fail "futex: weft record fails"
	refused=$(sed -n 's/^refused //p' "$T/out")
	{ [ "${refused:-0}" -ge 1 ] && [ "$refused" -le 20 ]; } ||
		fail "futex: its wait was refused ${refused:-no} times"
	grep -q '^weft: lost: [1-9]' "$T/err" || fail "futex: nothing is lost"
fi
