#!/bin/bash
# Who waited for which object, for how long, and because of whom: as many waits as
# the program counts, as long as its own clock says, and of each the stack that let
# it go on. Without --waits, nothing of it is recorded, nor led.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/waits.inc

# holds NAME FUNCTION: of what is given to holders of the object, most is its.
holds() {
	local at
	at=$(awk -v n="$1" '$1 == "wait" && $2 == n { print $3 }' "$T/out")
	"$WEFT" locks --csv --object "$at" "$T/trace" >"$T/stacks" ||
		fail "weft locks --object"
	awk -F, -v f="$2" '$1 == "holds" { all += $2 }
		$1 == "holds" && index($6, f) { its += $2 }
		END { exit !(its > 0.75 * all) }' "$T/stacks"
}

as_planted() {
	record --waits -- "$P/p_waits" || fail "weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	waits_as_counted || return 1
	holds convoy _convoy || { echo "convoy"; cat "$T/stacks"; return 1; }
	holds chain2 hold_last || { echo "chain2"; cat "$T/stacks"; return 1; }
	holds chain1 wait_for_next || { echo "chain1"; return 1; }
	holds chain0 wait_for_next || { echo "chain0"; return 1; }
	holds table write_table || { echo "table"; return 1; }
	holds journal keep_locked || { echo "journal"; return 1; }
	holds books keep_locked || { echo "books"; return 1; }
	holds filled produce || { echo "filled"; return 1; }
	holds ready post || { echo "ready"; return 1; }
	# The whole chain, in one path: each waits for the next one.
	"$WEFT" path --call run_chain --csv "$T/trace" >"$T/path" \
		2>"$T/report.err" || fail "weft path"
	awk -F, '$5 == "waits" && $4 > 10000000 { print $2, $8, $14 }' \
		"$T/path" >"$T/chain"
	grep -q '^0 chain .*wait_for_next;pthread_mutex_unlock' "$T/chain" &&
		grep -q '^1 chain+0x28 .*wait_for_next;pthread_mutex_unlock' \
			"$T/chain" &&
		grep -q '^2 chain+0x50 .*hold_last;pthread_mutex_unlock' \
			"$T/chain" || { cat "$T/chain"; return 1; }
}
one_of 5 as_planted
grep -q ',convoy,' "$T/locks" || fail "no symbol of a variable"
grep -q ',chain+0x28,' "$T/locks" || fail "no symbol of a part of a variable"
grep -q '^[0-9]*,0x[0-9a-f]*,join,' "$T/locks" || fail "no thread is waited for"
# What nobody means to wait for comes first.
awk -F, '$3 == "join" { joins = 1 } joins && $2 ~ /^0x/ && $3 != "join" { exit 1 }' \
	"$T/locks" || fail "not after all others: $(grep -n ,join, "$T/locks")"

# Two parts of the time are all of it, wherever waits are cut.
for part in '--to 60ms' '--from 60ms'; do
	# shellcheck disable=SC2086
	"$WEFT" locks --csv $part "$T/trace" 2>"$T/report.err" ||
		fail "weft locks $part"
done >"$T/parts"
awk -F, '$2 !~ /^0x/ { next }
	NR == FNR { n[$2 $3] = $4; waits[$2 $3] = $5; held[$2 $3] = $8; next }
	{ n[$2 $3] -= $4; waits[$2 $3] -= $5; held[$2 $3] -= $8 }
	END {
		for (k in n)
			if (n[k] != 0 || waits[k] ^ 2 > 100 || held[k] ^ 2 > 100) {
				print k, n[k], waits[k], held[k]
				bad = 1
			}
		exit bad || NR < 20
	}' "$T/locks" "$T/parts" >"$T/compared" ||
	fail "two parts are not the whole: $(cat "$T/compared")"

"$WEFT" locks --object 0x1 "$T/trace" >"$T/o" 2>&1 && fail "no such object"
grep -q 'no call waited for an object "0x1"' "$T/o" || fail "not said: $(cat "$T/o")"

# What is known without the flag: the calls themselves, as native ones.
report
for f in usleep cond_wait sem_wait; do
	grep -q "^[_a-z]*$f" "$T/report.csv" || fail "no call of $f"
done
[ "$(calls hold_convoy)" = 8 ] || fail "the program's own calls are others"

# Without hooks it is known, too, where the calls are made.
gcc -O1 -w -D_GNU_SOURCE -o "$T/plain" tests/prog/p_waits.c || fail "no compiler"
record --waits -- "$T/plain" || fail "without hooks: weft record fails"
"$WEFT" locks --csv "$T/trace" >"$T/locks" 2>"$T/report.err" || fail "weft locks"
grep -q ',convoy,in_convoy+0x' "$T/locks" || fail "no caller without hooks"
at=$(awk -F, '/,convoy,/ { print $2 }' "$T/locks")
"$WEFT" locks --csv --object "$at" "$T/trace" >"$T/stacks" || fail "no stacks"
grep -q 'holds,.*,hold_convoy+0x[0-9a-f]*;pthread_mutex_unlock' "$T/stacks" ||
	fail "no holder without hooks: $(cat "$T/stacks")"

# A request that comes late makes nothing slow.
record --waits -- "$P/p_served" || fail "weft record fails"
"$WEFT" explain "$T/trace" >"$T/said" || fail "weft explain"
grep -q 'One call of \(recvmsg\|next_request\) took' "$T/said" &&
	fail "input is slow: $(cat "$T/said")"

# weft explain begins with the lock for which others wait, and with who keeps it;
# of the same trace without it, with something else.
times=3
[ -z "${DEEP-}" ] || times=20
for i in $(seq $times); do
	record --waits -- "$P/p_convoy" || fail "weft record fails"
	"$WEFT" explain "$T/trace" >"$T/said" || fail "weft explain"
	grep -q '^1\. Threads wait for .* for the lock shared_log, .* because of flush_log' \
		"$T/said" || fail "explain $i: $(cat "$T/said")"
	grep -q '^   \$ weft locks --object 0x' "$T/said" || fail "no command"
done
record "$P/p_convoy" || fail "weft record fails"
"$WEFT" explain --json "$T/trace" | grep -q '"kind": "lock"' &&
	fail "a lock that was not recorded"

record "$P/p_waits" || fail "weft record fails without --waits"
report
nothing_lost
grep -q usleep "$T/report.csv" && fail "waits are recorded, though not asked for"
"$WEFT" locks "$T/trace" >"$T/o" 2>&1 || fail "weft locks of a trace without any"
grep -q 'weft record --waits' "$T/o" || fail "not said how to see waits"
for other in --count-only --no-native --sample-only; do
	"$WEFT" record -o "$T/no" --waits $other -- true 2>"$T/o" &&
		fail "--waits with $other"
	grep -q 'exclude each other' "$T/o" || fail "not said: $(cat "$T/o")"
done
exit 0
