#!/bin/bash
# Recorder, LTTng's daemons and the program are killed, each alone and all at
# once, and the metadata is removed: weft recover gives each call that the
# program counted, or says that it is lost.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc

keep=/dev/shm/weft-test-$$
trap 'clean_up; rm -f "$keep"' EXIT

# start OPTION...: p_kill with a pause, which the pool has room for; sets pid,
# recorder (all of its processes) and job.
start() {
	rm -rf "$HOME/trace" "$HOME/new"
	as_user rm -f "$HOME/counts"
	as_user "$WEFT" record "$@" -o "$HOME/trace" -- "$P/p_kill" \
		"${pause:-5000}" "$HOME/counts" >"$T/out" 2>"$T/err" &
	job=$!
	running() {
		pid=$(pgrep -f "^$P/p_kill ${pause:-5000} $HOME/counts" | head -n 1)
		[ -n "$pid" ] && [ -s "$HOME/counts" ]
	}
	await running || fail "the program did not start"
	local front
	front=$(ps -o ppid= -p "$pid" | tr -d ' ')
	recorder="$(pgrep -P "$front" | grep -vx "$pid") $front"
	# Others' recordings remove pools that are left.
	rm -f "$keep"
	ln "$(cat "$HOME/trace/pool")" "$keep"
	got_daemon "$T/err" $job
	for i in 0 1 2 3; do
		await has_called $i || fail "thread $i does not call"
	done
}
own() {
	od -An -t u8 -j $(($1 * 64)) -N 8 "$HOME/counts" | tr -d ' '
}
has_called() {
	[ "$(own "$1")" -gt "${enough:-10000}" ]
}
ended() {
	! kill -0 "$1" 2>/dev/null
}
# more: until each thread has called as often again.
more() {
	local enough i
	for i in 0 1 2 3; do
		enough=$(($(own $i) + 10000))
		await has_called $i || fail "thread $i does not go on"
	done
}
recover() {
	[ -e "$keep" ] && ln -f "$keep" "$(cat "$HOME/trace/pool")"
	rm -rf "$HOME/new" "$T/trace"
	as_user "$WEFT" recover -o "$HOME/new" "$@" >"$T/said" 2>"$T/err" ||
		fail "weft recover $* fails"
	cp -r "$HOME/new" "$T/trace"
	report
}
# all WHAT: each call is there.
all() {
	for i in 0 1 2 3; do
		local own weft
		own=$(own $i)
		weft=$(calls work_$i)
		[ "$weft" = "$own" ] || [ "$weft" = $((own + 1)) ] ||
			fail "$1: work_$i called $own times, recovered $weft"
	done
	grep -E 'missing|damaged' "$T/report.err" && fail "$1: something is missing"
}
# sum WHAT: each record is there or told as lost. Few calls take two.
sum() {
	local own=0 weft=0 lost
	for i in 0 1 2 3; do
		own=$((own + $(own $i)))
		weft=$((weft + $(calls work_$i)))
	done
	lost=$(sed -nE 's/^# lost: (.* with )?([0-9,]+) records?(: no free.*)?$/\2/p' \
		"$T/report.err" | tr -d , | awk '{ n += $1 } END { print n + 0 }')
	echo "$1: $own calls, $weft recovered, $lost records lost"
	[ $weft -le $((own + 4)) ] || fail "$1: too many"
	[ $own -le $((weft + lost)) ] || grep -q 'the end of' "$T/said" ||
		fail "$1: calls are gone untold"
	[ $((weft + lost - own)) -le $((lost / 50 + 4)) ] ||
		fail "$1: more is said to be lost than there was"
}

# What is neither a folder nor a file is not left out silently.
mkfifo "$T/fifo"
"$WEFT" recover -o "$T/none" "$T/fifo" 2>"$T/said" &&
	fail "a FIFO is recovered"
grep -q 'neither a folder nor a file' "$T/said" || fail "$(cat "$T/said")"

# The recorder alone. Programs that go on are waited for by nobody.
start
as_user "$WEFT" recover -o "$HOME/new" "$HOME/trace" 2>"$T/said" &&
	fail "a recording that goes on is recovered"
grep -q 'weft record still runs' "$T/said" || fail "nobody is told why"
[ -e "$HOME/new" ] && fail "there is a folder all the same"
pool=$(cat "$HOME/trace/pool")
kill -9 $recorder
wait $job 2>/dev/null
more
recover "$HOME/trace"
grep -q 'programs still ran' "$T/said" || fail "that it runs is not said"
kill -9 "$pid"
await ended "$pid"
recover "$HOME/trace"
all "recorder"
cat "$T/said"
cp "$pool" "$HOME/pool" && chmod 644 "$HOME/pool"
before=$("$WEFT" report --csv "$HOME/trace" 2>/dev/null | awk -F, \
	'$1 ~ /^work_/ { n += $6 } END { print n + 0 }')
[ "$before" -lt "$(awk -F, '$1 ~ /^work_/ { n += $6 } END { print n }' \
	"$T/report.csv")" ] || fail "the pool had nothing"

# Without the pool what is missing is said; with a copy of it it is not.
rm -f "$pool" "$keep"
recover "$HOME/trace"
grep -q "its pool $pool is gone" "$T/said" || fail "the pool is not missed"
recover "$HOME/trace" "$HOME/pool"
all "a copy of the pool"

# All at once, at full speed.
pause=0 start
kill -9 $(daemon) $(consumers) \
	$recorder "$pid"
wait $job 2>/dev/null
await ended "$pid"
recover "$HOME/trace"
sum "all at once"
clean_up
mkdir -p "$HOME"
[ "$(id -u)" != 0 ] || chown 65534:65534 "$HOME"

# Metadata gone, and every stream cut.
start
kill -9 "$pid"
wait $job
find "$HOME/trace" -name metadata -delete
recover "$HOME/trace"
all "metadata"
nothing_lost
exit 0
