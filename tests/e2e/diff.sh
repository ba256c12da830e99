#!/bin/bash
# Two builds of a program, one with three regressions planted: a function called
# twice as often, one that costs 20 % more a call, one with a new caller. In 20
# of 20 repetitions, each of recorded sessions full of noise, weft diff names
# these three first, each for the right reason. A repetition tells nothing where
# four programs wait for each processor: it is made again, five times at most.
# time: 600
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset COLUMNS DEBUGINFOD_URLS
repetitions=${REPETITIONS:-20} sessions=4 rounds=300

for build in before after; do
	mkdir "$T/$build"
	flags=
	[ $build = before ] || flags=-DPLANTED
	cc -O1 -g -finstrument-functions $flags -o "$T/$build/regress" \
		tests/prog/p_regress.c || fail "$build does not build"
done
cd "$T" || exit 1

# One session of each build at a time: they share what noise there is.
session() {
	rm -rf "$T/$1-$2"
	timeout 60 "$WEFT" record -q -o "$T/$1-$2" -- "$T/$1/regress" $3 \
		$rounds >"$T/$1-$2.log" 2>&1 &&
		"$WEFT" export -o "$T/$1-$2.pb" "$T/$1-$2" \
			2>>"$T/$1-$2.log" || echo "session $1-$2" >>failed
	rm -rf "$T/$1-$2"
}
record_all() {
	local k build
	for k in $(seq $sessions); do
		for build in before after; do
			session $build $k $(($1 * 1000 + k * 10 + ${#build})) &
		done
		wait
	done
	wait
	[ ! -e failed ] || fail "not recorded: $(cat failed *.log)"
}

cat >truth <<'END'
called twice serve
cost slower 
new_caller shared stranger
END
overloaded() {
	awk -v cpus="$(nproc)" '{ exit !($1 > 4 * cpus) }' /proc/loadavg
}
good=0 again=5
for ((repetition = 1; repetition <= repetitions; repetition++)); do
	record_all "$repetition"
	"$WEFT" diff --csv before-*.pb vs after-*.pb >csv 2>err ||
		fail "diff: $(cat err)"
	awk -F, 'NR > 1 && NR <= 4 { print $3, $7, $12 }' csv | sort >first
	if diff truth first >/dev/null; then
		good=$((good + 1))
	elif overloaded && [ $((again--)) -gt 0 ]; then
		echo "note: again: load $(cut -d' ' -f 1-3 /proc/loadavg)"
		sleep 5
		repetition=$((repetition - 1))
	else
		echo "repetition $repetition:"
		"$WEFT" diff before-*.pb vs after-*.pb
	fi
done
echo "note: $good of $repetitions repetitions name the three first"
[ $good = "$repetitions" ] || fail "$good of $repetitions"

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
exit 0
