#!/bin/bash
# Redis, built with -finstrument-functions from Debian's sources and started
# without weft, is attached and left under load, again and again: each command is
# answered, and what one client asks during a recording is in it, to the call.
# time: 900
# deep
# SPDX-License-Identifier: MIT
. tests/lib.sh
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }
R=$B/redis
if [ ! -x "$R/bin/redis-server" ]; then
	rm -rf "$R"
	mkdir -p "$R/src"
	tests/source.sh "$R" redis >"$T/log" 2>&1 || { tail -n 1 "$T/log"; exit 77; }
	tar xf "$R"/redis_*.orig.tar.* -C "$R/src" --strip-components 1 &&
		make -C "$R/src" -j2 MALLOC=libc OPTIMIZATION=-O2 \
			CFLAGS=-finstrument-functions PREFIX="$R" install \
			>"$T/log" 2>&1 || fail "no redis: $(tail -n 5 "$T/log")"
fi
PATH=$R/bin:$PATH

cli() { redis-cli -s "$T/s" "$@"; }
# ask N COMMAND...: it returns when each has its answer.
ask() {
	redis-benchmark -s "$T/s" -q -c 4 -n "$@" >"$T/$2.out" 2>"$T/$2.err"
}
is_up() { [ "$(cli ping 2>/dev/null)" = PONG ]; }
is_on() {
	"$WEFT" status "$server" 2>/dev/null | grep -qx 'state *on' &&
		grep -qF "$(cat "$T/trace/pool")" "/proc/$server/maps"
}

redis-server --port 0 --unixsocket "$T/s" --dir "$T" --save '' --daemonize no \
	>"$T/redis.log" 2>&1 &
server=$!
trap 'touch "$T/enough"; kill -9 $server 2>/dev/null' EXIT
await is_up || fail "redis does not run: $(tail "$T/redis.log")"
(
	n=0
	until [ -e "$T/enough" ]; do
		ask 500 eval 'return redis.call("incr", KEYS[1])' 1 lua
		n=$((n + 500))
	done
	echo $n >"$T/asked"
) &
load=$!
times=20
for i in $(seq $times); do
	rm -rf "$T/trace"
	"$WEFT" record -o "$T/trace" -p $server >"$T/out" 2>"$T/err" &
	recorder=$!
	await is_on || fail "time $i: it is not recorded"
	ask 5000 append log x
	kill -INT $recorder
	wait $recorder || fail "time $i: weft record fails"
	report
	nothing_lost
	[ "$(calls appendCommand)" = 5000 ] ||
		fail "time $i: $(calls appendCommand) calls of appendCommand"
done
touch "$T/enough"
wait $load
[ "$(cli get lua)" = "$(cat "$T/asked")" ] ||
	fail "$(cli get lua) of $(cat "$T/asked") scripts ran"
[ "$(cli strlen log)" = $((times * 5000)) ] || fail "$(cli strlen log) of log"
cli shutdown nosave
wait $server || fail "redis ends with $?"
echo "note: $times attaches; $(cat "$T/asked") scripts, $((times * 5000)) others"
