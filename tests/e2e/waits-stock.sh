#!/bin/bash
# Debian's redis-server, not rebuilt, with weft record --waits: it answers as ever,
# and its calls of epoll_wait, read and write are recorded.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
has redis-cli redis-tools
program=$(command -v redis-check-rdb) || fail "no redis-check-rdb"
ln -s "$program" "$T/redis-server"

cli() { redis-cli -s "$T/sock" "$@" 2>&1; }
ask() {
	local i
	for i in $(seq 50); do
		cli INCR key
		cli LPUSH list "$i"
	done
	cli LRANGE list 0 -1
	cli --pipe <<<$'SET a 1\r\nGET a\r'
	cli SAVE
}
# serve COMMAND...: asks it, into $T/answers; its status.
serve() {
	"$@" >"$T/out" 2>"$T/err" &
	local server=$! i
	for ((i = 0; i < 2000; i++)); do
		[ "$(cli PING)" != PONG ] || break
		sleep 0.02
	done
	ask >"$T/answers"
	cli SHUTDOWN NOSAVE
	wait $server
}
run=("$T/redis-server" --port 0 --unixsocket "$T/sock" --save "" --dir "$T")
serve "${run[@]}" || fail "redis-server does not serve by itself"
mv "$T/answers" "$T/alone"
rm -f "$T/dump.rdb"
serve timeout 300 "$WEFT" record --waits -o "$T/trace" -- "${run[@]}" ||
	fail "recorded, it ends otherwise"
cmp "$T/answers" "$T/alone" || fail "recorded, it says other things"
grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
report
for f in epoll_wait read write accept pthread_cond_wait fsync; do
	grep -q "^$f" "$T/report.csv" || fail "no call of $f"
done
"$WEFT" locks --csv "$T/trace" 2>"$T/report.err" | grep -q ',condition,' ||
	fail "its idle threads wait for nothing"
exit 0
