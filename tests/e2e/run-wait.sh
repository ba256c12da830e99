#!/bin/bash
# run-wait.sh - threads that share too few cores compute and sleep in turns: what a
# report says they ran, had no core and slept is what the kernel's account of each
# thread says, also where a thread that has slept waits for a core. The three add
# up to the total of each call, and to the time of each coroutine.
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
cc -O1 -g -finstrument-functions -o "$T/threads" tests/prog/p_run_wait.c \
	-lpthread || fail "no program"

# The CSV's header says where its columns are; times are ns. Sleeps are as long as
# they were meant to be, and what a timer takes longer.
compare() {
	record -- "$T/threads" || fail "it is not recorded"
	no_switches >"$T/why" && return
	"$WEFT" report --csv --raw "$T/trace" >"$T/csv" 2>"$T/err" ||
		fail "no report"
	"$WEFT" slow --csv --top 0 job "$T/trace" >"$T/calls" 2>"$T/err" ||
		fail "no calls"
	awk '
	FILENAME == ARGV[1] {
		own["total"] += $1; own["cpu"] += $2
		own["run_wait"] += $3; nap += $4; calls++
		next
	}
	{ n = split($0, f, ",") }
	FNR == 1 {
		split("", at)
		for (i in f) at[f[i]] = i
		next
	}
	FILENAME == ARGV[2] && f[1] == "job" {
		said["total"] = f[at["total_ns"]]
		said["cpu"] = f[at["total_cpu_ns"]]
		said["run_wait"] = f[at["total_run_wait_ns"]]
		said["blocked"] = f[at["total_blocked_ns"]]
	}
	# The first call of a thread begins before the recorder watches it.
	FILENAME == ARGV[3] && f[at["cpu_ns"]] == "" {
		unknown++
		seen++
		next
	}
	FILENAME == ARGV[3] {
		off = f[at["cpu_ns"]] + f[at["run_wait_ns"]] + \
			f[at["blocked_ns"]] - f[at["total_ns"]]
		if (off > 3 || off < -3) {
			print "parts of a call: " $0
			bad = 1
		}
		seen++
		sum += f[at["run_wait_ns"]]
	}
	END {
		own["blocked"] = nap
		for (k in own) {
			a = said[k] / 1e6 / own[k]
			printf "note: %s: %.1f ms, %.3f of the truth\n", k,
				said[k] / 1e6, a
			if (a < 0.95 || a > (k == "blocked" ? 1.15 : 1.05))
				bad = 1
		}
		if (seen != calls || unknown > calls / 4) bad = 1
		a = sum / said["run_wait"]
		if ((a < 0.999 && !unknown) || a > 1.001) bad = 1
		printf "note: %d of %d calls not known\n", unknown, calls
		exit bad
	}' "$T/out" "$T/csv" "$T/calls"
}
one_of 6 compare
if no_switches; then
	exit 77
fi

# A coroutine sleeps, another one computes.
cat >"$T/naps.lua" <<'LUA'
local function nap() os.execute("sleep 0.05") end
local function spin() local x = 0 for i = 1, 2e7 do x = x + i % 7 end end
local a = coroutine.create(function() while true do nap() coroutine.yield() end end)
local b = coroutine.create(function() while true do spin() coroutine.yield() end end)
for _ = 1, 5 do coroutine.resume(a) coroutine.resume(b) end
LUA
command -v lua5.4 >/dev/null || exit 0
is_told() {
	record --lua-init -- lua5.4 "$T/naps.lua" || fail "not recorded"
	"$WEFT" coroutines --csv --columns active,lua,native,run-wait,blocked \
		"$T/trace" 2>"$T/err" | awk -F, '
		NR > 1 { blocked[NR] = $5 / $1; ran[NR] = ($4 + $5) / $1; n++ }
		END {
			printf "note: blocked %.3f and %.3f of active\n",
				blocked[2], blocked[3]
			a = blocked[2] > blocked[3] ? 2 : 3
			b = 5 - a
			exit n != 2 || blocked[a] < 0.8 || blocked[b] > 0.05 ||
				ran[a] > 1 || ran[b] > 1
		}' || fail "$("$WEFT" coroutines "$T/trace")"
}
one_of 4 is_told
