#!/bin/bash
# Debian's redis-server, not rebuilt: its Lua is its own, linked statically. Its
# scripts run as ever under weft record, which says so, and which ways there are
# to see them.
# SPDX-License-Identifier: MIT
. tests/e2e/redis.inc

ask() {
	cli SET key 41
	cli EVAL 'return redis.call("GET", KEYS[1]) + ARGV[1]' 1 key 1
	cli EVAL 'local function fib(n)
		return n < 2 and n or fib(n - 1) + fib(n - 2) end
		return fib(tonumber(ARGV[1]))' 0 20
	cli EVAL 'return {cjson.encode({1, "two", {three = 3}}),
		#cmsgpack.pack(ARGV), redis.sha1hex("x")}' 0 a b
	cli EVAL 'local co = coroutine.wrap(function() error("no") end) co()' 0
	cli EVAL 'return redis.pcall("NO")' 0
	cli EVALSHA "$(cli SCRIPT LOAD 'return #ARGV')" 0 1 2 3
}
serve "${run[@]}" || fail "redis-server does not serve by itself"
grep -q '^(integer) 6765$\|^6765$' "$T/answers" ||
	fail "no answers: $(cat "$T/answers")"
mv "$T/answers" "$T/alone"
serve timeout 300 "$WEFT" record -o "$T/trace" -- "${run[@]}" ||
	fail "recorded, it ends otherwise"
cmp "$T/answers" "$T/alone" || fail "recorded, it says other things"
grep -q 'nothing was recorded' "$T/err" || fail "not said that there is nothing"
grep 'has a Lua of its own linked in' "$T/err" | grep -q weft_lua_attach ||
	fail "no word of its Lua, or of the way in"
exit 0
