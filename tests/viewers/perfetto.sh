#!/bin/bash
# protoc, which knows nothing of the format but how protobuf is written, takes a
# Perfetto trace apart without a rest, and finds the report's calls in it.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need protoc protobuf-compiler
make_trace t coroutines=1 chunks=4 threads=2
"$W" export -f perfetto -o "$T/t.pftrace" "$T/t" 2>"$T/e" ||
	fail "$(cat "$T/e")"
protoc --decode_raw <"$T/t.pftrace" >"$T/raw" 2>"$T/e" ||
	fail "protoc refuses it: $(cat "$T/e")"
# A packet is field 1; an event 11 in it, whose type is 9 (1: it begins) and
# whose name is 10, a number of the names that field 12 has in its 2; 4 is how
# many calls it stands for, if that is not one.
lua5.4 - "$T/raw" >"$T/told" <<'LUA'
local path, names, calls, event, name = {}, {}, {}, nil, nil
for line in io.lines(arg[1]) do
	local open, key, value = line:match("^%s*(%d+) {$"),
		line:match("^%s*(%d+): (.*)$")
	if open then
		path[#path + 1] = open
		local at = table.concat(path, ".")
		if at == "1.11" then event = {n = 1} end
		if at == "1.12.2" then name = {} end
	elseif line:match("^%s*}$") then
		local at = table.concat(path, ".")
		if at == "1.11" and event.type == "1" then
			local what = names[event.name]
			calls[what] = (calls[what] or 0) + event.n
		end
		if at == "1.12.2" then names[name["1"]] = name["2"] end
		path[#path] = nil
	else
		local at = table.concat(path, ".")
		if at == "1.11" and key == "9" then event.type = value end
		if at == "1.11" and key == "10" then event.name = value end
		if at == "1.11.4" and key == "3" then event.n = value end
		if at == "1.12.2" then name[key] = value:gsub('"', "") end
	end
end
for what, n in pairs(calls) do
	if not what:find("^[~(]") then
		print(what .. "\t" .. math.tointeger(n))
	end
end
LUA
reported "$T/t" calls | grep -v '^\[' >"$T/want"
LC_ALL=C sort "$T/told" | diff "$T/want" - || fail "it has other calls"
[ "$(wc -l <"$T/want")" -ge 5 ] || fail "functions are missing"
exit 0
