#!/bin/bash
# weft export --format speedscope: JSON as another reader takes it, events that
# nest and never go back, and calls' times added up from them those of the
# report.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }

# summed FILE: name, self in ns of all profiles; fails where events do not nest.
cat >"$T/sum.jq" <<'JQ'
.shared.frames as $frames
| (."$schema" | test("speedscope")) as $is_one
| if $is_one then . else error("no schema") end
| reduce .profiles[] as $p ({};
	if $p.type != "evented" or $p.unit != "nanoseconds" then
		error("not evented in ns") else . end
	| . as $before
	| reduce $p.events[] as $e ({stack: [], at: 0, self: $before};
		(if $e.at < .at then error("goes back") else . end)
		| (if .stack != [] then
			.self[$frames[.stack[-1]].name] += $e.at - .at
		   else . end)
		| .at = $e.at
		| if $e.type == "O" then .stack += [$e.frame]
		  elif .stack[-1] == $e.frame then .stack |= .[:-1]
		  else error("does not nest") end)
	| if .stack != [] then error("left open") else . end
	| if .at > $p.endValue then error("too long") else . end
	| .self)
| to_entries[] | "\(.key)\t\(.value)"
JQ
cat >"$T/compare.lua" <<'LUA'
local summed, rows = {}, 0
for line in io.lines(arg[1]) do
	local name, ns = line:match("^(.*)\t(%d+)$")
	summed[name] = tonumber(ns)
end
io.read()
for line in io.lines() do
	local name, lang, rest =
		line:match("^(.-),(%a*),(.*)$")
	local f = {}
	for x in (rest .. ","):gmatch("([^,]*),") do
		f[#f + 1] = x
	end
	if lang == "lua" or lang == "zone" then
		name = name .. " [" .. lang .. "]"
	end
	local have, want = summed[name] or 0, tonumber(f[5])
	assert(math.abs(have - want) <= 1 + want // 10000,
	       name .. ": " .. have .. " not " .. want)
	rows = rows + 1
end
assert(rows >= 5, "functions are missing")
LUA
compare() {
	jq -r -f "$T/sum.jq" "$T/$1.json" | sort >"$T/summed" ||
		fail "$1: jq refuses it"
	"$W" report --csv "$T/$1" 2>/dev/null |
		lua5.4 "$T/compare.lua" "$T/summed" ||
		fail "$1: self times are others"
}
make_trace t coroutines=1 chunks=4 threads=2
"$W" export -f speedscope -o "$T/t.json" "$T/t" 2>"$T/e" || fail "$(cat "$T/e")"
compare t
grep -q ' \[lua\]"' "$T/t.json" || fail "Lua is not told from native code"
[ "$(jq '.profiles | length' "$T/t.json")" = 2 ] || fail "not two threads"
"$W" export -o "$T/t.pb" "$T/t" 2>/dev/null
"$W" export -f speedscope "$T/t.pb" 2>/dev/null | cmp - "$T/t.json" ||
	fail "of a profile it is another"
"$W" export -f speedscope "$T/t" >/dev/full 2>"$T/e" && fail "wrote to full"
grep -q 'cannot write' "$T/e" || fail "says: $(cat "$T/e")"
exit 0
