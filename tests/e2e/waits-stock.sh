#!/bin/bash
# Debian's redis-server, not rebuilt, with weft record --waits: it answers as ever,
# and its calls of epoll_wait, read and write are recorded.
# SPDX-License-Identifier: MIT
. tests/e2e/redis.inc

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
