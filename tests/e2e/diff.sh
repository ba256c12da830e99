#!/bin/bash
# Two builds of a program, one with three regressions planted: a function called
# twice as often, one that costs 20 % more a call, one with a new caller. In 5
# repetitions (20 with DEEP=1), each of recorded sessions full of noise, weft diff names these
# three first, each for the right reason; that which costs more is a matter of
# chance, and may be missed in one of ten. Samples would add noise. Where the machine was not in
# all sessions of a repetition as fast at its fastest, to 3 %, by a piece
# of work that the program times, nobody can tell what 20 % are: then only the two
# that are counted must be there, and the repetition is made again, 10 times at
# most (30).
# time: 1200
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset COLUMNS DEBUGINFOD_URLS
repetitions=5 most_unsteady=10 sessions=4 rounds=300
[ -z "${DEEP-}" ] || repetitions=20 most_unsteady=30

for build in before after; do
	mkdir "$T/$build"
	flags=
	[ $build = before ] || flags=-DPLANTED
	cc -O1 -g -finstrument-functions $flags -o "$T/$build/regress" \
		tests/prog/p_regress.c || fail "$build does not build"
done
cd "$T" || exit 1

# One session; several are made at a time, as most of it is waiting.
session() {
	timeout 300 "$WEFT" record --sample-rate 0 -q -o "$T/$1-$2" -- "$T/$1/regress" $3 \
		$rounds >>speeds 2>"$T/$1-$2.log" &&
		"$WEFT" export -o "$T/$1-$2.pb" "$T/$1-$2" \
			2>>"$T/$1-$2.log" || echo "session $1-$2" >>failed
	rm -rf "$T/$1-$2"
}
record_all() {
	local k build
	rm -f speeds
	for k in $(seq $sessions); do
		for build in before after; do
			session $build $k $(($1 * 1000 + k * 10 + ${#build})) &
		done
		[ $((k % 2)) = 1 ] || wait
	done
	wait
	[ ! -e failed ] || fail "not recorded: $(cat failed *.log)"
}
is_steady() {
	[ $switches = shown ] && sort -n speeds | awk 'NR == 1 { least = $1 } { most = $1 }
		END { exit !(NR == '$((2 * sessions))' && most < 1.03 * least) }'
}

# Without the kernel's switches, what takes a core away makes a call cost more.
switches=shown
record -q -- ./before/regress 1 10 || fail "not recorded"
no_switches && switches=hidden most_unsteady=$repetitions

cat >truth <<'END'
called twice serve
cost slower 
new_caller shared stranger
END
good=0 judged=0 unsteady=0 missed=0
for ((n = 1; judged < repetitions && unsteady < most_unsteady; n++)); do
	record_all $n
	"$WEFT" diff --raw --csv before-*.pb vs after-*.pb >csv 2>err ||
		fail "diff: $(cat err)"
	awk -F, 'NR > 1 && NR <= 4 { print $3, $7, $12 }' csv | sort >first
	if is_steady; then
		judged=$((judged + 1))
		if diff truth first >/dev/null; then
			good=$((good + 1))
			continue
		fi
		[ "$(comm -12 truth first | grep -vc '^cost')" = 2 ] &&
			missed=$((missed + 1))
	else
		unsteady=$((unsteady + 1))
		[ "$(comm -12 truth first | grep -vc '^cost')" = 2 ] && continue
		good=-1000
	fi
	echo "repetition $n: $(sort -n speeds | tr '\n' ' ')"
	"$WEFT" diff --raw before-*.pb vs after-*.pb
done
echo "note: $good of $judged repetitions name the three first; $unsteady were" \
	"made while the machine changed its speed"
[ $((good + missed)) = $judged ] && [ $((missed * 10)) -le $((judged + 9)) ] ||
	fail "$good of $judged"

# For CI: a status of its own when one change adds too much.
"$WEFT" diff --fail-over 90% before-*.pb vs after-*.pb >out 2>err ||
	fail "--fail-over 90%: $(cat err)"
"$WEFT" diff --fail-over 0.05% before-*.pb vs after-*.pb >out 2>err
[ $? = 4 ] || fail "--fail-over 0.05%: not status 4"
grep -qE '"(twice|slower|shared)" adds' err || fail "says: $(cat err)"
# A build against itself: nothing fails.
"$WEFT" diff --fail-over 5% before-1.pb before-2.pb vs before-1.pb \
	before-2.pb >out 2>err || fail "against itself: $(cat err)"
grep -q '^no function' out || fail "a build differs from itself: $(cat out)"
# One session a side: a change is shown, chance is not known.
"$WEFT" diff before-1.pb after-1.pb >out 2>err || fail "one each"
grep -q 'chance is not known' out || fail "says: $(cat out)"
[ $judged = "$repetitions" ] || {
	echo "switches are $switches, and the machine changed its speed in all" \
		"but $judged repetitions"
	exit 77
}
