#!/bin/bash
# Recorders are killed with all their processes, and nobody destroys their LTTng
# sessions: the next recorder does, and the last one stops the daemon, also if
# one that began later was killed. A recorder in a container that shares /dev/shm
# does not see that daemon, and changes nothing of that.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
export P WEFT T HOME

# start NAME: its program waits.
start() {
	mkfifo "$T/$1.in"
	as_user "$WEFT" record -o "$HOME/$1" -- "$P/p_slow" 0.1 0.1 \
		<"$T/$1.in" >"$T/$1.out" 2>"$T/$1.err" &
	front=$!
	exec {fd}>"$T/$1.in"
	await grep -qx waits "$T/$1.out" || fail "$1: the program does not run"
	got_daemon "$T/$1.err" $front
}
# All processes below one, and itself.
family() {
	local p
	for p in $(pgrep -P "$1"); do
		family "$p"
	done
	echo "$1"
}
sessions() { # LTTng 2.15 and later puts the name in other signs
	as_user lttng list 2>/dev/null | grep -cE '(\) |`)weft-[0-9]'
}
are() { [ "$(sessions)" = "$1" ]; }
no_daemon() { [ -z "$(daemon)" ] && [ -z "$(consumers)" ]; }

start first
first=$front first_in=$fd
killed=
for i in 1 2 3; do
	start "killed$i"
	killed="$killed $front"
done
for i in $killed; do
	kill -9 $(family "$i")
	wait "$i"
done 2>/dev/null
are 4 || fail "$(sessions) sessions"
as_user "$WEFT" record -o "$HOME/next" -- "$P/p_slow" 0.1 >"$T/out" 2>"$T/err"
[ $? = 9 ] || fail "next: status"
got_daemon "$T/err"
await are 1 || fail "$(sessions) sessions are left of dead recorders"

if [ "$(id -u)" = 0 ] && unshare -m -p -f --mount-proc true 2>/dev/null; then
	unshare -m -p -f --mount-proc --propagation private sh -c '
	mount -t tmpfs -o mode=777 tmpfs "$HOME/.lttng" || exit 99
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WEFT" record \
		-o "$HOME/inside" -- "$P/p_slow" 0.1
	status=$?
	# It ends with what is to be seen here.
	while pgrep weft-record >/dev/null; do sleep 0.1; done
	exit $status' >"$T/out" 2>"$T/err"
	[ $? = 9 ] || fail "inside: status"
fi

exec {first_in}>&-
wait $first
[ $? = 9 ] || fail "first: status"
rm -rf "$T/trace"
cp -r "$HOME/first" "$T/trace"
cp "$T/first.out" "$T/out"
report
same_calls
nothing_lost
await no_daemon || fail "nobody stops the daemon"

# A recorder that begins 2 s after the last one's end, and is killed at once, leaves
# no more than the time of the lock.
start short
lock=$(grep -ls "^$(daemon) " /dev/shm/weft-lock-*)
[ -n "$lock" ] || fail "no lock names the daemon"
exec {fd}>&-
wait $front
touch -c -d "2 seconds" "$lock"
await no_daemon || fail "a daemon is left by a later recorder"

# Nor is it left where its folder is removed before it is stopped.
start gone
hers=$(daemon)
exec {fd}>&-
wait $front
rm -rf "$HOME/.lttng" "${HOME:?}"
has_ended() { ! kill -0 "$hers" 2>/dev/null; }
await has_ended || fail "a daemon is left whose folder is gone"
exit 0
