#!/bin/bash
# Mishaps of the program's surroundings: memory that cannot be mapped, few
# descriptors, stops, steps of the clock, and a pool whose name is gone.
# Each time the program's answers and its own count stand against the record.
# alone: LTTng's session daemon waits for a recorder that is stopped.
# SPDX-License-Identifier: MIT
. tests/lib.sh
: "${STOP:=$([ "${DEEP:-}" = 1 ] && echo 10 || echo 1)}"

# lost_calls: that the report tells.
lost_calls() {
	sed -nE 's/^# lost: ([0-9,]+) calls? .*/\1/p' "$T/report.err" |
		tr -d , | awk '{ n += $1 } END { print n + 0 }'
}

# The tracer's mapping N fails, for each N that there is: each call is there or
# counted as lost, or it is said that the program is not recorded.
ways=0
for n in $(seq 100); do
	export NTH=$n NTH_FAILED=$T/failed
	rm -f "$T/failed"
	# shellcheck disable=SC2016
	record sh -c 'LD_PRELOAD=$LD_PRELOAD:$0 exec "$@"' \
		"$P/p_no_memory" "$P/p_threads" at-once 6 ||
		fail "mapping $n: the program ends with $?"
	unset NTH NTH_FAILED
	[ -e "$T/failed" ] || break
	own=$(awk '$1 == "calls" { n += $2 } END { print n + 1 }' "$T/out")
	[ "$own" = 235 ] || fail "mapping $n: the program makes $own calls"
	if "$WEFT" report --csv "$T/trace" >"$T/report.csv" 2>"$T/report.err"
	then
		all=$(($(calls small) + $(calls run) + $(calls main)))
		[ $((all + $(lost_calls))) = "$own" ] ||
			fail "mapping $n: $all calls and $(lost_calls) lost"
		ways=$((ways + 1))
	else
		grep -q 'lost: 1 process not recorded' "$T/err" &&
			grep -q '^# lost: 1 process that' "$T/report.err" ||
			fail "mapping $n: it does not say what is missing"
	fi
done
[ "$n" -lt 100 ] && [ $ways -ge 6 ] || fail "$ways of $n mappings"
[ "$(grep -c . "$T/out")" -gt 0 ] && report && same_calls && nothing_lost

# slow MISHAP...: the program calls, waits while that happens, and calls again;
# each call is there.
slow() {
	rm -rf "$T/trace" "$T/in" "$T/out" # what the last program said
	mkfifo "$T/in"
	"$WEFT" record --max-size 64M -o "$T/trace" -- "$P/p_slow" 0.1 0.1 \
		<"$T/in" >"$T/out" 2>"$T/err" &
	front=$!
	exec 7>"$T/in"
	await grep -qx waits "$T/out" || fail "$*: the program does not run"
	program=$(sed -n 's/^pid //p' "$T/out")
	recorder=$(pgrep -P $front | grep -vx "$program")
	pool=$(cat "$T/trace/pool")
	"$@" || fail "$* fails"
	exec 7>&-
	wait $front
	[ $? = 9 ] || fail "$*: the program ends otherwise"
	grep -qx 'calls 20000 tick' "$T/out" || fail "$*: $(cat "$T/out")"
	report
	same_calls
	nothing_lost
}
stopped() {
	kill -STOP "$1" && exec 7>&- && sleep "$STOP" && kill -CONT "$1"
}
few_files() {
	prlimit --pid "$1" --nofile="$2:$2"
}
no_name() { rm "$pool"; }
stop_program() { stopped "$program"; }
stop_recorder() { stopped "$recorder"; }
# What it has, and 200 kB.
little_memory() {
	local kb
	kb=$(awk '/^VmSize/ { print $2 }' "/proc/$recorder/status")
	prlimit --pid "$recorder" --as="$(((kb + 200) << 10))"
}
few_for_program() { few_files "$program" 4; }
few_for_recorder() {
	few_files "$recorder" "$(($(find "/proc/$recorder/fd" | wc -l) + 1))"
}
slow no_name
slow stop_program
slow stop_recorder
slow few_for_program
slow few_for_recorder
slow little_memory

# A program whose address space has no room for the pool: its answers are its own,
# and it is told that it was not recorded, by the recorder and in the trace.
record sh -c 'ulimit -v 30000; exec "$0" 0.1' "$P/p_slow"
[ $? = 9 ] && grep -qx 'calls 10000 tick' "$T/out" || fail "no pool: $(cat "$T/out")"
grep -q 'lost: 1 process not recorded: no memory' "$T/err" ||
	fail "no pool: it does not say what is missing: $(cat "$T/err")"
grep -q 'no Lua state was seen' "$T/err" && fail "no pool: a false reason"
"$WEFT" report "$T/trace" >"$T/report" 2>"$T/report.err" && fail "no pool: calls"
grep -qx 'lost: 1 process that could not be recorded' "$T/report" ||
	fail "no pool: $(cat "$T/report")"
grep -q 'no calls; something was lost' "$T/report.err" ||
	fail "no pool: $(cat "$T/report.err")"

# A recorder whose address space is limited from the start: LTTng-UST would abort.
for mb in 130 180 300; do
	(
		ulimit -v $((mb << 10))
		record "$P/p_slow" 0.1
	)
	[ $? = 9 ] || fail "$mb MB: status"
	grep -q 'the address space is limited' "$T/err" || fail "$mb MB: not told"
	report
	same_calls
	nothing_lost
done

# Recorder and program may open few files: all is recorded, or nothing begins.
some=0
for n in 4 6 8 12 14 16 20 24 32 64; do
	rm -rf "$T/trace"
	(
		ulimit -n $n
		record "$P/p_slow" 0.1
	)
	status=$?
	if [ $status = 2 ] && [ ! -s "$T/out" ]; then
		grep -q 'Too many open files' "$T/err" || fail "$n files: not told"
		[ -e "$T/trace" ] && fail "$n files: there is a trace"
		continue
	fi
	[ $status = 9 ] || fail "$n files: status $status"
	report
	same_calls
	nothing_lost
	some=$((some + 1))
done
[ $some -ge 3 ] && [ $some -lt 10 ] || fail "recorded with $some of 10 limits"

# The clock that tells the date goes forward and back an hour at each reading, in
# recorder and program: no call takes an hour, and none is lost.
export LD_PRELOAD=$P/p_clock_steps
[ "$(lua5.4 -e 'print(os.time() - os.time())')" = 3600 ] ||
	fail "the clock does not step"
record "$P/p_slow" 0.1
status=$?
unset LD_PRELOAD
[ $status = 9 ] || fail "clock steps: status"
report
same_calls
nothing_lost
awk -F, '$1 == "main" && $7 < 3600e9 { good = 1 } END { exit !good }' \
	"$T/report.csv" || fail "clock steps: $(cat "$T/report.csv")"
exit 0
