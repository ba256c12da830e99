#!/bin/bash
# each: lua5.1 lua5.4 luajit
# When a recording with sampled Lua ends or stops and the program runs on, nothing
# of it goes on there: no timer, no hook, and LuaJIT's profiler is off; when it goes
# on, so do they. The recorder leaves, stops, or is killed. A recording of each call
# after that turns LuaJIT's compiler off, as ever, and one that is sampled after
# that finds none of its hooks. Attached, Lua is sampled unless --lua says other.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
gcc -O1 -I. $(pkg-config --cflags "$1") tests/prog/lua/attached.c \
	-o "$T/attached" -ldl $(pkg-config --libs "$1") ||
	fail "the program is not built"

# Does the program handle SIGPROF?
profiles() {
	local caught
	caught=$(sed -n 's/^SigCgt:\s*//p' "/proc/$pid/status")
	[ $((0x$caught >> 26 & 1)) = 1 ]
}

# Has it a timer, and LuaJIT its profiler?
ticks() {
	ask 20000
	grep -q 'signal: 23/' "/proc/$pid/timers" &&
		{ [ "$lua" != luajit ] || profiles; }
}

is_still() {
	ask 20000
	[ ! -s "/proc/$pid/timers" ] && ! profiles
}

lua=$1 lua_way=()
begin "$T/attached"
ask 10
is_still || fail "it has timers of its own: $(cat "/proc/$pid/timers")"
for end in detach kill; do
	attach
	await ticks || fail "$end: it is not sampled: $(cat "/proc/$pid/timers")"
	"$WEFT" stop "$pid" >"$T/o" || fail "weft stop"
	await is_still || fail "stopped: $(cat "/proc/$pid/timers")"
	"$WEFT" start "$pid" >"$T/o" || fail "weft start"
	await ticks || fail "started: $(cat "/proc/$pid/timers")"
	if [ $end = kill ]; then
		kill -KILL "$recorder"
		wait "$recorder"
		await flock -sn "$(cat "$T/trace/pool")" true ||
			fail "the recorder lives"
	else
		detach
		grep 'not sampled' "$T/err" && fail "it was not sampled"
		"$WEFT" dump --raw "$T/trace" 2>"$T/o" | grep -q NOTED ||
			fail "nothing was noted"
	fi
	await is_still || fail "$end: $(cat "/proc/$pid/timers")"
done
attach --lua exact
ask +700
[ "$answer" = "sum 700" ] || fail "it says \"$answer\""
detach
report
n=$(awk -F, '$1 ~ /^step </ { print $6 }' "$T/report.csv")
[ "$n" = 700 ] || fail "$n calls of step, not 700"
attach
await ticks || fail "after each call: $(cat "/proc/$pid/timers")"
ask +700
detach
grep -q 'Lua was sampled: .* --lua exact' "$T/err" ||
	fail "it does not say that Lua was sampled"
report
awk -F, '$2 == "lua" && $6 != "" { print; bad = 1 } END { exit bad }' \
	"$T/report.csv" || fail "a hook for calls is there still"
grep -q '^# .*Lua was sampled: .* --lua exact' "$T/report.err" ||
	fail "the report does not say that Lua was sampled"
await is_still || fail "in the end: $(cat "/proc/$pid/timers")"
end
