#!/bin/bash
# Debian's haproxy, started without weft, is attached and left under load, again
# and again: every request has its right answer, and it ends as it should.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
PATH=$PATH:/usr/sbin
has haproxy haproxy
times=$([ "${DEEP:-}" = 1 ] && echo 20 || echo 5)
ask=$P/p_ask
cp tests/prog/lua/action.lua "$T"
{
	printf 'global\n\tnbthread 4\n\ttune.lua.forced-yield 1000\n'
	printf '\tlua-load-per-thread action.lua\n'
	printf 'defaults\n\tmode http\n'
	printf '\ttimeout %s 60s\n' client server connect
	printf 'frontend f\n'
	printf '\tbind unix@s%d thread %d\n' 1 1 2 2 3 3 4 4
	printf '\thttp-request lua.work\n\thttp-request return content-type'
	printf ' text/plain lf-string "%%[var(txn.answer)]\\n"\n'
} >"$T/h.cfg"

# Asks ten times, again and again, until there is a file "enough".
client() {
	local n=0
	until [ -e enough ]; do
		"$ask" "s$1" 10 >>"a$1" || echo "no answer" >>"a$1"
		n=$((n + 10))
		echo $n >"n$1.new" && mv "n$1.new" "n$1"
	done
}
asked() { cat "$T"/n[1-4] | awk '{ n += $1 } END { print n + 0 }'; }
# At least 40 requests that began later: each client may have begun ten.
has_served() { [ "$(asked)" -ge $(($1 + 80)) ]; }
has_joined() {
	[ -s "$T/trace/pool" ] &&
		grep -qF "$(cat "$T/trace/pool")" "/proc/$server/maps"
}
has_ended() { ! kill -0 "$1" 2>/dev/null; }

(cd "$T" && exec haproxy -db -f h.cfg) 2>"$T/haproxy.err" &
server=$!
clients=()
for s in 1 2 3 4; do
	(cd "$T" && client $s) &
	clients+=($!)
done
trap 'touch "$T/enough"; kill -9 $server 2>/dev/null' EXIT
await has_served 0 || fail "haproxy does not serve by itself"
for i in $(seq "$times"); do
	rm -rf "$T/trace"
	lua=$([ $((i % 2)) = 0 ] && echo exact || echo sampled)
	"$WEFT" record --lua $lua -o "$T/trace" -p $server >"$T/out" \
		2>"$T/err" &
	recorder=$!
	await has_joined || fail "time $i: it does not join"
	await has_served "$(asked)" || fail "time $i: it does not serve"
	kill -INT $recorder
	wait $recorder || fail "time $i: weft record fails"
	[ $lua = exact ] || continue # few ticks find Lua, in one thread
	report
	grep -q '^work <action.lua' "$T/report.csv" ||
		fail "time $i: its Lua was not recorded"
done
touch "$T/enough"
wait "${clients[@]}"
kill -USR1 $server
wait $server || fail "haproxy ends with $?"
right=$(cat "$T"/a[1-4] | grep -c '^60108;')
[ "$right" = "$(asked)" ] || fail "$right right answers to $(asked) requests"
echo "note: $times attaches, $right of $(asked) requests"
