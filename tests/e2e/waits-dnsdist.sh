#!/bin/bash
# Debian's dnsdist, not rebuilt: four listeners ask one Lua state, which has a lock.
# With weft record --waits it answers as ever, and the lock is found, with the Lua
# functions that its holder ran meanwhile.
# SPDX-License-Identifier: MIT
. tests/lib.sh
command -v dnsdist >/dev/null || { echo "no dnsdist"; exit 77; }
port=$((20000 + $$ % 12000)) # below those that the kernel gives away
for i in 1 2 3 4; do
	echo "addLocal('127.0.0.1:$port', {reusePort = true})"
done >"$T/d.conf"
cat >>"$T/d.conf" <<'END'
setACL("127.0.0.0/8")
setSecurityPollSuffix("")
local function work(n)
	for i = 1, 200000 do n = (n * 31 + i) % 1000003 end
	return n
end
function on_query(query)
	return DNSAction.Spoof, "192.0.2." .. work(#query.qname:toString()) % 250
end
addAction(AllRule(), LuaAction(on_query))
END

# ask NUMBER: the answer to a question for a name that has the number in it, in
# hexadecimal; each question comes from a port of its own.
ask() {
	exec 5<>"/dev/udp/127.0.0.1/$port" || return
	printf '\0\1\1\0\0\1\0\0\0\0\0\0\3www\2%02d\0\0\1\0\1' "$1" >&5
	timeout "${2-60}" dd bs=512 count=1 <&5 2>"$T/dd" | od -An -tx1 |
		tr -d ' \n'
	echo
}

# serve COMMAND...: what it answers to six who ask at a time, into $T/answers.
serve() {
	local clients=() c i
	"$@" >"$T/out" 2>"$T/err" &
	local server=$!
	for i in $(seq 300); do
		[ -z "$(ask 1 0.2 2>"$T/dd")" ] || break
		sleep 0.1
	done
	for c in 1 2 3 4 5 6; do
		for i in $(seq 20); do
			ask $((10 * c + i % 10))
		done >"$T/answer$c" &
		clients+=($!)
	done
	wait "${clients[@]}"
	kill -TERM "$(cat "$T/pid")"
	wait $server
	cat "$T"/answer? >"$T/answers"
}
run=(sh -c "echo \$\$ >'$T/pid'; exec dnsdist --supervised -C '$T/d.conf'")
serve timeout 300 "${run[@]}"
mv "$T/answers" "$T/alone"
[ "$(grep -c 'c00002..$' "$T/alone")" = 120 ] || fail "not 120 answers"
is_found() {
	rm -rf "$T/trace"
	serve timeout 300 "$WEFT" record --waits -o "$T/trace" -- "${run[@]}"
	cmp "$T/answers" "$T/alone" || fail "recorded, it says other things"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	"$WEFT" explain "$T/trace" >"$T/said" || fail "weft explain"
	grep -q '^[1-9]*\. Threads wait .* for the lock .* because of Lua' \
		"$T/said" || { cat "$T/said"; return 1; }
	grep -q '^   meanwhile: .*on_query .*> work ' "$T/said"
}
one_of 3 is_found
exit 0
