#!/bin/bash
# Two builds with references, the second of which computes half as long again, by
# its own clock, and polls meanwhile with calls that got slower, too: weft diff says
# by how much the whole and each function got slower, within its errors, and does
# not divide the polling by calls of another run. A template with another argument
# is one row. One reference for both sides is refused.
# SPDX-License-Identifier: MIT
# alone
. tests/lib.sh
unset COLUMNS
for slower in 0 50; do
	cc -O2 -g -finstrument-functions -DSLOWER=$slower -o "$T/polled$slower" \
		tests/prog/p_polled.c || fail "p_polled does not build"
done
for size in 4 6; do
	c++ -O1 -g -finstrument-functions -DSIZE=$size -o "$T/template$size" \
		tests/prog/p_template.cc || fail "p_template does not build"
done
cd "$T" || exit 1

rec() {
	rm -rf "$1"
	timeout 120 "$WEFT" record --reference --sample-rate 4000 -o "$1" -- "${@:2}" \
		>"$1.out" 2>err || fail "record $1: $(cat err)"
}
rec before ./polled0 10
no_switches before && exit 77

# The first line is the unrecorded run's. The kernel counts its own work for the
# thread, but samples do not: 5 points and a tenth.
is_right() {
	rec before ./polled0 150
	rec after ./polled50 150
	"$WEFT" diff --csv --all before after >csv 2>head || fail "diff: $(cat head)"
	{
		head -qn 1 before.out after.out
		sed -n 's/.*CPU time: .*(\(.*\)% ± \(.*\)%)/whole,\1,\2/p' head
		tail -n +2 csv
	} >all
	awk -F, 'NR <= 2 { split($1, t, " "); for (i in t) time[i, NR] = t[i] }
		$1 == "whole" {
			whole = 100 * (time[3, 2] / time[3, 1] - 1) - $2
			whole_error = $3
		}
		$7 == "is_done" { polls = polls $3; added = $1; error = $13; was = $4 }
		$7 == "compute" && $3 == "cost" { ratio = $5 / $4; off = $13 / $1 }
		END {
			truth = time[2, 2] - time[2, 1]
			print "off: " whole " +- " whole_error ", compute " ratio \
				", is_done " added - truth " +- " error " of " was
			exit !(whole_error > 0 && whole ^ 2 < (3 * whole_error + 5) ^ 2 &&
				ratio > 1.4 && ratio < 1.6 && off > 0 && off < 0.2 &&
				polls == "sampled" && error > 0 &&
				(added - truth) ^ 2 < (3 * error + 0.1 * was) ^ 2)
		}' all || {
		cat head csv
		return 1
	}
}
one_of 4 is_right

# Profiles keep it all.
"$WEFT" export -o a.pb before 2>err && "$WEFT" export -o b.pb after 2>err ||
	fail "no profiles"
"$WEFT" diff --csv --all a.pb b.pb >profiles 2>err || fail "diff of profiles"
cut -d, -f3,7 csv | sort >rows
cut -d, -f3,7 profiles | sort | diff rows - >differ || fail "profiles: $(cat differ)"

"$WEFT" diff --reference before before after >out 2>err
[ $? = 1 ] || fail "one reference for two builds"
grep -q 'a reference is of one side' err || fail "refused, but: $(cat err)"

rec four ./template4 20000
rec six ./template6 20000
"$WEFT" diff four six >out || fail "diff of templates"
grep -q '+.* costs more a call .*Cache<6>::get.* (was Cache<4>::get' out ||
	fail "not one row of both names: $(cat out)"
grep -q 'new function\|called less' out && fail "another row: $(cat out)"
exit 0
