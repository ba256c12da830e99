#!/bin/bash
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit late-lua5.1 late-lua5.2 late-lua5.3 late-lua5.4 late-luajit
# A VM that is older than the recording, with a coroutine that sleeps, is met at
# the next call into it: from then on each call of Lua is there, three times in a
# row, and the sums are as ever; also in a VM that lies where another lay, which
# was closed while nothing was recorded; in one that is first seen by a coroutine
# that is collected soon, as all that run there are; and in one whose main state
# is in the middle of a call. One call is enough to join. late: the program was
# started without weft, and joins while its links are led.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
lua=${1#late-}
preload=(env LD_PRELOAD="$B/lib/libweft.so")
[ "$1" = "$lua" ] || preload=()
pkg-config --exists "$lua" || { echo "no $lua for programs"; exit 77; }
gcc -O1 -I. $(pkg-config --cflags "$lua") tests/prog/lua/attached.c \
	-o "$T/attached" -ldl $(pkg-config --libs "$lua") ||
	fail "the program is not built"

# same NAME=CALLS...: of functions of the script.
same() {
	local f n
	for f; do
		n=$(sed "s/^\(${f%=*}\) <s:[0-9]*>/\1/" "$T/report.csv" |
			awk -F, -v name="${f%=*}" '$1 == name { print $6 }')
		[ "$n" = "${f#*=}" ] || fail "time $i: $n calls, not $f"
	done
}

begin "${preload[@]}" "$T/attached"
for i in 1 2 3; do
	ask 10
	attach
	ask +700
	[ "$answer" = "sum 700" ] || fail "time $i: it says \"$answer\""
	ask =300
	[ "$answer" = "sum 300" ] || fail "time $i: it says \"$answer\""
	detach
	grep 'no Lua state' "$T/err" && fail "time $i: it is not told right"
	report
	grep '^# lost: ' "$T/report.err" && fail "time $i: something was lost"
	same inner=1400 step=700 young=700 request=300 part=600
	"$WEFT" info "$T/trace" >"$T/info" || fail "weft info fails"
	grep -q '^Lua states  *3$' "$T/info" ||
		fail "time $i: $(grep '^Lua states' "$T/info"), not 3"
	ask off
	ask renew
	ask 10
	await has_left || fail "it maps the pool"
	[ "${preload[*]}" ] || await leads_nowhere ||
		fail "time $i: words of it lead to libweft.so"
done

begin_recorder
ask m700
[ "$answer" = "sum 700" ] || fail "in the middle: it says \"$answer\""
detach
report
grep '^# lost: ' "$T/report.err" && fail "in the middle: something was lost"
same step=700
ask off
ask 10

# It has called nothing since the recording before, whose hook is still there.
attach
detach
begin_recorder
if [ "${preload[*]}" ]; then
	await grep -q 'waiting for process' "$T/err" || fail "it does not wait"
	ask 0
fi
await joins || fail "one call is not enough: $(why_not)"
detach
end
