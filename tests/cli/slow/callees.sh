#!/bin/bash
# weft slow --callees: the hot_path callee of each call is that of the tree of
# the call's own time on its thread; --thread leaves the others' calls out.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
same callees 0 "$W" slow -n 2 --callees '*0x1000' t
"$W" slow -n 30 --callees --csv '*0x2000' "$T/t" 2>/dev/null >"$T/slow"
cat >"$T/compare.lua" <<'LUA'
-- Columns of a CSV line whose texts hold no comma.
local function rows(file)
	local at, names
	return function()
		for line in file:lines() do
			local cells, row = {}, {}
			for x in (line .. ","):gmatch("([^,]*),") do
				cells[#cells + 1] = x
			end
			if not names then
				names = cells
			else
				for i, name in ipairs(names) do
					row[name] = cells[i]
				end
				return row
			end
		end
	end
end
local compared = 0
for call in rows(io.open(arg[1])) do
	local from = math.tointeger(call.start_ns)
	local p = io.popen(("%s tree --csv --recursion none --under '%s' --from %dns --to " ..
		"%dns --thread %s %s 2>/dev/null"):format(arg[2],
		call["function"], from, from + call.wall_ns, call.tid, arg[3]))
	local top, best
	for row in rows(p) do
		if row["function"] == call["function"] and not top then
			top = row
		elseif top and row.parent == top.node and (not best or
			tonumber(row.total_ns) > tonumber(best.total_ns)) then
			best = row
		end
	end
	assert(p:close())
	-- Not where the call went to other threads, or the next one began.
	if top and top.calls == "1" and top.total_ns == call.total_ns and best
		and tonumber(best.total_ns) * 10 >= tonumber(call.total_ns) then
		assert(call.callees_ns:match("^%d+") == best.total_ns,
		       call.callees .. " " .. call.callees_ns .. " not " ..
		       best["function"] .. " " .. best.total_ns)
		compared = compared + 1
	end
end
assert(compared > 9, "only " .. compared .. " calls compared")
LUA
lua5.4 "$T/compare.lua" "$T/slow" "$W" "$T/t" || fail "callees are others"
"$W" slow -n 0 --csv '*' "$T/t" 2>/dev/null | awk -F, 'NR > 1 { print $2 }' |
	sort | uniq -c >"$T/calls"
while read -r count tid; do
	[ "$("$W" slow -n 0 --csv --thread "$tid" '*' "$T/t" 2>/dev/null |
		tail -n +2 | wc -l)" = "$count" ] || fail "thread $tid"
done <"$T/calls"
[ "$(wc -l <"$T/calls")" = 3 ] || fail "no three threads"
same no-thread 2 "$W" slow --thread nobody '*0x1000' t
exit 0
