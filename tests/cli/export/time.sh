#!/bin/bash
# weft export in the order of time: another reader of the files finds spans that
# nest and never go back, and of each function the calls and self times of the
# report, with the same filters; folded spans stand for all calls that are not
# shown.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }

# Spans, one a line, as "TRACK BEGIN END CALLS NAME", in ns.
cat >"$T/chrome.jq" <<'JQ'
.traceEvents[] | select(.ph == "X")
| ((.ts * 1000) | round) as $from
| [.tid, $from, $from + ((.dur * 1000) | round), .args.calls // (if .cat | test("continued|run") then 0 else 1 end), .name]
| @tsv
JQ
# Of each function its self time: the samples are the stretches of time in which
# no stack changes.
cat >"$T/firefox.jq" <<'JQ'
. as $in | .shared as $s
| [.. | objects | select(has("length")) | .length as $n
	| .[] | arrays | length == $n]
| if all then . else error("columns of different lengths") end
| [$in.threads[].samples as $x | range($x.length) as $i
	| if $i > 0 and ($x.time[$i - 1] + $x.weight[$i - 1] - $x.time[$i]
		| fabs) > 0.0000005 then error("a hole between samples") else . end
	| $x.stack[$i] | values
	| {name: $s.stringArray[$s.funcTable.name[
		$s.frameTable.func[$s.stackTable.frame[.]]]],
	   ms: $x.weight[$i]}]
| group_by(.name)[] | [.[0].name, 0, (map(.ms) | add * 1000000 | round)]
| @tsv
JQ
cat >"$T/speedscope-time.jq" <<'JQ'
.shared.frames as $frames
| .profiles[] as $p | $p.events
| reduce to_entries[] as $e ({open: [], out: []};
	if $e.value.type == "O" then .open += [$e]
	elif .open == [] then error("closed twice")
	elif .open[-1].value.frame != $e.value.frame then error("not nested")
	else .out += [[.open[-1].key, $p.name, .open[-1].value.at, $e.value.at,
		0, $frames[$e.value.frame].name]] | .open |= .[:-1] end)
| if .open != [] then error("left open") else . end
| .out | sort | .[] | .[1:] | @tsv
JQ
# By the numbers that Perfetto publishes: Trace.packet 1; TracePacket.timestamp
# 8, track_event 11, interned_data 12, track_descriptor 60; and so on.
cat >"$T/perfetto.lua" <<'LUA'
local function varint(s, i)
	local v, shift = 0, 0
	while true do
		local b = s:byte(i)
		v, i, shift = v | (b & 127) << shift, i + 1, shift + 7
		if b < 128 then return v, i end
	end
end
local function fields(s)
	local out, i = {}, 1
	while i <= #s do
		local tag, value
		tag, i = varint(s, i)
		if tag & 7 == 0 then value, i = varint(s, i)
		elseif tag & 7 == 1 then value, i = s:sub(i, i + 7), i + 8
		else
			assert(tag & 7 == 2, "a field of another type")
			local n
			n, i = varint(s, i)
			value, i = s:sub(i, i + n - 1), i + n
			assert(#value == n, "cut off")
		end
		out[tag >> 3] = out[tag >> 3] or {}
		table.insert(out[tag >> 3], value)
	end
	return out
end
local names, tracks, open, spans, flows = {}, {}, {}, {}, {}
for i, bytes in ipairs(fields(io.read("a"))[1] or {}) do
	local p = fields(bytes)
	assert(p[10][1] == 1)
	assert((i == 1) == (p[13] ~= nil and p[13][1] == 1))
	if p[12] then
		local data = fields(p[12][1])
		if data[2] then
			local name = fields(data[2][1])
			names[name[1][1]] = name[2][1]
		end
	elseif p[60] then
		local d = fields(p[60][1])
		assert(not d[5] or tracks[d[5][1]], "no such parent")
		assert(not tracks[d[1][1]], "a track twice")
		tracks[d[1][1]] = d
	else
		local at, e = p[8][1], fields(p[11][1])
		local track = e[11][1]
		assert(tracks[track], "no such track")
		open[track] = open[track] or {}
		local stack = open[track]
		if e[9][1] == 1 then
			local n = e[4] and fields(e[4][1])
			assert(not n or n[10][1] == "calls")
			spans[#spans + 1] = {track, at, false,
				n and n[3][1] or 1, names[e[10][1]]}
			stack[#stack + 1] = spans[#spans]
			for _, id in ipairs(e[47] or {}) do
				flows[id] = (flows[id] or 0) + 1
			end
			for _, id in ipairs(e[48] or {}) do
				flows[id] = (flows[id] or 0) + 10
			end
		elseif e[9][1] == 2 then
			table.remove(stack)[3] = at
		end
	end
end
for _, n in pairs(flows) do assert(n == 11, "a flow with one end") end
for _, span in ipairs(spans) do
	print(table.concat(span, "\t"))
end
LUA
cat >"$T/sum.lua" <<'LUA'
local calls, self, open, last = {}, {}, {}, nil
for line in io.lines() do
	local track, from, to, n, name =
		line:match("^([^\t]*)\t(%d+)\t(%d+)\t(%d+)\t(.*)$")
	from, to, n = tonumber(from), tonumber(to), tonumber(n)
	if track ~= last then open, last = {{0, math.huge, 0}}, track end
	while from >= open[#open][2] and to > open[#open][2] do
		open[#open] = nil
	end
	local over = open[#open]
	assert(from >= over[3] and from <= to and to <= over[2],
	       "not nested: " .. line)
	over[3] = to
	if over.name then self[over.name] = self[over.name] - (to - from) end
	open[#open + 1] = {from, to, from, name = name}
	self[name] = (self[name] or 0) + to - from
	calls[name] = (calls[name] or 0) + n
end
for name in pairs(self) do
	if not name:find("^[~(]") then
		print(name, calls[name], self[name])
	end
end
LUA
cat >"$T/compare.lua" <<'LUA'
local told, rows, has_calls = {}, 0, arg[2] == "chrome" or arg[2] == "perfetto"
for line in io.lines(arg[1]) do
	local name, calls, self = line:match("^(.*)\t(%d+)\t(%-?%d+)$")
	told[name] = {tonumber(calls), tonumber(self)}
end
io.read()
for line in io.lines() do
	local name, lang, rest = line:match("^(.-),(%a*),(.*)$")
	local f = {}
	for x in (rest .. ","):gmatch("([^,]*),") do f[#f + 1] = x end
	if lang == "lua" then name = name .. " [lua]" end
	local have = told[name] or {0, 0}
	local calls, self = tonumber(f[4]), tonumber(f[5])
	assert(not has_calls or have[1] == calls,
	       name .. ": " .. have[1] .. " calls, not " .. calls)
	assert(math.abs(have[2] - self) <= 1 + calls // 2 + self // 200,
	       name .. ": self " .. have[2] .. " not " .. self)
	rows = rows + 1
end
assert(rows >= tonumber(arg[3]), rows .. " functions")
LUA

# export TRACE FORMAT OPTION...: to $T/x.json, and its spans to $T/spans.
export_to() {
	local trace=$1 format=$2
	shift 2
	"$W" export -f $format "$@" -o "$T/x.json" "$T/$trace" 2>"$T/e" ||
		fail "$trace $format $*: $(cat "$T/e")"
	if [ $format = perfetto ]; then
		lua5.4 "$T/perfetto.lua" <"$T/x.json" >"$T/spans" ||
			fail "$trace $format $*: no protobuf"
	else
		jq -r -f "$T/$format.jq" "$T/x.json" >"$T/spans" ||
			fail "$trace $format $*: jq refuses it"
	fi
}
# equal ROWS TRACE OPTION...: what the report says, in each format.
equal() {
	local rows=$1 trace=$2 format
	shift 2
	for format in chrome speedscope-time perfetto firefox; do
		export_to $trace $format "$@"
		if [ $format = firefox ]; then
			cp "$T/spans" "$T/summed"
		else
			lua5.4 "$T/sum.lua" <"$T/spans" >"$T/summed" ||
				fail "$trace $format $*: not in order"
		fi
		"$W" report --csv --top 0 "$@" "$T/$trace" 2>/dev/null |
			lua5.4 "$T/compare.lua" "$T/summed" $format $rows ||
			fail "$trace $format $*: the report differs"
	done
}
# Small ones, which were read by a person beside the formats' descriptions.
make_trace small chunks=1 records=40 coroutines=1 threads=1
for format in chrome speedscope-time firefox; do
	same $format 0 "$W" export -f $format small
done
make_trace t coroutines=1 chunks=6 threads=2
make_trace one chunks=3
equal 6 t
equal 4 one
equal 4 t --thread 1002
equal 4 t --from 2us --to 4us
equal 1 t --under 'made-up+0x2000'
equal 4 t --skip 'made-up+0x2000'
equal 1 t --coroutine 101
# Without a filter, what is shown is collected while the trace is opened; with
# one, here of all functions, by another reading.
for format in chrome speedscope-time perfetto firefox; do
	for options in "" "--max-events 60"; do
		export_to t $format $options
		mv "$T/x.json" "$T/opened.json"
		export_to t $format $options --from 0s --to 1000s
		cmp "$T/opened.json" "$T/x.json" ||
			fail "$format $options: the readings differ"
	done
done
export_to t chrome
[ "$(jq '[.traceEvents[] | select(.name == "thread_name")] | length' \
	"$T/x.json")" = 4 ] || fail "not two threads and two coroutines"
for point in s t f; do
	jq "[.traceEvents[] | select(.ph == \"$point\")] | length" "$T/x.json"
done | uniq -c | grep -q '^ *3 [1-9]' || fail "flows have not three points"

# Folded: fewer spans, as many calls; and that is said.
all=$(wc -l <"$T/spans")
calls=$(awk '{ n += $4 } END { print n }' "$T/spans")
for option in "--max-events 60" "--merge-below 40ns" "--merge-below 1s"; do
	export_to t chrome $option
	lua5.4 "$T/sum.lua" <"$T/spans" >/dev/null || fail "$option: order"
	[ "$(wc -l <"$T/spans")" -lt $((all / 2)) ] ||
		fail "$option: $(wc -l <"$T/spans") of $all"
	[ "$(awk '{ n += $4 } END { print n }' "$T/spans")" = $calls ] ||
		fail "$option: calls are missing"
	grep -q 'in events that stand for several ones' "$T/e" ||
		fail "$option says: $(cat "$T/e")"
	jq -e '.otherData.title | test("folded")' "$T/x.json" >/dev/null ||
		fail "$option: the file does not say so"
done
export_to t chrome --max-events 0
[ "$(wc -l <"$T/spans")" = $all ] || fail "--max-events 0 folds"

# What cannot be said in the order of time.
"$W" export -o "$T/t.pb" "$T/t" 2>/dev/null
refuse() {
	local text=$1
	shift
	"$W" export "$@" >"$T/o" 2>"$T/e" && fail "$*: status 0"
	grep -q "$text" "$T/e" || fail "$* says: $(cat "$T/e")"
}
refuse 'holds no single calls' -f chrome "$T/t.pb"
refuse 'have no single calls when merged' -f chrome "$T/t" "$T/one"
refuse 'max-events cannot be used here' --max-events 5 "$T/t"
refuse 'focus' -f chrome --focus x "$T/t"
refuse 'merge-below' -f chrome --merge-below soon "$T/t"
exit 0
