#!/bin/bash
# What a recorder has a program do that was started without weft is held up, in
# the program's own malloc or mprotect. A recorder that is late: the thread goes
# on with all its registers, and nothing is left of what it used. One that waits
# for ever leaves the thread to itself. One that stops it while a thread waits for
# room in the pool still makes room. Memory may not be made executable there; and
# where a thread's stack has no room, it is let alone.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }
# Their links are read-only once they are loaded (-z now): who leads them calls
# mprotect first.
for f in plug more; do
	printf 'long %s(long n) { return n; }\nlong %s(long n) %s\n' lua_pcallk \
		$f '{ return lua_pcallk(n) + 1; }' | gcc -O1 -xc -fPIC -shared \
		-finstrument-functions -Wl,-z,now - -o "$T/$f.so" ||
		fail "a library is not built"
done

says() {
	ask "$1"
	[ "$answer" = "$2" ] || fail "it says \"$answer\" to \"$1\", not \"$2\""
}
# says_next TEXT: without being asked.
says_next() {
	read -r -t 60 answer <&9 || fail "it does not say \"$1\""
	[ "$answer" = "$1" ] || fail "it says \"$answer\", not \"$1\""
}
registers_right() {
	ask calls
	[ "${answer#* calls, }" = "0 wrong" ] || fail "it has $answer registers"
}
# Memory without a file that can be executed.
maps_code() {
	grep -E '^[^ ]+ ..x. 0+ 00:00 0 *$' "/proc/$pid/maps"
}
is_over() { ! kill -0 "$recorder" 2>/dev/null; }
is_stopped() { grep -q '^State:.*T (stopped)' "/proc/$tracer/status"; }
# While the recorder looks at the thread, it stands still for a moment; then it is
# not stopped here, but later.
is_looked_at() { grep -q '^State:.*t (tracing' "/proc/$pid/status"; }
stop_recorder() {
	kill -STOP "$tracer"
	await is_stopped || fail "the recorder does not stop"
	sleep 0.1
	is_looked_at || return 0
	kill -CONT "$tracer"
	return 1
}
# hold: a recorder has the program make a call that does not return.
hold() {
	rm -rf "$T/trace" "$T/go"
	echo hold >&8
	"$WEFT" record -o "$T/trace" --pool-size 1M "$@" -p "$pid" \
		>"$T/out" 2>"$T/err" 8>&- 9<&- &
	recorder=$!
	says_next held
}

begin "$P/p_held" "$T/go"
says deny denied
says calls "0 calls, 0 wrong"
hold
tracer=$(awk '$1 == "TracerPid:" { print $2 }' "/proc/$pid/status")
await stop_recorder || fail "the thread is always looked at"
touch "$T/go"
registers_right
kill -CONT "$tracer"
says on on
maps_code && fail "memory is left of a recorder that was late"
detach
says off off

says "load $T/plug.so" loaded
hold
await is_over || fail "weft record waits for ever"
wait "$recorder" && fail "weft record is content"
grep -q 'cannot attach to .*: the call in it does not return' "$T/err" ||
	fail "it does not say why"
touch "$T/go"
registers_right
says off off
await leads_nowhere || fail "words of it lead to libweft.so"

attach --pool-size 1M --on-full wait
ask calls
before=${answer%% *}
echo "flood 2000000" >&8
says "load $T/more.so" loaded
says_next flooded
registers_right
[ $((${answer%% *} - before)) -ge 2000000 ] || fail "it says \"$answer\""
after=${answer%% *}
detach
report
nothing_lost
n=$(calls step)
# Its calls until it said "on" may be before the recording.
{ [ "$n" -ge $((after - before)) ] && [ "$n" -le "$after" ]; } ||
	fail "$n calls of step, not $before to $after"

says cramp cramped
"$WEFT" record -o "$T/none" -p "$pid" >"$T/out" 2>"$T/err" &&
	fail "a thread without a stack is taken"
grep -q 'have no room left' "$T/err" || fail "it does not say why: no room"
end
