#!/bin/bash
# On the CPU, without a core and asleep: the three add up to all time of each function,
# thread and coroutine, on an idle machine and where 16 others want the processors. What
# coroutines did is, in each part, what the functions below them did.
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
[ -x "$P/p_path" ] || { echo "no lua5.4 for programs"; exit 77; }

# rows COLUMNS COMMAND...: of $T/trace, those columns, the names last.
rows() {
	"$WEFT" "${@:2}" --csv --top 0 --columns "$1" "$T/trace" \
		2>>"$T/report.err" | tail -n +2
}

# adds_up FILE MOST: "cpu,run-wait,blocked,all,name": to all, or less by MOST of the
# whole at most. No row is longer than it lasted, but for what is lost as ns.
adds_up() {
	awk -F, -v most="$2" -v of="${1##*/}" '{
			off = $4 - $1 - $2 - $3
			if (off < -9) { print "parts of " $0; bad = 1 }
			sum += off; all += $4; slept += $3; waited += $2
		}
		END {
			printf "note: %s: %d rows, %.4f not known, %.3f asleep, " \
				"%.3f without a core\n", of, NR, sum / all,
				slept / all, waited / all
			exit bad || NR == 0 || sum > most * all || slept == 0
		}' "$1"
}

add_up() {
	record --waits -- "$P/p_path" || fail "weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	: >"$T/report.err"
	rows cpu,run-wait,blocked,self,name report --raw >"$T/self"
	rows total-cpu,total-run-wait,total-blocked,total,name report --raw \
		>"$T/total"
	rows cpu,run-wait,blocked,life,tid threads >"$T/threads"
	rows cpu,run-wait,blocked,lua,native,name coroutines | awk -F, -v OFS=, \
		'{ print $1, $2, $3, $4 + $5, $6 }' >"$T/coroutines"
	adds_up "$T/self" 0.05 && adds_up "$T/total" 0.05 &&
		adds_up "$T/threads" 0.05 && adds_up "$T/coroutines" 0.05
}
one_of 4 add_up
for i in $(seq 16); do
	while :; do :; done &
	others+=($!)
done
trap 'kill "${others[@]}"' EXIT
one_of 6 add_up
exit 0
