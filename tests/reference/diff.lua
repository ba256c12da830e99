-- diff.lua - what "weft diff" must say of one session and one or two others:
-- what a change of calls, of who calls, of time a call adds to a session. With
-- one session on a side nothing is said of chance.
-- SPDX-License-Identifier: MIT
local log, story, report = require "log", require "story", require "report"
local diff = {}

local function row_of(rows, key, who)
	rows[key] = rows[key] or { who = who, calls = 0, outer = 0, self = 0,
		off = 0, no_core = 0, unknown = 0, sleep = 0, total = 0,
		total_work = 0, total_wait = 0, edges = {} }
	return rows[key]
end

-- Functions by what tells them from others; the thread's root is "".
local function count(s, rows)
	local function key_of(frame)
		local who = frame and s.log.funcs[frame.func]
		local key = who and table.concat(who, "\n") or ""
		row_of(rows, key, who)
		return key
	end
	for _, call in ipairs(s.calls) do
		local stack, is_again = call.stack, false
		for i = 1, #stack - 1 do
			is_again = is_again or stack[i].func == call.func
		end
		local row = rows[key_of(stack[#stack])]
		local edge = key_of(stack[#stack - 1]) ..
			(is_again and "\nagain" or "\nfirst")
		row.edges[edge] = (row.edges[edge] or 0) + 1
		row.calls = row.calls + 1
		row.outer = row.outer + (is_again and 0 or 1)
	end
	for _, slice in ipairs(s.slices) do
		local met, d = {}, slice.to - slice.from
		local row = rows[key_of(slice.stack[#slice.stack])]
		local on, off, no_core = report.cpu_of(s, slice)
		row.self, row.off = row.self + d, row.off + off
		row.no_core = row.no_core + no_core
		row.unknown = row.unknown + d - on - off
		for _, frame in ipairs(slice.stack) do
			local key = key_of(frame)
			if not met[key] then
				rows[key].total = rows[key].total + d
				rows[key].total_work =
					rows[key].total_work + on
				rows[key].total_wait =
					rows[key].total_wait + off - no_core
				met[key] = true
			end
		end
	end
	for _, sleep in ipairs(s.sleeps) do
		local last = sleep.stack[#sleep.stack]
		if last and last.co == sleep.co then
			local row = rows[key_of(last)]
			row.sleep = row.sleep + sleep.to - sleep.from
		end
	end
end

local function side_of(stories)
	local side = { rows = {}, n = #stories, has_cpu = true }
	local all, unknown = 0, 0
	for _, s in ipairs(stories) do
		side.has_cpu = side.has_cpu and #s.log.known > 0
		count(s, side.rows)
	end
	for _, row in pairs(side.rows) do
		all, unknown = all + row.self, unknown + row.unknown
	end
	side.has_cpu = side.has_cpu and unknown < all // 10
	return side
end

-- What had no core tells of other programs.
local function parts_of(row, has_cpu)
	if not has_cpu then
		return row.self, 0
	end
	local off = math.min(row.off, row.self)
	return row.self - off - row.unknown, off - row.no_core
end

-- What shares are of, by what a row may tell of.
local function wholes(a, b)
	local has_cpu = a.has_cpu and b.has_cpu
	for _, side in ipairs({ a, b }) do
		side.time, side.wait, side.sleep = 0, 0, 0
		for key, row in pairs(side.rows) do
			local work, wait = parts_of(row, has_cpu)
			if key ~= "" then
				side.time = side.time + work / side.n
				side.wait = side.wait + (work + wait) / side.n
			end
			side.sleep = side.sleep + row.sleep / side.n
		end
		side.knows = has_cpu
	end
end

-- What is on one side only may be paired with another function, by its name; in
-- Lua, though its file has another name.
local function is_alike(a, b)
	local function names(side, other)
		local of = {}
		for key, row in pairs(side.rows) do
			local who = not other.rows[key] and row.who
			if who then
				of[(who.hint or who[1]) .. "\n" .. who[4]] = true
			end
			if who and who[2] == "lua" then
				of[who.hint or who[1]:match("^main chunk") or
				   who[4]:match("[^/]*$") .. who[5]] = true
			end
		end
		return of
	end
	local of = names(b, a)
	for name in pairs(names(a, b)) do
		if of[name] then
			return true
		end
	end
	return false
end

local function ratio(part, whole)
	return whole > 0 and part / whole or 0
end

local nothing = { calls = 0, outer = 0, self = 0, off = 0, no_core = 0,
		  unknown = 0, sleep = 0, total = 0, total_work = 0,
		  total_wait = 0, edges = {} }

-- What a call with all that it calls works, and what it waits; a recursive one
-- for itself.
local function cost_of(row, is_again, has_cpu)
	if is_again or row.outer == 0 then
		local work, wait = parts_of(row, has_cpu)
		return ratio(work, row.calls), ratio(wait, row.calls)
	end
	if not has_cpu then
		return ratio(row.total, row.outer), 0
	end
	return ratio(row.total_work, row.outer),
		ratio(row.total_wait, row.outer)
end

local function calls_of(side, key)
	local row = side.rows[key] or nothing
	return key == "" and side.n or row.calls
end

-- Who adds most: the first of these, or another that adds as much.
local function most_of(list)
	table.sort(list, function(p, q) return p[1] > q[1] end)
	local names = {}
	for _, one in ipairs(list) do
		if one[1] >= list[1][1] * (1 - 1e-9) then
			names[#names + 1] = one[2]
			names[one[2]] = true
		end
	end
	return names
end

-- The complementary error function: Abramowitz and Stegun 7.1.26.
local function erfc(x)
	local t = 1 / (1 + 0.3275911 * x)
	return t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 +
		t * (-1.453152027 + t * 1.061405429)))) * math.exp(-x * x)
end

-- The variance of how many calls an edge has more, in a session: as of
-- independent events, unless the caller did the same again, or its calls make
-- the same number each.
local function variance_of(a, b, was, is, x, y)
	if was * b.n == is * a.n or
	   x % was == 0 and y % is == 0 then
		return 0
	end
	return (y + x * (is / was) ^ 2) / b.n ^ 2
end

local function changes_of_calls(a, b, x, y, put)
	local all, edges = {}, {}
	for edge in pairs(x.edges) do edges[edge] = true end
	for edge in pairs(y.edges) do edges[edge] = true end
	for edge in pairs(edges) do
		local caller, kind = edge:match("^(.*)\n(%a+)$")
		local was, is = calls_of(a, caller), calls_of(b, caller)
		local why = x.calls == 0 and "new" or
			not x.edges[edge] and "new_caller" or "called"
		if was > 0 and is > 0 then
			local rate = ratio(y.edges[edge] or 0, is) -
				ratio(x.edges[edge] or 0, was)
			local of = x.calls == 0 and y or x
			local work, wait = cost_of(of, kind == "again",
						   a.knows)
			local row = b.rows[caller] or a.rows[caller]
			for _, one in ipairs({ { why, work },
					       { "more_waits", wait } }) do
				local sum = all[one[1]] or
					{ added = 0, variance = 0, by = {} }
				local added = rate * is / b.n * one[2]
				local variance = variance_of(a, b, was, is,
					x.edges[edge] or 0, y.edges[edge] or 0)
				sum.variance = sum.variance +
					variance * one[2] ^ 2
				all[one[1]] = sum
				sum.added = sum.added + added
				table.insert(sum.by, { math.abs(added),
					row.who and row.who[1] or "[thread]" })
			end
		end
	end
	for why, sum in pairs(all) do
		put(why, sum.added, x.calls / a.n, y.calls / b.n,
		    most_of(sum.by), math.sqrt(sum.variance))
	end
end

local function changes_of_cost(a, b, x, y, put)
	local function cost(why, before, after)
		local was, is = before / x.calls, after / y.calls
		put(why, (is - was) * y.calls / b.n, was, is, { "" })
	end
	if x.calls > 0 and y.calls > 0 then
		local work, wait = parts_of(x, a.knows)
		local works, waits = parts_of(y, a.knows)
		cost("cost", work, works)
		cost("wait", wait, waits)
		cost("sleep", x.sleep, y.sleep)
	end
end

local function rows_of(a, b)
	local out = {}
	local function look(key)
		local x, y = a.rows[key] or nothing, b.rows[key] or nothing
		local who = x.who or y.who
		local function put(why, added, was, is, callers, error)
			local of = why == "more_waits" and "wait" or
				(why == "sleep" or why == "wait") and why or
				"time"
			local least = math.max(a[of], b[of]) / 5000
			local base = a[of] > 0 and a[of] or a.time
			error = (a.n == 1 or b.n == 1) and error or 0
			local chance = error > 0 and
				erfc(math.abs(added) / error / 2 ^ 0.5) or 0
			if math.abs(added) > least then
				out[#out + 1] = { ("%.3f"):format(added),
					("%.3f"):format(added * 100 / base),
					why, ("%.3f"):format(was),
					("%.3f"):format(is),
					chance > 0.05 and
					("%.3f"):format(chance) or "", who[1],
					who[2], who[3], who[4], who[5],
					callers[1], error > 0 and
					("%.3f"):format(error) or "",
					callers = callers }
			end
		end
		if who then
			changes_of_calls(a, b, x, y, put)
			changes_of_cost(a, b, x, y, put)
		end
	end
	for key in pairs(a.rows) do look(key) end
	for key in pairs(b.rows) do
		if not a.rows[key] then look(key) end
	end
	return out
end

-- Causes, then waits, then sleep; of each, what adds most first. What may be
-- chance comes last. This is of one session on a side, of which nothing else is
-- known of chance.
local places = { wait = 1, more_waits = 1, sleep = 2 }

local function is_in_order(rows)
	for i = 2, #rows do
		local a, b = rows[i - 1], rows[i]
		local p, q = places[a[3]] or 0, places[b[3]] or 0
		p, q = a[6] == "" and p or 3, b[6] == "" and q or 3
		if p > q or p == q and tonumber(a[1]) < tonumber(b[1]) then
			return false
		end
	end
	return true
end

-- Floating-point sums depend on their order.
local function nearly(have, _, want)
	local of = {}
	local function key(row)
		return row[3] .. "\n" .. table.concat(row, "\n", 7, 11)
	end
	for _, row in ipairs(want) do
		of[key(row)] = row
	end
	for _, row in ipairs(have) do
		local other = of[key(row)]
		for _, i in ipairs(other and { 1, 2, 4, 5, 13 } or {}) do
			local v, w = tonumber(row[i]), tonumber(other[i])
			if v and w and
			   math.abs(v - w) <= 0.0015 + math.abs(w) * 1e-9 then
				row[i] = other[i]
			end
		end
		-- Of many rows some differ by chance: theirs is so many times
		-- as much.
		local chance = other and tonumber(other[6])
		if chance and tonumber(row[6]) and
		   tonumber(row[6]) >= chance - 0.001 then
			row[6] = other[6]
		end
		if other and other.callers[row[12]] then
			row[12] = other[12]
		end
	end
	return have, is_in_order(have)
end

function diff.checks(s, random, others)
	for i = 1, #others do
		local stories = { story.tell(log.read(others[i] .. ".log")) }
		local paths = others[i]
		if i < #others and random(2) == 1 then
			stories[2] = story.tell(log.read(others[i + 1] ..
							 ".log"))
			paths = paths .. " " .. others[i + 1]
		end
		local a, b = side_of({ s }), side_of(stories)
		wholes(a, b)
		local of = "@ vs " .. paths
		if random(2) == 1 then
			a, b, of = b, a, paths .. " vs @"
		end
		if not is_alike(a, b) then
			return { { args = "diff --csv --min 0", of = of,
				   rows = function() return rows_of(a, b) end,
				   change = nearly } }
		end
	end
	return {}
end

return diff
