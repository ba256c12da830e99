# lib.sh - what the test scripts share; they source it.
# SPDX-License-Identifier: MIT
set -u
P=$B/tests/prog
# The interpreters; 5.5 where there is one and weft was built for it.
: "${LUAS:=lua5.1 lua5.2 lua5.3 lua5.4 $([ -e "$B/lib/lua/5.5" ] &&
	command -v lua5.5 >/dev/null && echo lua5.5) luajit}"
export LUAS

fail() {
	echo "$*"
	for f in "$T"/err "$T"/report.err; do
		[ -s "$f" ] && { echo "$f:"; tail -n 20 "$f"; }
	done
	exit 1
}

# await COMMAND...: until it succeeds; two minutes at most.
await() {
	local i
	for i in $(seq 1200); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

# one_of N COMMAND...: it succeeds, in one of N tries at most. For figures that are
# wrong if another program takes the processor between two readings of a clock;
# if weft is wrong, they are in each.
one_of() {
	local i n=$1
	shift
	for i in $(seq "$n"); do
		("$@") && return
		echo "note: try $i of $n: $*: no"
	done
	fail "not in $n tries"
}

# record [OPTIONS --] PROGRAM ARGUMENT...: into $T/trace, stdout in $T/out,
# stderr in $T/err. Gives weft record's exit status; 124 after RECORD_LIMIT
# seconds (300).
record() {
	rm -rf "$T/trace"
	case $1 in
	-*) ;;
	*) set -- -- "$@" ;;
	esac
	timeout "${RECORD_LIMIT:-300}" "$WEFT" record -o "$T/trace" "$@" \
		>"$T/out" 2>"$T/err"
}

# no_switches [TRACE]: the kernel shows neither samples nor switches here: it is
# perf_event_open that is forbidden. Says why. The run counts such tests.
no_switches() {
	"$WEFT" info "${1-$T/trace}" | grep '^samples.why-not' &&
		"$WEFT" info "${1-$T/trace}" | grep -q '^samples.period 0$' &&
		echo "${T##*/}" >>"${RESULTS:-$T}/less"
}

# The report's rows, in $T/report.csv; what was lost, in $T/report.err.
report() {
	"$WEFT" report --csv "$@" "$T/trace" >"$T/report.csv" \
		2>"$T/report.err" || fail "weft report fails"
}

# calls NAME: of one function (names without commas), from $T/report.csv.
calls() {
	awk -F, -v name="$1" '$1 == name { n += $6 } END { print n + 0 }' \
		"$T/report.csv"
}

nothing_lost() {
	grep -qx '# nothing was lost' "$T/report.err" ||
		fail "something was lost: $(cat "$T/report.err")"
}

# The program prints "calls N NAME" for each of its functions; weft's report
# must say the same, to the call.
same_calls() {
	lua5.4 tests/oracle/calls.lua "$T/report.csv" "$T/out" ||
		fail "the program's own counts are others"
}

# No call was declared dead that was not: no function here is skipped.
no_unwinds() {
	"$WEFT" dump "$T/trace" >"$T/dump" 2>"$T/dump.err" ||
		fail "weft dump fails"
	if grep -E 'why=(longjmp|skipped|reset|lua_error)' "$T/dump" |
		head -n 5 | grep .; then
		fail "calls that returned are said to have been skipped"
	fi
}
