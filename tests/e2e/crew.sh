#!/bin/bash
# Threads of each fate: who made each, what became of it, and for how long it
# waited for what are as the program says, by its own clock; who makes threads that
# nobody joins is said. Without hooks the makers are known, too.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# compare: what weft threads shows of each thread, with what the program says.
compare() {
	"$WEFT" threads --csv "$T/trace" 2>"$T/report.err" |
		sed 's/"pthread_mutex_lock never, mutex"/never/' >"$T/threads"
	awk -F, '
		BEGIN {
			start["spawn_joined"] = "works"
			start["spawn_worker"] = "left"
			start["spawn_detached"] = start["spawn_free"] = "detached"
			start["spawn_stuck"] = "stuck"
			start["spawn_reader"] = "reads"
		}
		function odd(a, b, t) {
			return a > b + 5000000 || a + ready[t] < b - 5000000
		}
		function wrong(what) { print what ": " $0 " not " row[t]; bad = 1 }
		FNR == 1 && NR == FNR {
			for (i = 1; i <= NF; i++) at[$i] = i
			next
		}
		NR == FNR {
			t = $at["tid"]
			row[t] = $0
			fate[t] = $at["fate"]
			begins[t] = $at["begins_in"]
			made[t] = $at["made_by"]
			locks[t] = $at["locks_ns"]
			calls[t] = $at["calls_ns"]
			owed[t] = $at["owed"]
			end[t] = $at["at_end"]
			ready[t] = $at["run_wait_ns"]
			all[t] = $at["cpu_ns"] + $at["run_wait_ns"]
			all[t] += $at["blocked_ns"]
			life[t] = $at["life_ns"]
			next
		}
		/^thread/ {
			n++
			split($0, w, " ")
			t = w[2]
			want = ""
			if (w[3] == "spawn_stuck") want = "never"
			if (w[3] == "spawn_reader") want = "read"
			if (fate[t] != w[4] || end[t] != want) wrong("fate")
			if (begins[t] != start[w[3]]) wrong("start")
			if (owed[t] != (w[4] == "ended" || w[4] == "live")) wrong("owed")
			if (made[t] != "main;" w[3]) wrong("maker")
			# What is lacking is time without a core, before it waits and
			# after; some of that is not known on a busy machine.
			if (w[5] > 0 && odd(locks[t], w[5], t)) wrong("lock")
			if (w[6] > 0 && odd(calls[t], w[6], t)) wrong("sleep")
			if (all[t] > life[t] + 9) wrong("too much")
			if (all[t] < life[t] / 2) wrong("too little")
		}
		END { exit bad || n != 14 }' "$T/threads" "$T/out"
}

# all_blocked: of every thread, all that is blocked is so in a call that waits or in
# [other wait], and that is as long in weft report as in weft threads.
all_blocked() {
	report --tables thread
	"$WEFT" threads --csv "$T/trace" >"$T/threads" 2>"$T/o" ||
		fail "weft threads"
	awk -F, 'FNR == 1 {
			for (i = 1; i <= NF; i++) at[FILENAME, $i] = i
			next
		}
		FILENAME == ARGV[1] { other[$2] = $at[FILENAME, "other_ns"]; next }
		{
			gsub(/"[^"]*"/, "_")
			ns = $at[FILENAME, "blocked_ns"]
			# Its time is shown even where no other blocked time is.
			if ($4 == "[other wait]") other[$2] -= $at[FILENAME, "self_ns"]
			else if (ns > 0 && $6 !~ /\/libc\.so/) {
				print "blocked in no call that waits: " $0
				bad = 1
			}
		}
		END {
			for (t in other) if (other[t] != 0) {
				print "thread " t ": " other[t] " ns differ"
				bad = 1
			}
			exit bad
		}' "$T/threads" "$T/report.csv"
}

as_planted() {
	record --waits -- "$P/p_crew" || fail "weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	compare
}
one_of 5 as_planted
all_blocked || fail "not all that is blocked has a row"
"$WEFT" threads --group "$T/trace" >"$T/said" 2>&1 || fail "weft threads --group"
grep -qx '5 threads of spawn_worker were never joined' "$T/said" ||
	fail "not said: $(cat "$T/said")"
grep -q '^ *5 .* main > spawn_worker$' "$T/said" || fail "no group"
grep -q 'never joined' <(grep -v worker "$T/said" | grep -v stuck | grep ' of ') &&
	fail "others were joined: $(cat "$T/said")"

# Who was joined is whom it was waited for.
"$WEFT" path --call spawn_joined --csv "$T/trace" >"$T/path" 2>"$T/report.err" ||
	fail "weft path"
awk -F, '$2 == 0 && $6 == "join" && $12 != 0 { joined = 1 }
	END { exit !joined }' "$T/path" || fail "no joined thread: $(cat "$T/path")"

gcc -O1 -w -D_GNU_SOURCE -o "$T/plain" tests/prog/p_crew.c || fail "no compiler"
as_plain() {
	record --waits -- "$T/plain" || fail "without hooks: weft record fails"
	"$WEFT" threads --csv "$T/trace" >"$T/threads" 2>"$T/report.err" ||
		fail "weft threads"
	[ "$(grep -c ',spawn_worker+0x[0-9a-f]*,[^,]*$' "$T/threads")" = 5 ]
}
one_of 3 as_plain

# What is in no call that is recorded is told apart: here, a sleep that libc knows
# nothing of.
cat >"$T/raw.c" <<'CODE'
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void *nap(void *unused)
{
	usleep(300000); /* its switches are watched by then */
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 200000000 }, 0);
	return unused;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, nap, NULL);
	pthread_join(t, NULL);
	return 0;
}
CODE
gcc -O1 -finstrument-functions -D_GNU_SOURCE -o "$T/raw" "$T/raw.c" ||
	fail "no compiler"
raw() {
	record --waits -- "$T/raw" || fail "weft record fails"
	no_switches && return
	"$WEFT" threads --csv "$T/trace" >"$T/threads" 2>"$T/report.err" ||
		fail "weft threads"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["made_by"] == "main" { other = $at["other_ns"]; calls = $at["calls_ns"] }
		END { exit other < 190000000 || other > 290000000 ||
			   calls < 290000000 || calls > 390000000 }' \
		"$T/threads" || { cat "$T/threads"; return 1; }
	all_blocked || return 1
	grep -q 'other wait.*,2[0-9]\{8\},' "$T/report.csv" || return 1
	"$WEFT" tree --waiting "$T/trace" >"$T/said" || fail "weft tree"
	grep -A 2 ' nap$' "$T/said" | grep -q '\[other wait\]$' || {
		cat "$T/said"
		return 1
	}
	"$WEFT" path --call nap --csv "$T/trace" >"$T/path" || fail "weft path"
	awk -F, '$2 == 0 { ns[$5] += $4 } END { exit ns["blocked"] < 290000000 ||
		ns["other wait"] < 190000000 }' "$T/path" || {
		cat "$T/path"
		return 1
	}
	"$WEFT" locks "$T/trace" >"$T/said" 2>&1 || fail "weft locks"
	grep -q '^threads were blocked, without run-wait, for .*, \(19\|2[0-9]\)[0-9.]* ms in no' \
		"$T/said" || { cat "$T/said"; return 1; }
}
one_of 5 raw

# Without --waits they are listed, and nothing is said of who joined whom.
record "$P/p_crew" || fail "weft record fails"
"$WEFT" threads "$T/trace" >"$T/said" 2>&1 || fail "weft threads"
grep -q 'never joined' "$T/said" && fail "it is not known who joined"
grep -q 'weft record --waits' "$T/said" || fail "not said how to know"
exit 0
