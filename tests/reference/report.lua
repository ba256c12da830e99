-- report.lua - what "weft report" must say, from the plain definitions: self
-- is the time a function, or a group of them, was innermost; total the time it
-- stood anywhere on the stack of a running thread; suspended the time it stood
-- on the stack of a coroutine that slept.
-- SPDX-License-Identifier: MIT
local group = require "group"
local report = {}

local function new_row(rows, key)
	rows[key] = rows[key] or { calls = 0, self = 0, total = 0,
		suspended = 0, times = {}, cpu = 0, off = 0, total_cpu = 0,
		total_off = 0, no_core = 0, total_no_core = 0 }
	return rows[key]
end

local function known_of(s, thread)
	s.known_of = s.known_of or {}
	if not s.known_of[thread] then
		s.known_of[thread] = {}
		for _, known in ipairs(s.log.known) do
			if known.thread == thread then
				table.insert(s.known_of[thread], known)
			end
		end
	end
	return s.known_of[thread]
end

-- How much of a time a thread ran, did not run, and of that had no core; the
-- rest is not known.
function report.cpu_of(s, span)
	local on, off, no_core = 0, 0, 0
	local function common(other)
		return math.max(0, math.min(span.to, other.to) -
				   math.max(span.from, other.from))
	end
	for _, known in ipairs(known_of(s, span.thread)) do
		if common(known) > 0 then
			on = on + common(known)
			for _, o in ipairs(known.off) do
				on, off = on - common(o), off + common(o)
				no_core = no_core +
					(o.is_ready and common(o) or 0)
			end
		end
	end
	return on, off, no_core
end

-- Are switches known for more than nine tenths of the time?
function report.has_cpu(s)
	if s.has_cpu == nil then
		local all, unknown = 0, 0
		for _, slice in ipairs(s.slices) do
			local on, off = report.cpu_of(s, slice)
			all = all + slice.to - slice.from
			unknown = unknown + slice.to - slice.from - on - off
		end
		s.has_cpu = unknown < all // 10
	end
	return s.has_cpu
end

-- Rows of the groups, of what a test lets through; and the time not known.
function report.rows(s, is_wanted, by)
	local rows, groups_of = {}, group.by[by or "function"]
	local all, unknown = 0, 0
	local function groups(fact)
		local list = groups_of(s, fact.thread, fact.stack)
		for i = list[0] and 0 or 1, #fact.stack do
			new_row(rows, list[i])
		end
		return list
	end
	for serial in pairs(s.threads) do
		if is_wanted(serial) then
			groups { thread = serial, stack = {} }
		end
	end
	for _, call in ipairs(s.calls) do
		if is_wanted(call.thread) then
			local row = rows[groups(call)[#call.stack]]
			row.calls = row.calls + 1
		end
	end
	for _, ended in ipairs(s.ends) do
		if is_wanted(ended.thread) then
			local row = rows[groups(ended)[#ended.stack]]
			table.insert(row.times, ended.time)
		end
	end
	for _, slice in ipairs(s.slices) do
		if is_wanted(slice.thread) then
			local list, met = groups(slice), {}
			local d = slice.to - slice.from
			local on, off, no_core = report.cpu_of(s, slice)
			for i = list[0] and 0 or 1, #slice.stack do
				local row = rows[list[i]]
				if i == #slice.stack then
					row.self = row.self + d
					row.cpu = row.cpu + on
					row.off = row.off + off
					row.no_core = row.no_core + no_core
				end
				if not met[list[i]] then
					row.total = row.total + d
					row.total_cpu = row.total_cpu + on
					row.total_off = row.total_off + off
					row.total_no_core =
						row.total_no_core + no_core
				end
				met[list[i]] = true
			end
			all, unknown = all + d, unknown + d - on - off
		end
	end
	for _, sleep in ipairs(s.sleeps) do
		if is_wanted(sleep.thread) then
			local list, met = groups(sleep), {}
			for i, frame in ipairs(sleep.stack) do
				if frame.co == sleep.co and
				   not met[list[i]] then
					local row = rows[list[i]]
					row.suspended = row.suspended +
						sleep.to - sleep.from
					met[list[i]] = true
				end
			end
		end
	end
	return rows, unknown < all // 10
end

-- The value that so many in a thousand do not exceed.
local function quantile(times, part)
	return times[(#times * part + 999) // 1000] or 0
end

local function figures(row, has_cpu, sum)
	table.sort(row.times)
	return { row.calls, row.self, row.total, row.suspended,
		 row.total + row.suspended,
		 row.calls > 0 and row.total // row.calls or 0,
		 row.times[1] or 0, row.times[#row.times] or 0,
		 quantile(row.times, 500), quantile(row.times, 950),
		 quantile(row.times, 990), has_cpu and row.cpu or "",
		 has_cpu and row.no_core or "",
		 has_cpu and row.off - row.no_core or "",
		 has_cpu and row.off or "", has_cpu and row.total_cpu or "",
		 has_cpu and row.total_no_core or "",
		 has_cpu and row.total_off - row.total_no_core or "",
		 has_cpu and row.total_off or "",
		 ("%.4f"):format(sum > 0 and 100.0 * row.self / sum or 0) }
end

local function lines(s, front, by, rows, has_cpu, out, is_shown)
	local sum = 0
	for _, row in pairs(rows) do
		sum = sum + row.self
	end
	for key, row in pairs(rows) do
		local line = table.move(front, 1, #front, 1, {})
		local who = group.columns(s, by, key)
		if not is_shown or is_shown(who) then
			table.move(who, 1, #who, #line + 1, line)
			table.move(figures(row, has_cpu, sum), 1, 20,
				   #line + 1, line)
			out[#out + 1] = line
		end
	end
	return out
end

-- Percentiles may be a sixteenth off: those that are within are taken as equal.
-- The columns behind them are counted from the end.
local function nearly(have, falls, want)
	local of = {}
	local function key(row)
		return table.concat(row, "\n", 1, #row - 20)
	end
	for _, row in ipairs(want) do
		of[key(row)] = row
	end
	for _, row in ipairs(have) do
		local other = of[key(row)] or {}
		for i = #row - 11, #row - 9 do
			local v, w = tonumber(row[i]), other[i]
			if v and w and math.abs(v - w) * 16 <= w then
				row[i] = w
			end
		end
	end
	return have, falls
end

local function all() return true end

local sorts = { self = "self_ns", total = "total_ns", wall = "wall_ns",
	suspended = "suspended_ns", calls = "calls", mean = "mean_ns",
	min = "min_ns", max = "max_ns", p50 = "p50_ns", p95 = "p95_ns",
	p99 = "p99_ns" }
local keys = { "self", "total", "wall", "suspended", "calls", "mean",
	       "min", "max", "p50", "p95", "p99" }
local dimensions = { "module", "file", "language", "body", "vm", "thread",
		     "process", "label" }

local function check(s, random, by, is_only)
	local key = keys[random(#keys)]
	local args = ("report --csv --by %s --sort %s"):format(by, key)
	local is_shown
	if is_only and #s.calls > 0 then
		local some = s.log.funcs[s.calls[random(#s.calls)].func]
		local start = some[1]:sub(1, 5)
		args = args .. " --only '" .. start .. "*'"
		function is_shown(f) return f[1]:sub(1, 5) == start end
	end
	local function rows_of()
		local rows, has_cpu = report.rows(s, all, by)
		return lines(s, {}, by, rows, has_cpu, {}, is_shown)
	end
	return { args = args, rows = rows_of, falling = sorts[key],
		 change = nearly }
end

local function by_thread(s)
	local _, has_cpu = report.rows(s, all)
	local out = {}
	for serial in pairs(s.began) do
		local t = s.log.threads[serial]
		local rows = report.rows(s, function(thread)
			return thread == serial
		end)
		lines(s, { s.log.processes[t.process].pid, t.tid, t.name },
		      "function", rows, has_cpu, out)
	end
	return out
end

-- However few stacks are kept apart, these are exact; but not what is below a
-- function.
local function with_few_nodes(s, nodes)
	local rows, has_cpu = report.rows(s, all)
	local out = {}
	for key, row in pairs(rows) do
		local line = group.columns(s, "function", key)
		table.sort(row.times)
		out[#out + 1] = table.move({ row.calls, row.self,
			row.times[1] or 0, row.times[#row.times] or 0,
			has_cpu and row.cpu or "", has_cpu and row.off or "",
			has_cpu and row.no_core or "",
			has_cpu and row.off - row.no_core or "" },
			1, 8, #line + 1, table.move(line, 1, #line, 1, {}))
	end
	return { is_of_all = true, args = "report --csv --max-nodes " .. nodes .. " --columns " ..
			"name,language,module,file,line,calls,self,min,max," ..
			"cpu,off-cpu,run-wait,blocked",
		 falling = has_cpu and "cpu_ns" or "self_ns",
		 rows = function() return out end,
		 change = function(have, falls)
			for i = #have, 1, -1 do
				if have[i][1] == "(deeper)" and
				   have[i][6] == "0" and have[i][7] == "0" then
					table.remove(have, i)
				end
			end
			return have, falls
		 end }
end

function report.checks(s, random)
	return {
		with_few_nodes(s, random(20)),
		check(s, random, "function", random(3) == 1),
		check(s, random, dimensions[random(#dimensions)]),
		check(s, random, dimensions[random(#dimensions)]),
		{ args = "report --csv --tables thread", change = nearly,
		  rows = function() return by_thread(s) end },
	}
end

return report
