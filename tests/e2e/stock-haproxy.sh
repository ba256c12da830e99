#!/bin/bash
# Debian's haproxy, not rebuilt, with an action in Lua: four threads, each with
# a Lua state of its own, 50 requests each; haproxy's own hook makes the action
# yield. Answers as ever, every call there, and it ends as it should.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
PATH=$PATH:/usr/sbin
has haproxy haproxy
cp tests/prog/lua/action.lua "$T"
ask=$P/p_ask
cat >"$T/h.cfg" <<'CFG'
global
	nbthread 4
	tune.lua.forced-yield 1000
	lua-load-per-thread action.lua
defaults
	mode http
	timeout client 60s
	timeout server 60s
	timeout connect 60s
frontend f
	bind unix@s1 thread 1
	bind unix@s2 thread 2
	bind unix@s3 thread 3
	bind unix@s4 thread 4
	http-request lua.work
	http-request return content-type text/plain lf-string "%[var(txn.answer)]\n"
CFG

# serve COMMAND...: asks what it serves, into $T/answers; ends it; its status.
serve() {
	local clients=() s c bad=0
	(cd "$T" && exec "$@") &
	local server=$!
	for s in 1 2 3 4; do
		(cd "$T" && "$ask" s$s 50 >"a$s" 2>"e$s") &
		clients+=($!)
	done
	for c in "${clients[@]}"; do
		wait "$c" || bad=1
	done
	kill -USR1 "$(cat "$T/pid")"
	wait $server || bad=1
	cat "$T"/a[1-4] | tr ';' '\n' >"$T/answers"
	rm -f "$T"/s[1-4]
	return $bad
}
run=(sh -c 'echo $$ >pid; exec haproxy -db -f h.cfg')
serve timeout 300 "${run[@]}" 2>"$T/err" ||
	fail "haproxy does not serve by itself"
sort "$T/answers" >"$T/alone"
rm -rf "$T/trace"
serve timeout 300 "$WEFT" record -o trace -- "${run[@]}" 2>"$T/err" ||
	fail "recorded, it does not serve, or ends otherwise"
sort "$T/answers" | cmp - "$T/alone" || fail "recorded, it says other things"
[ "$(grep -cx 60108 "$T/alone")" = 200 ] || fail "not 200 answers"
same_lines action.lua "$T/answers"
grep -q ', 5 Lua states, ' "$T/err" || fail "not five Lua states"
"$WEFT" coroutines --csv "$T/trace" 2>/dev/null >"$T/coroutines"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ n++; r += $at["resumes"]; x += $at["inferred"] }
	END { print n, r, x; exit !(n == 200 && r >= 4000 && x == 0) }' \
	"$T/coroutines" || fail "coroutines, resumes, inferred"
