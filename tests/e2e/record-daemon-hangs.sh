#!/bin/bash
# One of LTTng's daemons is stopped: a recording that begins does not wait for it,
# and goes to the spill file; nor does one that ends, and neither loses a call. If
# it hangs for good, it is killed, and later recordings have another.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
read_trace() {
	rm -rf "$T/trace"
	cp -r "$HOME/$1" "$T/trace"
	cp "$T/$1.out" "$T/out"
	cp "$T/$1.err" "$T/err"
	report
	same_calls
	grep '^# lost' "$T/report.err" | grep -v 'the recorder says' &&
		fail "$1: something was lost"
	return 0
}
as_user "$WEFT" record -o "$HOME/a" -- "$P/p_slow" 2 >"$T/a.out" 2>"$T/a.err" &
recorder=$!
await test -s "$T/a.out"
got_daemon "$T/a.err" $recorder
hung=$(daemon)
[ -n "$hung" ] || fail "there is no daemon"
trap 'kill -CONT $hung 2>/dev/null; clean_up' EXIT
kill -STOP "$hung" || fail "the daemon has gone"
has_stopped() {
	! grep -h '^State:' "/proc/$hung/task/"*/status | grep -qv 'T (stopped)'
}
await has_stopped || fail "the daemon does not stop"
before=$SECONDS
as_user "$WEFT" record -o "$HOME/b" -- "$P/p_slow" 0.3 >"$T/b.out" 2>"$T/b.err"
[ $? = 9 ] || fail "b: status"
[ $((SECONDS - before)) -le 60 ] || fail "b took $((SECONDS - before)) s"
grep -q 'no LTTng session: the session daemon is stopped' "$T/b.err" ||
	fail "b: it is waited for: $(cat "$T/b.err")"
wait $recorder
[ $? = 9 ] || fail "a: status"
[ $((SECONDS - before)) -le 60 ] || fail "a took $((SECONDS - before)) s"
grep -q 'could not be closed properly: the session daemon is stopped' \
	"$T/a.err" || fail "a: it is waited for: $(cat "$T/a.err")"
read_trace a
kill -CONT "$hung"
# It makes the session that nobody waits for any more, and it goes as it came.
no_daemon() {
	[ -z "$(daemon)" ]
}
await no_daemon || fail "the daemon is still there"
read_trace a
read_trace b

mkfifo "$T/in"
as_user "$WEFT" record -o "$HOME/c" -- "$P/p_slow" 0.1 0.1 <"$T/in" \
	>"$T/c.out" 2>"$T/c.err" &
recorder=$!
exec 5>"$T/in"
await grep -qx waits "$T/c.out" || fail "c: the program does not run"
got_daemon "$T/c.err" $recorder
hung=$(consumers)
kill -STOP "$hung" || fail "the consumer has gone"
await has_stopped || fail "the consumer does not stop"
as_user "$WEFT" record -o "$HOME/f" -- "$P/p_slow" 0.1 >"$T/f.out" 2>"$T/f.err"
[ $? = 9 ] || fail "f: status"
grep -q "no LTTng session: LTTng's consumer daemon is stopped" "$T/f.err" ||
	fail "f: it is waited for: $(cat "$T/f.err")"
kill -CONT "$hung"

hung=$(daemon)
kill -STOP "$hung" || fail "the daemon has gone"
await has_stopped || fail "the daemon does not stop"
as_user "$WEFT" record -o "$HOME/d" -- "$P/p_slow" 0.1 >"$T/d.out" 2>"$T/d.err"
[ $? = 9 ] || fail "d: status"
grep -q 'no LTTng session' "$T/d.err" || fail "d: nobody is told"
has_gone() { ! kill -0 "$hung" 2>/dev/null; }
await has_gone || fail "a daemon that hangs is left"
as_user "$WEFT" record -o "$HOME/e" -- "$P/p_slow" 0.1 >"$T/e.out" 2>"$T/e.err"
[ $? = 9 ] || fail "e: status"
got_daemon "$T/e.err"
[ ! -e "$HOME/e/spill.weft" ] || fail "e: no new daemon: $(cat "$T/e.err")"
exec 5>&-
wait $recorder
[ $? = 9 ] || fail "c: status"
for i in c d e f; do
	read_trace $i
done
exit 0
