#!/bin/bash
# A wait on a condition takes its mutex again: since it was let go on, or its time was
# up, it is the mutex that it waits for, and the one who has it that it waits for it
# because of. As many waits of each, and as long, as the program's own clock says, but
# for the time in which a thread had no core; also where the kernel does not tell when
# threads were off the CPU.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# as_counted: the rows of $T/locks are those of $T/out.
as_counted() {
	"$WEFT" locks --csv --top 0 "$T/trace" >"$T/locks" 2>"$T/report.err" ||
		fail "weft locks"
	awk -F'[ ,]' 'NR == FNR { count[$2] = $4; ns[$2] = $5; next }
		$1 == "wait" {
			d = $5 - ns[$3]; d = d < 0 ? -d : d
			most = 0.02 * $5 > 20000 * $4 ? 0.02 * $5 : 20000 * $4
			if (count[$3] + 0 != $4 || d > most + $6) {
				print $2, count[$3], ns[$3], "not", $4, $5
				bad = 1
			}
			n++
		}
		END { exit bad || n != 14 }' "$T/locks" "$T/out"
}

# holds NAME FUNCTION [SHARE]: of what is given to holders of the object, most is its.
holds() {
	local at
	at=$(awk -v n="$1" '$1 == "wait" && $2 == n { print $3 }' "$T/out")
	"$WEFT" locks --csv --object "$at" "$T/trace" >"$T/stacks" ||
		fail "weft locks --object"
	awk -F, -v f="$2" -v share="${3-0.9}" '$1 == "holds" { all += $2 }
		$1 == "holds" && index($6, f) { its += $2 }
		END { exit !(its > share * all) }' "$T/stacks" ||
		{ echo "$1"; cat "$T/stacks"; return 1; }
}

as_planted() {
	rm -rf "$T/trace"
	"$@" "$WEFT" record --waits -o "$T/trace" -- "$P/p_cond" >"$T/out" \
		2>"$T/err" || fail "weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	as_counted && holds world save_world && holds crowd wait_for_work 0.4 &&
		holds crowd keep 0.4 &&
		holds crowd_wanted keep && holds timed keep &&
		holds clocked keep && holds late be_late &&
		holds c11 keep_c11 || return 1
	"$WEFT" path --call give_up --csv "$T/trace" >"$T/path" \
		2>"$T/report.err" || fail "weft path"
	awk -F, '$5 == "waits" && $6 == "mutex" && $14 ~ /be_late/' \
		"$T/path" | grep -q . || { cat "$T/path"; return 1; }
}
one_of 5 as_planted

# Sums say which function of the program's own called that of libc.
"$WEFT" path --call give_up --sums --csv "$T/trace" >"$T/sums" || fail "no sums"
grep -q ',mutex,.*cond_timedwait",give_up$' "$T/sums" || fail "$(cat "$T/sums")"
one_of 5 as_planted "$P/p_no_perf"
