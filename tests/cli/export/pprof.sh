#!/bin/bash
# weft export --format pprof: what reports print of a profile is what they print
# of the trace, byte for byte; other tools can take it apart; what a profile
# does not know is refused.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc

# equal TRACE: every view of its profile equals its own.
equal() {
	local c
	"$W" export -o "$T/$1.pb" "$T/$1" 2>"$T/e" || fail "$1: $(cat "$T/e")"
	for c in report "report --csv" "report --tables thread" tree "tree --csv" \
		"tree --root coroutine" "tree --tables thread" \
		"report --sort calls" "report --sort max --csv"; do
		"$W" $c "$T/$1" >"$T/of-trace" 2>&1
		"$W" $c "$T/$1.pb" >"$T/of-profile" 2>&1
		grep -q . "$T/of-trace" || fail "$1: $c prints nothing"
		diff -u "$T/of-trace" "$T/of-profile" ||
			fail "$1: $c of the profile differs"
	done
}
make_trace plain chunks=6 threads=3
make_trace coroutines coroutines=1 chunks=8 threads=2 partials=3
make_trace spilled spill_from=2 coroutines=1
make_trace headless first_number=3 no_end=1
make_trace cut spill_from=2 coroutines=1
truncate -s 9000 "$T/cut/spill.weft"
for t in plain coroutines spilled headless cut; do
	equal $t
done

# The same trace gives the same bytes, and a profile gives itself.
"$W" export -o "$T/again.pb" "$T/coroutines" 2>/dev/null
cmp "$T/coroutines.pb" "$T/again.pb" || fail "not the same twice"
"$W" export "$T/coroutines.pb" 2>/dev/null >"$T/again.pb"
cmp "$T/coroutines.pb" "$T/again.pb" || fail "not the same read back"

# Calls and times as another reader of the format adds them up.
cat >"$T/sum.lua" <<'LUA'
-- Fields of a protobuf message, by hand.
local function varint(s, i)
	local v, shift = 0, 0
	while true do
		local b = s:byte(i)
		v, i, shift = v | (b & 127) << shift, i + 1, shift + 7
		if b < 128 then return v, i end
	end
end
local function fields(s, fn)
	local i = 1
	while i <= #s do
		local tag, value
		tag, i = varint(s, i)
		if tag & 7 == 0 then value, i = varint(s, i)
		else
			assert(tag & 7 == 2)
			local n
			n, i = varint(s, i)
			value, i = s:sub(i, i + n - 1), i + n
		end
		fn(tag >> 3, value)
	end
end
local function packed(s, i)
	local list = {}
	i = 1
	while i <= #s do list[#list + 1], i = varint(s, i) end
	return list
end
local strings, funcs, lines, samples = {}, {}, {}, {}
fields(io.read("a"), function(n, v)
	if n == 6 then strings[#strings + 1] = v
	elseif n == 2 then samples[#samples + 1] = v
	elseif n == 5 then
		local id, name
		fields(v, function(k, x)
			if k == 1 then id = x elseif k == 2 then name = x end
			-- go tool pprof would drop "<file:line>" from it.
			assert(k ~= 3 or x == 0, "system_name is not empty")
		end)
		funcs[id] = name
	elseif n == 4 then
		local id, func
		fields(v, function(k, x)
			if k == 1 then id = x
			elseif k == 4 then
				fields(x, function(q, y)
					if q == 1 then func = y end
				end)
			end
		end)
		lines[id] = func
	end
end)
assert(strings[1] == "", "string 0 is not empty")
local calls, self = {}, {}
for _, s in ipairs(samples) do
	local stack, values
	fields(s, function(k, v)
		if k == 1 then stack = packed(v)
		elseif k == 2 then values = packed(v) end
	end)
	assert(#values == 3 and #stack > 0)
	local name = strings[funcs[lines[stack[1]]] + 1]
	calls[name] = (calls[name] or 0) + values[1]
	self[name] = (self[name] or 0) + values[2]
end
for name, n in pairs(calls) do
	if name:sub(1, 1) ~= "[" then print(name, n, self[name]) end
end
LUA
gzip -dc "$T/coroutines.pb" | lua5.4 "$T/sum.lua" | sort >"$T/summed" ||
	fail "no protobuf"
"$W" report --csv "$T/coroutines" 2>/dev/null | awk -F, 'NR > 1 &&
	$1 !~ /^\[/ { print $1 "\t" $6 "\t" $7 }' | sort >"$T/reported"
diff "$T/reported" "$T/summed" || fail "another reader adds up otherwise"
[ "$(wc -l <"$T/summed")" -ge 5 ] || fail "functions are missing"

# Without the sources of names: the profile carries them.
for c in coroutines dump; do
	"$W" $c "$T/plain.pb" >"$T/o" 2>"$T/e" && fail "$c of a profile"
	grep -q 'is a profile, which holds no single' "$T/e" ||
		fail "$c says: $(cat "$T/e")"
done
"$W" export "$T/plain" >/dev/full 2>"$T/e" && fail "wrote to a full disk"
grep -q 'cannot write\|No space' "$T/e" || fail "says: $(cat "$T/e")"
"$W" export -o "$T/none/x.pb" "$T/plain" 2>"$T/e" && fail "wrote nowhere"
grep -q 'cannot write' "$T/e" || fail "says: $(cat "$T/e")"
exit 0
