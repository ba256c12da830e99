#!/bin/bash
# offcpu-shares.sh - a program sleeps, waits for a mutex, burns CPU and does
# half of each in four functions, while another process wants the same CPU: for
# each function the report's times on and off the CPU are the program's own, to
# within 2 % (of what is less than a tenth of its time: of that; going to sleep
# takes the program's own account some time on the CPU). What burns is off it for
# want of a core, what sleeps is not. Where the kernel shows no switches, the
# columns are not there.
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
cc -O1 -g -finstrument-functions -o "$T/shares" tests/prog/p_shares.c \
	-lpthread || fail "does not compile"
taskset -c 0 bash -c 'while :; do :; done' &
rival=$!
trap 'kill $rival 2>/dev/null' EXIT
get() {
	rm -rf "$T/t"
	"$WEFT" record -q -o "$T/t" -- "$T/shares" >"$T/own" 2>"$T/e" ||
		fail "$(cat "$T/e")"
	"$WEFT" report --csv --raw --from 0.1 "$T/t" >"$T/csv" 2>"$T/e" ||
		fail "$(cat "$T/e")"
	"$WEFT" report "$T/t" >"$T/table" || fail "no table"
	"$WEFT" report --csv --raw --from 0.1 --columns name,run-wait "$T/t" \
		2>/dev/null | tr -d '\r' >"$T/cores"
}
# On a busy machine the kernel may lose switches: too many for the columns.
get_shown() {
	get
	no_switches "$T/t" >/dev/null || grep -q '^ *cpu .*blocked' "$T/table"
}
one_of 8 get_shown
if no_switches "$T/t" >"$T/why"; then
	awk -F, 'NR > 1 && $17 != "" { exit 1 }' "$T/csv" ||
		fail "times on the CPU of which nothing is known"
	grep -q 'blocked' "$T/table" && fail "a column of nothing"
	echo "the columns are absent, as they must be: $(cat "$T/why")"
	exit 77
fi
# first OPTION...: the function that a report begins with.
first() {
	"$WEFT" report --csv "$@" "$T/t" 2>/dev/null | sed -n '2s/,.*//p'
}
# Who has most of the CPU by the program's own account is on top, with its
# waiting beside it; --waiting and --sort self turn it round.
grep -q '^ *cpu .*blocked' "$T/table" || fail "no columns: $(cat "$T/table")"
# Two that are nearly equal may change places.
is_first() {
	awk "\$1 == \"$1\" { its = $2 } $2 > most { most = $2 }
		END { exit !(its > 0.9 * most) }" "$T/own" ||
		fail "$3 begins with $1: $(cat "$T/own")"
}
is_first "$(first)" '$3' report
case $(first --waiting) in
sleeps | waits) ;;
*) fail "report --waiting begins with what has no core: $(first --waiting)" ;;
esac
is_first "$(first --sort self)" '$2' "report --sort self"

# The CSV's header says where its columns are.
compare() {
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
}
again() {
	[ ! -e "$T/compared" ] || get
	touch "$T/compared"
	compare
}
one_of 8 again

# A sleeper is woken beside the rival, and may then wait for the core for a moment.
tells_why() {
	get
	awk -F '[ ,]' '
	FILENAME == ARGV[1] { away[$1] = $2 - $3; next }
	$1 in away {
		no_core[$1] = $2 / away[$1]
		printf "note: %s: no core for %.3f of its time off\n", $1,
			no_core[$1]
		seen++
	}
	END {
		exit seen != 4 || no_core["burns"] < 0.97 ||
			no_core["burns"] > 1.03 || no_core["sleeps"] > 0.25
	}' "$T/own" "$T/cores"
}
one_of 4 tells_why
