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

# ordinals.lua TO [VALUE]: the functions' ordinals, their fourteenth field, have
# that value everywhere; or are gone, with what was added since.
cat >"$T/ordinals.lua" <<'LUA'
local s, at = io.read("a"), 1
local function varint()
	local v, shift = 0, 0
	while true do
		local b = s:byte(at)
		v, at, shift = v | (b & 127) << shift, at + 1, shift + 7
		if b < 128 then return v end
	end
end
local function put(v)
	local s = ""
	while v > 127 do s, v = s .. string.char(v & 127 | 128), v >> 7 end
	return s .. string.char(v)
end
local function skip(kind)
	if varint() > 0 or kind == "n" then return end
	local n = varint()
	at = at + n
end
-- Of the first three tables, which values of a row are texts.
local layout = { ("n"):rep(21), "tnnnnn", "nnntnnnntttnnnnn" }
local value, found, out = tonumber(arg[2]), 0, {}
assert(varint() == 1004 << 3 | 2)
local size = varint()
local session = at
varint()
for kind, row in ipairs(layout) do
	local from = at
	assert(varint() == kind, "a table was not found")
	local fields = varint()
	out[#out + 1] = kind == 3 and put(3) .. put(value and fields or 13) or
		s:sub(from, at - 1)
	from = at
	while varint() == 1 do
		for i = 1, #row do
			if i == 14 and kind == 3 then
				out[#out + 1] = s:sub(from, at - 1)
				from, found = at, found + 1
			end
			skip(row:sub(i, i))
			if i == 14 and kind == 3 then
				out[#out + 1] = value and put(value) or ""
				from = at
			end
		end
		from = kind == 3 and not value and at or from
	end
	out[#out + 1] = s:sub(from, at - 1)
end
assert(found > 1, "no functions")
local text = s:sub(session, session) .. table.concat(out) ..
	s:sub(at, session + size - 1)
local file = assert(io.open(arg[1], "wb"))
file:write(put(1004 << 3 | 2), put(#text), text, s:sub(session + size))
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
