#!/bin/bash
# Two Lua functions on the same lines of one source: every way out keeps them
# apart, and a profile back in; one written before they were told apart reads as
# it did.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
second='function <made-up.lua:20#2>'
make_trace twins twins=1 coroutines=1 chunks=6
make_trace plain coroutines=1 chunks=6
truth() { awk -v f="$1" '$1 == f { print $2 }' "$T/twins.calls"; }
first_calls=$(truth 5) second_calls=$(truth 4)
[ "$second_calls" -gt 20 ] || fail "the second was called $second_calls times"

# calls NAME TRACE...: as a report has them, every row of that name.
calls() {
	local name=$1
	shift
	"$W" report --csv "$@" 2>/dev/null | awk -F, -v name="$name" '
		$1 == name { print $6 }'
}
"$W" export -o "$T/twins.pb" "$T/twins" 2>/dev/null || fail "no profile"
for t in twins twins.pb; do
	[ "$(calls "$second" "$T/$t")" = "$second_calls" ] ||
		fail "$t: $(calls "$second" "$T/$t") calls of the second"
	[ "$(calls 'body <made-up.lua:20>' "$T/$t")" = "$first_calls" ] ||
		fail "$t: other calls of the first"
	"$W" callers --csv "$second" "$T/$t" 2>/dev/null >"$T/o" ||
		fail "$t: callers does not know it"
	grep -q 'body <made-up.lua:20>' "$T/o" || fail "$t: no caller"
done
[ "$(calls "$second" "$T/twins" "$T/twins.pb")" = \
	$((2 * second_calls)) ] || fail "two sessions are not the sum of both"
"$W" dump --raw "$T/twins" 2>/dev/null | grep -q \
	'lua lines 20 to 10 ordinal 1 "@made-up.lua" ""' || fail "dump --raw"
"$W" slow --csv --top 0 "$second" "$T/twins" 2>/dev/null >"$T/o"
[ "$(grep -c "^1000" "$T/o")" = "$second_calls" ] ||
	fail "slow shows other calls than its own"

# Viewers add up by name.
"$W" export --format collapsed "$T/twins" 2>/dev/null >"$T/o"
grep -q ";body <made-up.lua:20>;$second [0-9]" "$T/o" || fail "collapsed"
"$W" export --format speedscope "$T/twins" 2>/dev/null >"$T/o"
grep -qF "\"${second/</\\u003c} [lua]\"" "$T/o" || fail "speedscope"

# ordinals.lua TO [VALUE]: the functions' ordinals, their fourteenth column, have
# that value everywhere; or are gone, with what was added since.
cat >"$T/ordinals.lua" <<'LUA'
local function varint(s, i)
	local v, shift = 0, 0
	while true do
		local b = s:byte(i)
		v, i, shift = v | (b & 127) << shift, i + 1, shift + 7
		if b < 128 then return v, i end
	end
end
local function put(v)
	local s = ""
	while v > 127 do s, v = s .. string.char(v & 127 | 128), v >> 7 end
	return s .. string.char(v)
end
local function message(n, s) return put(n << 3 | 2) .. put(#s) .. s end
-- The fields of a message: number, value, and their bytes as they stand.
local function fields(s)
	local list, i = {}, 1
	while i <= #s do
		local from, tag, value = i, nil, nil
		tag, i = varint(s, i)
		value, i = varint(s, i)
		if tag & 7 == 2 then
			value, i = s:sub(i, i + value - 1), i + value
		end
		list[#list + 1] = { tag >> 3, value, s:sub(from, i - 1) }
	end
	return list
end
local value, found, out = tonumber(arg[2]), 0, {}
local function change(parts, rows)
	local text, column = "", 0
	for _, p in ipairs(parts) do
		column = column + (p[1] == 3 and 1 or 0)
		if p[1] == 3 and column == 14 and value then
			local all = put(value):rep(rows)
			p[3] = message(3, message(1, all))
		end
		if p[1] ~= 3 or column < 14 or value then
			text = text .. p[3]
		end
	end
	found = found + (column >= 14 and 1 or 0)
	return message(1002, text)
end
for _, f in ipairs(fields(io.read("a"))) do
	local of = {}
	local parts = f[1] == 1002 and fields(f[2]) or {}
	for _, p in ipairs(parts) do of[p[1]] = p[2] end
	out[#out + 1] = of[1] == 3 and change(parts, of[2]) or f[3]
end
assert(found == 1, "the column was not found")
local file = assert(io.open(arg[1], "wb"))
file:write(table.concat(out))
file:close()
LUA

# change NAME [VALUE]: $T/NAME.pb becomes $T/changed.pb.
change() {
	gzip -dc "$T/$1.pb" | lua5.4 "$T/ordinals.lua" "$T/changed" "${@:2}" ||
		fail "cannot change $1.pb"
	gzip -c "$T/changed" >"$T/changed.pb"
}
"$W" export -o "$T/plain.pb" "$T/plain" 2>/dev/null || fail "no profile"
change plain
"$W" report "$T/plain.pb" >"$T/a" 2>&1
"$W" report "$T/changed.pb" >"$T/b" 2>&1 || fail "an older profile: $(cat "$T/b")"
diff "$T/a" "$T/b" || fail "an older profile reads otherwise"
change plain 1
[ "$(calls 'body <made-up.lua:20>' "$T/plain.pb" "$T/changed.pb" | wc -l)" = \
	2 ] || fail "the ordinal is not taken from the profile"
change plain 65536
"$W" report "$T/changed.pb" >"$T/a" 2>"$T/e"
[ $? = 2 ] || fail "an ordinal of 65536 is taken"
grep -q 'damaged: a function' "$T/e" || fail "says: $(cat "$T/e")"
# Two functions that nothing tells apart are no profile of weft's.
change twins
"$W" report "$T/changed.pb" >"$T/a" 2>"$T/e"
[ $? = 2 ] || fail "the same function twice is taken"
exit 0
