-- coroutines.lua - what "weft coroutines" must say: who each one is, who made
-- it, how often and where it ran, how long it was active and asleep.
-- SPDX-License-Identifier: MIT
local coroutines = {}

-- Its outermost function: the first one that is Lua, for a native one may have
-- been a signal handler's; or the first of all.
local function bodies(s)
	local body = {}
	for _, call in ipairs(s.calls) do
		local old, new = body[call.co], s.log.funcs[call.func]
		if call.stack[#call.stack].is_body and
		   (not old or old[2] ~= "lua" and new[2] == "lua") then
			body[call.co] = new
		end
	end
	return body
end

local function sum(spans)
	local n = 0
	for _, span in ipairs(spans) do
		n = n + span.to - span.from
	end
	return n
end

local function tids(s, co)
	local list = {}
	for serial in pairs(co.threads) do
		list[#list + 1] = s.log.threads[serial].tid
	end
	table.sort(list)
	return table.concat(list, " ")
end

-- Their order is that of the chunks.
local function sort_threads(rows, falls)
	for _, row in ipairs(rows) do
		local list = {}
		for tid in row[8]:gmatch("%d+") do
			list[#list + 1] = tid
		end
		table.sort(list)
		row[8] = table.concat(list, " ")
	end
	return rows, falls
end

function coroutines.checks(s, random)
	local rows, body = {}, bodies(s)
	for id, co in pairs(s.coroutines) do
		local ran = co.resumes > 0 or sum(co.spans) > 0
		local who = body[id] or { ran and "[body not known]" or "",
					  "", "", "", "0" }
		rows[#rows + 1] = { s.log.processes[co.process].pid, id,
			who[1], who[2], who[3], who[4], who[5], tids(s, co),
			co.vm, co.creator, co.state, co.resumes,
			sum(co.spans), sum(co.sleeps), co.inferred, "lua" }
	end
	local key = ({ "active", "suspended", "resumes" })[random(3)]
	return { { args = "coroutines --csv --sort " .. key, rows = rows,
		   change = sort_threads,
		   falling = key == "resumes" and key or key .. "_ns" } }
end

return coroutines
