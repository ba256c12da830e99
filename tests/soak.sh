#!/bin/bash
# soak.sh - a day in small, run by `make soak`: for SOAK seconds (120; 1800 is
# half an hour), a server that starts and ends processes and threads is recorded
# for 2 s of every 10 s, in pieces of a bounded size and number. Memory and disk
# stay within bounds all the time, and nothing is left behind.
# SPDX-License-Identifier: MIT
. tests/lib.sh
: "${SOAK:=120}"
MB=$((1 << 20))
PIECE=2 FILES=4 POOL=8
DISK=$((PIECE * FILES * MB))
export XDG_RUNTIME_DIR=$T/run
mkdir -m 700 "$T/run"

[ "$SOAK" -ge 40 ] || fail "SOAK=$SOAK is too short: at least 40"
sessions() { lttng list 2>/dev/null | grep -c "$T/trace"; }

"$WEFT" record --duty 2s/10s --on-full wait --pool-size ${POOL}M --max-size ${PIECE}M \
	--max-files $FILES -o "$T/trace" -- "$P/p_soak" "$SOAK" \
	>"$T/out" 2>"$T/err" &
front=$!
await [ -s "$T/trace/pool" ] || fail "no recording"
pool=$(cat "$T/trace/pool")
await pgrep -P $front -x p_soak >/dev/null || fail "no server"
server=$(pgrep -P $front -x p_soak)
recorder=$(pgrep -P $front | grep -vx "$server")
[ -n "$recorder" ] || fail "no recorder"

# The process's own memory in kB, descriptors and mappings.
own() { awk '/^RssAnon/ { print $2 }' "/proc/$1/status"; }
open_files() { find "/proc/$1/fd" | wc -l; }
mapped() { wc -l <"/proc/$1/maps"; }
disk() {
	find "$T/trace" -type f -printf '%s\n' 2>/dev/null |
		awk '{ n += $1 } END { print n + 0 }'
}
# grown WHAT FROM NOW MOST
grown() { [ $(($3 - $2)) -le "$4" ] || fail "$1: $2 at first, $3 at the end"; }

most_disk=0 most_shm=0 rounds=0
early=
while kill -0 "$server" 2>/dev/null; do
	now=$(disk)
	[ "$now" -le $((most_disk)) ] || most_disk=$now
	now=$(($(stat -c %b "$pool" 2>/dev/null || echo 0) * 512))
	[ "$now" -le $((most_shm)) ] || most_shm=$now
	# When a fourth has passed, everything has been used once.
	if [ -z "$early" ] && [ -n "$(find "$T/trace" -name 'piece-*')" ] &&
		[ $SECONDS -ge $((SOAK / 4)) ]; then
		early="$(own "$recorder") $(own "$server") \
			$(open_files "$recorder") $(open_files "$server") \
			$(mapped "$server")"
	fi
	late=$({
		own "$recorder"
		own "$server"
		open_files "$recorder"
		open_files "$server"
		mapped "$server"
	} 2>/dev/null)
	# What is read of a process that ends meanwhile is not whole.
	# shellcheck disable=SC2086
	set -- $late
	[ $# = 5 ] && last=$late
	rounds=$((rounds + 1))
	sleep 0.5
done
wait $front || fail "status $?"
[ -n "$early" ] || fail "there never was a piece"
# shellcheck disable=SC2086
set -- $early
# shellcheck disable=SC2086
{
	set -- "$@" $last
	grown "memory of the recorder, kB" "$1" "$6" 8192
	grown "memory of the server, kB" "$2" "$7" 2048
	grown "files of the recorder" "$3" "$8" 4
	grown "files of the server" "$4" "$9" 2
	grown "mappings of the server" "$5" "${10}" 8
}
[ $most_disk -gt $((DISK / 2)) ] || fail "only $most_disk bytes on the disk"
[ $most_disk -le $((DISK + MB / 16)) ] || fail "$most_disk bytes on the disk"
[ $most_shm -gt 0 ] && [ $most_shm -le $((POOL * MB)) ] ||
	fail "the pool takes $most_shm bytes"

# Nothing is left, and what there is can be read.
[ ! -e "$pool" ] || fail "the pool is left"
[ "$(find "$T/run" -type s | wc -l)" = 0 ] || fail "a socket is left"
[ "$(sessions)" = 0 ] || fail "a session of LTTng is left"
pgrep -x p_soak -s 0 >/dev/null && fail "a process is left"
kill -0 "$recorder" 2>/dev/null && fail "the recorder is left"
[ "$(find "$T/trace" -name spill.weft | wc -l)" -le $((FILES + 1)) ] ||
	fail "$(find "$T/trace" -name spill.weft | wc -l) files"
report
children=$(awk '/^children/ { print $2 }' "$T/out")
[ "$children" -gt "$SOAK" ] || fail "only $children children"
[ "$(calls busy)" -gt 10000 ] || fail "$(calls busy) calls are here"
nothing_lost
# shellcheck disable=SC2086
set -- $early $last
echo "$rounds looks, $children children; recorder $1 to $6 kB, server $2 to \
$7 kB, disk at most $most_disk of $DISK bytes, pool $most_shm bytes"
