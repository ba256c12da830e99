#!/bin/bash
# run.sh [PATTERN...] - runs the tests whose name matches one of the patterns
# (all, if none is given), JOBS at a time (two more than there are processors),
# each in a temporary folder of its own and under a time limit, and prints what
# the failing ones said.
# The last line is "N passed, N failed, N skipped".
#
# Tests are: check/NAME (tests/*.sh that check the tree), unit/NAME and
# san-*/unit/NAME (functions test_*), replay/NAME (texts), cli/NAME, e2e/NAME,
# oracle/NAME, reference/NAME (scripts); viewers/NAME (scripts that need other
# tools: only if a pattern names them). In a script's head "# time: SECONDS"
# sets its limit (600), "# alone" keeps others away while it runs, and
# "# each: A B" makes two tests of it, NAME-A and NAME-B, which run it with that
# argument. "# harms": traces are damaged after they were recorded; of all others
# that an end-to-end test leaves, `weft check` must say what the summary of the
# recording said, where that is "lost: 0". With DEEP=1 in the environment tests run at full length. "# deep": it
# runs then only, or if a pattern names it. LONGER=1 leaves out the tests that are
# as long without DEEP=1. UNTIL=SECONDS, of date +%s: what has not begun then is
# skipped. SLOWEST=N lists the N tests that used most processor time. QUICK=1 runs
# what needs no recording and no sanitizer: check/, unit/, replay/ and cli/.
# EMULATED=ARCH, which in-debian.sh sets, skips what emulated.txt names, and
# sets limits of time four times as long.
# Tests that could check less, as the kernel shows weft neither samples nor
# switches (no_switches in lib.sh), are counted before the last line.
# A test that fails is run once more when all others have ended, unless it crashed
# or a sanitizer spoke: "unsteady" is what failed only beside others.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
: "${B:=build}"
case $B in
/*) ;;
*) B=$PWD/$B ;;
esac
export B WEFT=$B/bin/weft LC_ALL=C
self=$PWD/tests/run.sh
[ -z "${EMULATED-}" ] || export RECORD_LIMIT=1200

[ -x "$WEFT" ] || {
	echo "$B has no weft yet; this builds all that tests need:" \
		"make B=$B test-bin"
	exit 1
}

# lacking NAME: the reason why emulation cannot run this test; false: it can.
lacking() {
	local pattern reason
	while read -r pattern reason; do
		# shellcheck disable=SC2254
		case $1 in
		'#'*) ;;
		$pattern) echo "$reason" && return 0 ;;
		esac
	done <tests/emulated.txt
	return 1
}

limit_of() {
	sed -n '1,15s/^# time: *\([0-9]*\).*/\1/p' "$1" | tr -d '\0'
}

# has_crashed STATUS OUTPUT: 124 and 137 are the time limit's.
has_crashed() {
	[ "$1" -ge 128 ] && [ "$1" != 137 ] ||
		grep -av 'ended by signal' "$2" | grep -cE \
			'Sanitizer|runtime error: |Segmentation|Abort|Assert' >/dev/null
}

# contradictions: summaries of weft record that say "lost: 0", in the test's own
# folder, of traces there that are not whole.
contradictions() {
	find "$T" -maxdepth 2 -type f -size -64k -exec \
		grep -hs -A 1 -x 'weft: lost: 0' {} + |
		sed -n 's/^weft: next: weft report //p' | sort -u |
		while read -r trace; do
			case $trace in
			/*) ;;
			*) trace=$T/$trace ;;
			esac
			[ ! -d "$trace" ] || timeout 120 "$WEFT" check \
				"$trace" >"$T.check" 2>&1 || [ $? != 2 ] || {
				echo "its summary says \"lost: 0\", but $trace:"
				cat "$T.check"
			}
		done
}

# in_time GRACE LIMIT COMMAND...: timeout, which has a process group of its own.
in_time() {
	# shellcheck disable=SC2016
	sh -c 'echo $$ >"$0"; exec timeout -k "$@"' "$T.pid" "$@"
}

# One test: NAME KIND FILE [WITH], which is a script's argument, or the build
# that reads a replay text. Its verdicts go to a file, its output to another.
one() {
	local name=$1 kind=$2 file=$3 with=${4-} limit
	local key=${name//\//.}
	local out=$RESULTS/$key.out verdict=$RESULTS/$key.verdict
	if [ -n "${UNTIL-}" ] && [ "$(date +%s)" -ge "$UNTIL" ]; then
		echo "skip $name: no time was left" | tee "$verdict"
		return 0
	fi
	if [ -n "${EMULATED-}" ] && limit=$(lacking "$name"); then
		echo "skip $name: emulated: $limit" | tee "$verdict"
		return 0
	fi
	limit=$(limit_of "$file")
	[ -z "${EMULATED-}" ] || limit=$((${limit:-600} * 4))
	export T=$RESULTS/tmp/$key
	# Recordings of other tests cannot be found, nor stopped, from here.
	export XDG_RUNTIME_DIR=$RESULTS/run/$key
	mkdir -p "$T" "$XDG_RUNTIME_DIR"
	local began=$SECONDS status=0
	case $kind in
	unit) in_time 5 "${limit:-600}" "$file" ;;
	replay) in_time 5 "${limit:-300}" "$with/tests/run_replay" "$file" ;;
	*) in_time 10 "${limit:-600}" "$file" ${with:+"$with"} ;;
	esac >"$out" 2>&1 </dev/null || status=$?
	# What a test that fails leaves running would slow down all others.
	kill -9 -- "-$(cat "$T.pid")" 2>/dev/null
	rm -f "$T.pid"
	# A summary and a report that contradict each other are a fault of weft.
	if [ $status = 0 ] && [ "$kind" = script ] && [ "${name#e2e/}" != "$name" ] &&
		! sed -n 1,15p "$file" | grep -q '^# harms'; then
		contradictions >"$T.said" 2>&1
		[ ! -s "$T.said" ] || {
			cat "$T.said" >>"$out"
			status=1
		}
		rm -f "$T.said" "$T.check"
	fi
	if [ "$kind" = unit ]; then
		# What stands before a skip is its reason.
		awk -v place="${name%/*}/" '
			/^(pass|FAIL) / { print $1 " " place substr($0, 6) }
			/^skip / { print "skip " place $2 ": " before }
			{ before = $0 }' "$out" >"$verdict"
		# A program that died, or had nothing to run, is a failure too.
		grep -q '^FAIL' "$verdict" || [ $status = 0 ] ||
			echo "FAIL $name (exit status $status)" >>"$verdict"
	elif [ $status = 0 ]; then
		echo "pass $name" >"$verdict"
	elif [ $status = 77 ]; then
		echo "skip $name: $(tail -n 1 "$out")" >"$verdict"
	elif [ $status -ge 124 ] && [ $status -le 137 ] &&
		[ $((SECONDS - began)) -ge "${limit:-300}" ]; then
		echo "FAIL $name (time limit)" >"$verdict"
	else
		echo "FAIL $name (exit status $status)" >"$verdict"
	fi
	if grep -q '^FAIL' "$verdict"; then
		{
			echo "---- $name"
			tail -n 60 "$out" | tail -c 6000
			grep '^FAIL' "$verdict"
		} >"$out.shown"
		cat "$out.shown"
		has_crashed $status "$out" ||
			echo "$name $kind $file $with" >>"$RESULTS/again"
	else
		[ -z "${VERBOSE-}" ] || cat "$verdict"
		grep '^skip' "$verdict"
		# What a test measured is worth a line even when it passes.
		sed -n 's/^note: /  /p' "$out"
	fi
	{
		echo "$name $((SECONDS - began))"
		times
	} >"$RESULTS/$key.time"
	chmod -R u+rwX "$T" 2>/dev/null
	rm -rf "$T"
	return 0
}

if [ "${1-}" = --one ]; then
	shift
	one "$@"
	exit 0
fi

wanted() {
	local name=$1 pattern
	shift
	if [ $# = 0 ]; then
		[ "${name#viewers/}" = "$name" ]
		return
	fi
	for pattern in "$@"; do
		case $name in
		$pattern | */$pattern | *"$pattern"*) return 0 ;;
		esac
	done
	return 1
}

# A program may be left of a test that is gone; test_NAME_53 is made of
# test_NAME.c.
has_source() {
	[ -e "tests/unit/$1.c" ] || [ -e "tests/unit/${1%_[0-9][0-9]}.c" ]
}

# is_longer NAME KIND FILE: with DEEP=1 than without.
is_longer() {
	local file=$3 name=${1##*/}
	[ "$2" != unit ] || file=tests/unit/${name%_[0-9][0-9]}.c
	grep -aqsE '\<DEEP\>|^# deep|/share\.inc' "$file"
}

# What the heads of all scripts say, read at once: a process for each of them
# takes longer than many a test. said[deep tests/e2e/deep.sh] is set, and so on.
declare -A said
heads() {
	awk 'FNR > 15 { nextfile }
		/^# (deep|alone|time:|each:)/ {
			what = $2
			sub(/^# [^ ]* */, "")
			sub(/:$/, "", what)
			print what, FILENAME, $0
		}' tests/*.sh tests/{cli/*,e2e,oracle,reference,viewers}/*.sh
}
while read -r what file rest; do
	said[$what $file]=$rest
done < <(heads)

every() {
	local f s e each prefix
	for f in layers layers-seen style needs; do
		echo "check/$f check $PWD/tests/$f.sh"
	done
	for s in "$B" "$B"/san-*; do
		case $s in
		"$B") prefix= ;;
		*) prefix=${s##*/}/ ;;
		esac
		for f in "$s"/tests/test_*; do
			[ -x "$f" ] && has_source "${f##*/}" &&
				echo "${prefix}unit/${f##*/} unit $f"
		done
		[ -x "$s/tests/run_replay" ] || continue
		for f in tests/replay/*.test; do
			[ -e "$f" ] || continue
			f=${f##*/}
			echo "${prefix}replay/${f%.test} replay" \
				"$PWD/tests/replay/$f $s"
		done
	done
	for f in tests/cli/*/*.sh tests/e2e/*.sh tests/oracle/*.sh \
		tests/reference/*.sh tests/viewers/*.sh; do
		[ -e "$f" ] || continue
		s=${f#tests/}
		s=${s%.sh}
		each=${said[each $f]-}
		[ -n "$each" ] || echo "$s script $PWD/$f"
		for e in $each; do
			echo "$s-$e script $PWD/$f $e"
		done
	done
}

RESULTS=$(mktemp -d "${TMPDIR:-/tmp}/weft-test-XXXXXX") || exit 1
export RESULTS
trap 'rm -rf "$RESULTS"' EXIT
trap 'exit 130' INT TERM

every | while read -r name kind file with; do
	wanted "$name" "$@" || continue
	case ${QUICK:+$name} in
	'' | check/* | unit/* | replay/* | cli/*) ;;
	*) continue ;;
	esac
	[ -z "${LONGER-}" ] || is_longer "$name" "$kind" "$file" || continue
	short=${file#"$PWD/"}
	[ $# -gt 0 ] || [ -n "${DEEP-}" ] ||
		[ -z "${said[deep $short]+set}" ] || continue
	if [ -n "${said[alone $short]+set}" ]; then
		echo "$name $kind $file $with" >>"$RESULTS/alone"
	else
		limit=${said[time $short]-0}
		echo "${limit:-0} $name $kind $file $with" >>"$RESULTS/together"
	fi
done
[ -e "$RESULTS/together" ] || [ -e "$RESULTS/alone" ] ||
	echo "no test is named so; one of unit/ may not be built yet:" \
		"make B=$B test-bin"
run() {
	[ -e "$1" ] || return 0
	# shellcheck disable=SC2016
	xargs -a "$1" -d '\n' -n 1 -P "$2" bash -c 'exec "$0" --one $1' "$self"
}
# What may take long begins first. Tests of recordings wait more than they
# compute: two more than there are processors at a time.
if [ -e "$RESULTS/together" ]; then
	sort -s -k 1,1nr "$RESULTS/together" | cut -d ' ' -f 2- \
		>"$RESULTS/sorted"
fi
run "$RESULTS/sorted" "${JOBS:-$(($(nproc) + 2))}"
run "$RESULTS/alone" 1
if [ -e "$RESULTS/again" ] &&
	[ "$(date +%s)" -lt "${UNTIL:-$(($(date +%s) + 1))}" ]; then
	mv "$RESULTS/again" "$RESULTS/once"
	UNTIL='' run "$RESULTS/once" 1
	while read -r name kind file with; do
		grep -q '^FAIL' "$RESULTS/${name//\//.}.verdict" ||
			echo "unsteady: $name fails beside other tests"
	done <"$RESULTS/once"
fi

# A .time file: name and seconds; what the shell itself used; what the test did,
# "0m1.250s 0m0.070s" of user and system time.
if [ -n "${SLOWEST-}" ]; then
	cat "$RESULTS"/*.time | awk '
		function seconds(t) { split(t, p, "[ms]"); return p[1] * 60 + p[2] }
		NR % 3 == 1 { name = $1; wall = $2 }
		NR % 3 == 0 {
			cpu = seconds($1) + seconds($2)
			total += cpu
			printf "%7.1f s CPU %5d s  %s\n", cpu, wall, name
		}
		END { printf "%7.1f s CPU in all\n", total }' |
		sort -rn | head -n $((SLOWEST + 1))
fi
cat "$RESULTS"/*.verdict >"$RESULTS/all" 2>/dev/null
passed=$(grep -c '^pass' "$RESULTS/all")
failed=$(grep -c '^FAIL' "$RESULTS/all")
skipped=$(grep -c '^skip' "$RESULTS/all")
[ "$failed" = 0 ] || grep '^FAIL' "$RESULTS/all"
[ ! -e "$RESULTS/less" ] ||
	echo "checked less, for want of samples and switches:" \
		"$(sort -u "$RESULTS/less" | wc -l) tests," \
		"$(sort -u "$RESULTS/less" | tr '\n' ' ')"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && { [ "$passed" -gt 0 ] || [ -n "${UNTIL-}" ]; }
