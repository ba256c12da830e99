#!/bin/bash
# The program runs under weft record as it does alone: its input and output,
# its environment, its signals, its place in the process tree.
# SPDX-License-Identifier: MIT
. tests/lib.sh
run() {
	rm -rf "$T/trace"
	timeout 300 "$WEFT" record -q -o "$T/trace" -- "$@"
}
[ "$(echo one two | run cat 2>/dev/null)" = "one two" ] || fail "stdin"
run sh -c 'echo out; echo err >&2' >"$T/o" 2>"$T/e"
[ "$(cat "$T/o")" = out ] || fail "stdout"
grep -qx err "$T/e" || fail "stderr"

# Nothing of ours in its environment but what recording takes.
env | grep -vE '^(_|SHLVL|PWD|OLDPWD)=' | sort >"$T/before"
run env 2>/dev/null | grep -vE '^(_|SHLVL|PWD|OLDPWD)=' | sort >"$T/after"
more=$(comm -13 "$T/before" "$T/after" | sed 's/=.*//' | tr '\n' ' ')
[ "$more" = "LD_PRELOAD WEFT_POOL " ] || fail "environment: $more"
other=$(LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6 run env 2>/dev/null |
	sed -n 's/^LD_PRELOAD=//p')
case $other in
*libweft.so:/lib/x86_64-linux-gnu/libm.so.6) ;;
*) [ -e /lib/x86_64-linux-gnu/libm.so.6 ] && fail "LD_PRELOAD: $other" ;;
esac

# Descriptors: what it has anyway, and the pool's, far away.
alone=$(sh -c 'ls /proc/$$/fd' 7</dev/null | sort | tr '\n' ' ')
fds=$(run sh -c 'ls /proc/$$/fd' 7</dev/null 2>/dev/null | sort |
	grep -v '^1[0-9][0-9][0-9]$' | tr '\n' ' ')
[ "$fds" = "$alone" ] || fail "descriptors: $fds instead of $alone"

# Same process group and session; its parent is weft record. What does the work,
# and has the pool, is in another session, so that the kernel does not share one
# session's time between it and the program's threads.
run sh -c 'at_work=$(pgrep -P $PPID -x weft-record)
	grep -q "${WEFT_POOL##*:}" /proc/$at_work/maps || at_work=$PPID
	echo $(ps -o pgid=,sid= $$) $(ps -o pgid=,sid= $PPID) \
		$(ps -o sid= $at_work)' >"$T/o" 2>/dev/null
read -r own session theirs their_session at_work <"$T/o"
[ "$own $session" = "$theirs $their_session" ] ||
	fail "groups and sessions: $(cat "$T/o")"
[ "$at_work" != "$session" ] ||
	fail "no session of its own: $(cat "$T/o")"

# SIGTERM and SIGHUP go to the program; SIGINT and SIGQUIT are its own affair. A
# shell cannot trap what was ignored when it began, as SIGHUP is below nohup.
for s in TERM HUP; do
	rm -rf "$T/trace" "$T/o"
	env --default-signal=$s "$WEFT" record -o "$T/trace" -- sh -c \
		"trap 'echo got $s; exit 7' $s; echo ready
		while :; do sleep 0.1; done" \
		>"$T/o" 2>"$T/err" &
	recorder=$!
	await grep -sqx ready "$T/o" || fail "the program did not start"
	kill -INT $recorder
	kill -QUIT $recorder
	sleep 0.3
	kill -0 $recorder || fail "it does not ignore SIGINT"
	kill -$s $recorder
	wait $recorder
	status=$?
	[ $status = 7 ] || fail "$s: status $status"
	grep -qx "got $s" "$T/o" || fail "$s did not reach the program"
done

# A path with blanks and colons: the loader would split it.
mkdir -p "$T/odd: place"
cp -r "$B/bin" "$B/lib" "$B/libexec" "$T/odd: place/"
rm -rf "$T/trace"
"$T/odd: place/bin/weft" record -o "$T/trace" -- "$P/p_exit" exit \
	>"$T/out" 2>"$T/err"
[ $? = 4 ] || fail "a path with blanks"
grep -q 'ld.so' "$T/err" && fail "the loader complains"
report
[ "$(calls leaf)" = 1001 ] || fail "a path with blanks: nothing recorded"

# --no-follow ends with the program, though a child of its runs on.
rm -rf "$T/trace"
"$WEFT" record --no-follow -o "$T/trace" -- sh -c '"$0" 300 >"$1" 2>&1 &
	echo $! >"$1.pid"
	until [ -s "$1" ]; do sleep 0.1; done
	sleep 0.5
	exit 5' "$P/p_slow" "$T/child" >"$T/out" 2>"$T/err"
[ $? = 5 ] || fail "--no-follow: status"
kill "$(cat "$T/child.pid")" || fail "--no-follow waits"
grep -q 'keeps* running, but will not be recorded' "$T/err" || fail "--no-follow: not said"
report
[ "$(calls tick)" -ge 1000 ] || fail "--no-follow: $(calls tick) calls"
exit 0
