#!/bin/bash
# With any one of the tracer's healing rules switched off (tracer/host/base/break.h),
# a test fails, and says what that rule is for; with all of them on it passes.
# A time limit, or a recording that fails, tells nothing: that test is run again.
# So is one that waits for handlers to come at the right moment. Where functions
# share places in the table of names, a test passes, too. With arguments: these
# rules alone. --list prints each rule and the test that notices.
# time: 1800
# deep
# SPDX-License-Identifier: MIT
set -u
# The rules, with what break.h says of each: lines "name<TAB>meaning".
rules() {
	{ sed -n '/define BREAK_LIST/,/^$/p' tracer/host/base/break.h |
		tr -d '\\\n\t'; echo; } | sed 's/) *X(/)\n&/g' |
		sed -n 's/" *"//g; s/.*X(\([a-z]*\), *"\(.*\)").*/\1\t\2/p'
}

# Which tests notice a rule, and what they say then.
group_of() {
	case $1 in
	busy) echo signals ;;
	change) echo changes ;;
	interrupt | closed) echo handlers ;;
	# C++ exceptions, where nobody tells that frames die.
	exit | sp | inlined) echo calls ;;
	split) echo splits ;;
	# What it leaves open, the next call heals: seen between the two. And a
	# moment that handlers seldom find.
	ret | again) echo heal ;;
	order | moved) echo ordinal ;;
	depth) echo deep ;;
	back) echo thrown ;;
	borrowed) echo openmp ;;
	*) echo woven ;;
	esac
}
crash='Segmentation fault'
if [ "${1-}" = --list ]; then
	rules | while IFS=$(printf '\t') read -r name meaning; do
		printf '%-10s %-9s %s\n' "$name" "$(group_of "$name")" "$meaning"
	done
	exit 0
fi
prefix=$T/broken
mkdir "$prefix"
cp -r "$B/bin" "$B/lib" "$B/libexec" "$prefix/"
cp "$B/breaks/lib/libweft.so" "$prefix/lib/libweft.so"
export WEFT=$prefix/bin/weft
export RECORD_LIMIT=120 RECORD_OPTIONS="--on-full wait"
verdict_of() {
	case $1 in
	# Frames of the program's, overwritten, may end it.
	signals) echo "own counts are others|something was lost|$crash" ;;
	handlers) echo '[1-9][0-9.]* of [0-9]* stand elsewhere' ;;
	thrown) echo 'shared: a wrong caller' ;;
	openmp) echo 'wrong root' ;;
	calls | splits)
		echo 'a wrong caller of|said to be skipped|switches that nobody' ;;
	heal | changes) echo '^FAIL' ;;
	ordinal) echo '^FAIL.*same_lines' ;;
	woven | deep | budget) echo 'the account and the trace differ' ;;
	esac
}
run_group() {
	case $1 in
	signals) tests/e2e/signals.sh 1000 0.4 ;;
	changes) "$B/breaks/tests/test_host_jump" ;;
	handlers) tests/e2e/handlers.sh 10000 0.4 ;;
	calls) BUILDS=' ' tests/e2e/calls.sh ;;
	splits) BUILDS=gcc-O2 tests/e2e/calls.sh ;;
	heal) "$B/breaks/tests/test_lua_heal" ;;
	ordinal) "$B/breaks/tests/test_lua_written" ;;
	thrown) LUAS=lua5.4 tests/e2e/lua-thrown.sh ;;
	openmp) BUILDS=gcc-O2 tests/e2e/openmp.sh ;;
	woven) BATCH=8 tests/oracle/seed "$B/tests/oracle/woven-gcc-O2" \
		401 402 403 404 405 406 407 408 ;;
	deep) WOVEN_DEPTH=4 RECORD_OPTIONS="$RECORD_OPTIONS --max-depth 4" \
		run_group woven ;;
	budget) BATCH=10 TAILS=calls RECORD_OPTIONS="--budget 0.1% --lua exact $RECORD_OPTIONS" \
		tests/oracle/seed "$B/tests/oracle/woven-luajit" \
		21 22 23 24 25 26 27 28 29 30 ;;
	esac
}
export -f run_group

# What nothing can be told from.
untold='no free buffer in the pool|could be written|the recorder ended'
untold="$untold|weft record fails"

# judge GROUP FOLDER: passed, noticed, or why neither is known.
judge() {
	local group=$1 dir=$2 status
	rm -rf "$dir"
	mkdir -p "$dir/run"
	T=$dir/run timeout -k 5 300 bash -c "run_group $group" >"$dir/said" 2>&1
	status=$?
	if [ $status = 0 ]; then
		echo passed
	elif [ $status -ge 124 ]; then
		echo "not known: status $status"
	elif grep -qE "$untold" "$dir/said" && ! grep -q "$crash" "$dir/said"; then
		echo "not known: $(grep -E -m 1 "$untold" "$dir/said")"
	elif grep -qE "$(verdict_of "$group")" "$dir/said"; then
		echo noticed
	else
		echo "not known: $(tail -n 1 "$dir/said")"
	fi
}

# expect VERDICT RULE GROUP: in three tries, but what passes must not fail once.
expect() {
	local want=$1 rule=$2 group=$3 got
	[ "$rule" = none ] || export WEFT_TEST_BREAK=$rule
	for _ in 1 2 3; do
		got=$(judge "$group" "$T/$rule-$group")
		[ "$got" != "$want" ] || break
		[ "$want/$got" != passed/noticed ] || break
	done
	if [ "$got" != "$want" ]; then
		echo "without $rule: $group: $got, not $want"
		tail -n 15 "$T/$rule-$group/said"
		touch "$T/bad"
	elif [ "$want" = noticed ]; then
		echo "without $rule: $(grep -E -m 1 "$(verdict_of "$group")" \
			"$T/$rule-$group/said")"
	fi
}

# Two at a time: recording waits more than it computes.
unset WEFT_TEST_BREAK
tasks=$(echo passed room budget
	for group in woven signals changes handlers calls splits heal \
		ordinal deep thrown openmp; do
		echo "passed none $group"
	done
	for rule in ${*:-$(rules | cut -f 1)}; do
		echo "noticed $rule $(group_of "$rule")"
	done)
while read -r want rule group; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n
	done
	expect "$want" "$rule" "$group" &
done <<<"$tasks"
wait
[ ! -e "$T/bad" ]
