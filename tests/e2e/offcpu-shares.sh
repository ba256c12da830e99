#!/bin/bash
# offcpu-shares.sh - a program sleeps, waits for a mutex, burns CPU and does
# half of each in four functions, while another process wants the same CPU: for
# each function the report's times on and off the CPU are the program's own, to
# within 2 % (of what is less than a tenth of its time: of that; going to sleep
# takes the program's own account some time on the CPU). Where the kernel shows no
# switches, the columns are not there.
# alone
# SPDX-License-Identifier: MIT
set -u
fail() {
	echo "$*"
	exit 1
}
cc -O1 -g -finstrument-functions -o "$T/shares" tests/prog/p_shares.c \
	-lpthread || fail "does not compile"
taskset -c 0 bash -c 'while :; do :; done' &
rival=$!
trap 'kill $rival 2>/dev/null' EXIT
"$WEFT" record -q -o "$T/t" -- "$T/shares" >"$T/own" 2>"$T/e" ||
	fail "$(cat "$T/e")"
kill $rival 2>/dev/null
"$WEFT" report --csv --raw --from 0.1 "$T/t" >"$T/csv" 2>"$T/e" ||
	fail "$(cat "$T/e")"
"$WEFT" report "$T/t" >"$T/table" || fail "no table"
level=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 9)
if [ "$level" -gt 2 ] && [ "$(id -u)" != 0 ]; then
	awk -F, 'NR > 1 && $17 != "" { exit 1 }' "$T/csv" ||
		fail "times on the CPU of which nothing is known"
	grep -q 'off-cpu' "$T/table" && fail "a column of nothing"
	echo "perf_event_paranoid is $level: the kernel shows no switches;" \
		"the columns are absent, as they must be"
	exit 77
fi
grep -q 'cpu *off-cpu' "$T/table" || fail "no columns: $(cat "$T/table")"
# The CSV's header says where its columns are.
awk '
function most(x, y) { return x > y ? x : y }
FILENAME == ARGV[1] { wall[$1] = $2; cpu[$1] = $3; next }
{ split($0, f, ",") }
FNR == 1 { for (i in f) at[f[i]] = i; next }
f[1] in wall {
	name = f[1]
	on = f[at["total_cpu_ns"]]
	off = f[at["total_off_cpu_ns"]]
	a = (on - cpu[name]) / most(cpu[name], wall[name] / 10)
	away = wall[name] - cpu[name]
	b = (off - away) / most(away, wall[name] / 10)
	printf "note: %s: on %.1f ms, %+.2f%%; off %.1f ms, %+.2f%%\n", name,
		on / 1e6, 100 * a, off / 1e6, 100 * b
	if (a > 0.02 || a < -0.02 || b > 0.02 || b < -0.02)
		bad = 1
	seen++
}
END { exit bad || seen != 4 }' "$T/own" "$T/csv"
