#!/bin/bash
# The kernel's samples fall into the functions that run, in the calls that the
# program says it made then: in threads, children and new images of a process,
# and in a library that is opened in the middle and that nothing records. Where
# the kernel refuses, this is said, with the ways out, and all else is the same.
# SPDX-License-Identifier: MIT
. tests/lib.sh
program=$(realpath "$P/p_samples") plug=$(realpath "$P/p_spin_plug")
"$P/p_no_perf" "$WEFT" record -o "$T/no" -- "$program" last >"$T/out" \
	2>"$T/err"
status=$?
if [ $status != 77 ]; then
	[ $status = 0 ] || fail "without perf_event_open: status $status"
	grep -q 'note: it is not known when threads ran' "$T/err" ||
		fail "nothing is said of the kernel's refusal"
	for way in kernel.perf_event_paranoid=2 'setcap cap_perfmon=ep /'; do
		grep -qF "$way" "$T/err" || fail "no word of $way"
	done
	grep -q '^weft: lost: 0' "$T/err" || fail "something was lost"
	"$WEFT" dump --raw "$T/no" >"$T/dump" || fail "weft dump fails"
	grep -q 'note "samples.period" "0"' "$T/dump" || fail "no period"
	grep -q 'note "samples.why-not" ".*forbidden' "$T/dump" ||
		grep -q 'note "samples.why-not" "kernel' "$T/dump" ||
		fail "no reason"
	grep -qE '^  item @[0-9]+ (samples|switches) ' "$T/dump" &&
		fail "samples from nowhere"
fi

record --sample-rate 4000 -- "$program" "$plug" || fail "weft record fails"
if grep -q 'note: it is not known when threads ran' "$T/err"; then
	echo "the kernel shows no samples here; what is said of that is tested"
	exit 77
fi
"$WEFT" dump --raw "$T/trace" >"$T/dump" 2>"$T/dump.err" ||
	fail "weft dump fails: $(cat "$T/dump.err")"
grep -q 'note "clock" "tsc"' "$T/dump" || {
	echo "ticks are not the TSC's here"
	exit 77
}
"$WEFT" check "$T/trace" >"$T/check" || fail "$(cat "$T/check")"
nm -S "$program" >"$T/program"
nm -S "$plug" >"$T/plug"
kernel=no
if [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 2 ]; then
	kernel=yes
fi
lua5.4 tests/e2e/samples.lua "$T/dump" "$T/out" "$T/program" "$T/plug" \
	"$kernel" ||
	fail "samples are elsewhere"

record --sample-rate 0 -- "$program" last || fail "rate 0: weft record fails"
"$WEFT" dump --raw "$T/trace" >"$T/dump" || fail "weft dump fails"
grep -qE '^  item @[0-9]+ samples ' "$T/dump" && fail "samples at rate 0"
grep -q 'note "samples.why-not" "--sample-rate 0"' "$T/dump" ||
	fail "rate 0: no reason"
exit 0
