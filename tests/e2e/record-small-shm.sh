#!/bin/bash
# Little shared memory, as in a container: LTTng's rings and the pool shrink
# with it; below that, LTTng is left out, loudly, and then weft says no. If others
# fill it while a program is recorded, nothing is lost: the pool has its memory
# from the beginning, and LTTng is left out if it was not ready yet. A pool that
# cannot grow has too few buffers for threads that wait for each other: who has
# none drops its records, and does not wait for ever.
# SPDX-License-Identifier: MIT
. tests/lib.sh
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || {
	echo "needs leave to mount"
	exit 77
}
mkdir -p /run/lttng

# with SIZE: records with a /dev/shm and a daemon of its own.
with() {
	rm -rf "$T/trace"
	unshare -m -p -f --mount-proc --propagation private sh -c '
	mount -t tmpfs tmpfs /run/lttng && mount -t tmpfs -o size=$1 \
		tmpfs /dev/shm || exit 99
	exec "$WEFT" record -o "$T/trace" -- "$P/p_slow" 1' - "$1" \
		>"$T/out" 2>"$T/err"
}
export P T WEFT
with 64m
[ $? = 9 ] || fail "64 MiB"
report
nothing_lost
if [ -e "$T/trace/spill.weft" ]; then
	# A daemon that takes too long says nothing about shared memory.
	grep -q 'too small' "$T/err" && fail "64 MiB: LTTng was not used"
	echo "LTTng was too slow: $(grep -m 1 LTTng "$T/err")"
	exit 77
fi
with 4m
[ $? = 9 ] || fail "4 MiB"
report
[ "$(calls tick)" = 100000 ] || fail "4 MiB: $(calls tick) calls"
with 3200k
[ $? = 9 ] || fail "3200 KiB"
grep -q 'too small' "$T/err" || fail "3200 KiB: LTTng is said to fit"
[ -s "$T/trace/spill.weft" ] || fail "3200 KiB: no spill file"
report
[ "$(calls tick)" = 100000 ] || fail "3200 KiB: $(calls tick) calls"
with 1m && fail "1 MiB: recorded"
grep -q 'too small' "$T/err" || fail "1 MiB: $(cat "$T/err")"

# filled SECONDS: by others, so long after the pool is there.
filled() {
	rm -rf "$T/trace" "$T/in"
	mkfifo "$T/in"
	# shellcheck disable=SC2016
	unshare -m -p -f --mount-proc --propagation private sh -c '
	mount -t tmpfs tmpfs /run/lttng && mount -t tmpfs -o size=64m \
		tmpfs /dev/shm || exit 99
	"$WEFT" record -o "$T/trace" -- "$P/p_slow" 0.1 1 <"$T/in" &
	exec 3>"$T/in"
	until ls /dev/shm/weft-$(id -u)-* 2>"$T/ls"; do :; done
	sleep $1
	head -c 64M /dev/zero >/dev/shm/others
	exec 3>&-
	wait $!' - "$1" >"$T/out" 2>"$T/err"
	[ $? = 9 ] || fail "filled after $1 s: status"
	grep -q 'No space left' "$T/err" || fail "filled after $1 s: it is not"
	report
	same_calls
	nothing_lost
}
for seconds in 0.01 0.03 0.1 0.3; do
	filled $seconds
done

# Room for some more than the 22 buffers that the pool has at first, not for 100.
rm -rf "$T/trace"
timeout 120 unshare -m -p -f --mount-proc --propagation private sh -c '
	mount -t tmpfs tmpfs /run/lttng && mount -t tmpfs -o size=1200k \
		tmpfs /dev/shm || exit 99
	exec "$WEFT" record --pool-size 1M --on-full wait -o "$T/trace" -- \
		"$P/p_threads" at-once 100' >"$T/out" 2>"$T/err" ||
	fail "100 threads: status $?"
grep -q '/dev/shm has no room for the buffers' "$T/err" || fail "not told of room"
grep -q 'waited for each other' "$T/err" || fail "not told why: $(cat "$T/err")"
lost=$(sed -n 's/^weft: lost: \([0-9]*\) records .*/\1/p' "$T/err")
report
seen=$(calls small)
# Each call of small is a record; a thread has three more, and some of time.
[ "$seen" -ge $((22 * 37)) ] && [ "$seen" -lt 3800 ] &&
	[ $((seen + lost)) -ge 3800 ] && [ $((seen + lost)) -le 4700 ] ||
	fail "$seen calls of small and $lost records lost are not 3,800"
# Of some threads nothing is there.
grep -q '^weft: lost: [0-9]* threads of which nothing is in the trace' "$T/err" &&
	grep -q '^# lost: [0-9]* threads of which nothing is here' \
		"$T/report.err" || fail "whole threads are missing, unsaid"
grep -q ' process, [0-9]* of 101 threads,' "$T/err" &&
	"$WEFT" report "$T/trace" | grep -q ' [0-9]* of 101 threads$' ||
	fail "100 threads and the main one"
exit 0
