#!/bin/bash
# However a program ends, its calls are there, and weft record ends likewise.
# SPDX-License-Identifier: MIT
. tests/lib.sh
ends() {
	local how=$1 status=$2 leaves=$3
	record "$P/p_exit" "$how"
	local got=$?
	[ $got = "$status" ] || fail "$how: status $got, not $status"
	said=$(sed -n 's/^weft: the program was ended by signal \([0-9]*\) (.*/\1/p' \
		"$T/err")
	[ "${said:-0}" = $((status > 128 ? status - 128 : 0)) ] ||
		fail "$how: it says that signal \"$said\" ended it"
	report
	nothing_lost
	[ "$(calls leaf)" = "$leaves" ] ||
		fail "$how: $(calls leaf) calls of leaf, not $leaves"
	[ "$(calls outer)" = 1 ] || fail "$how: outer is missing"
}
ends _exit 3 1000
ends exit 4 1001
ends quick 5 1000
ends abort 134 1000
ends segv 139 1000
ends fault 139 1000
ends kill 137 1000
ends return 6 1001
ends pthread_exit 0 1500
grep -q 'worker ends' "$T/out" || fail "pthread_exit: the worker was cut off"

# The stack ends in the midst of a call, or in weft's hook.
(
	ulimit -s 256
	record "$P/p_exit" overflow
)
[ $? = 139 ] || fail "overflow: status"
report
nothing_lost
own=$(sed -n 's/^calls \([0-9]*\) deep$/\1/p' "$T/out")
[ "${own:-0}" -gt 1000 ] || fail "overflow: $(cat "$T/out")"
n=$(calls deep)
[ "$n" = "$own" ] || [ "$n" = $((own + 1)) ] ||
	fail "overflow: $n calls of deep, not $own"

# The last destructors of a thread run when its state has been given back: what
# they call is not recorded, and counted.
record "$P/p_exit" destructors
report
late=$(sed -n 's/^# lost: \([0-9]*\) calls\{0,1\} of threads after.*/\1/p' \
	"$T/report.err")
[ "${late:-0}" -gt 0 ] && grep -q "^weft: lost: $late calls of threads" \
	"$T/err" || fail "destructors: no calls are said to be too late"
seen=$(($(calls leaf) + $(calls destroy) + $(calls destroyed)))
[ $((seen + late)) = $((1001 + 1 + 4 + 4 + 1)) ] ||
	fail "destructors: $seen calls and $late too late"
echo "note: destructors: $seen calls, $late too late"
