-- report.lua - what "weft report" must say, from the plain definitions: self
-- is the time a function was innermost, total the time it stood anywhere on
-- the stack of a running thread, suspended the time it stood on the stack of a
-- coroutine that slept.
-- SPDX-License-Identifier: MIT
local report = {}

local function new_row(rows, key)
	rows[key] = rows[key] or { calls = 0, self = 0, total = 0,
				   suspended = 0, times = {} }
	return rows[key]
end

-- Rows by function, of what a test lets through.
function report.rows(s, is_wanted)
	local rows = {}
	for _, call in ipairs(s.calls) do
		if is_wanted(call.thread) then
			-- Its callers stand in the table too.
			for _, frame in ipairs(call.stack) do
				new_row(rows, frame.func)
			end
			local row = new_row(rows, call.func)
			row.calls = row.calls + 1
		end
	end
	for _, ended in ipairs(s.ends) do
		if is_wanted(ended.thread) then
			for _, frame in ipairs(ended.stack) do
				new_row(rows, frame.func)
			end
			table.insert(new_row(rows, ended.func).times,
				     ended.time)
		end
	end
	for _, slice in ipairs(s.slices) do
		local met = {}
		for i, frame in ipairs(slice.stack) do
			if is_wanted(slice.thread) then
				local row = new_row(rows, frame.func)
				local d = slice.to - slice.from
				row.total = row.total +
					(met[frame.func] and 0 or d)
				row.self = row.self +
					(i == #slice.stack and d or 0)
				met[frame.func] = true
			end
		end
	end
	for _, sleep in ipairs(s.sleeps) do
		local met = {}
		for _, frame in ipairs(sleep.stack) do
			if is_wanted(sleep.thread) then
				local row = new_row(rows, frame.func)
				if frame.co == sleep.co and
				   not met[frame.func] then
					row.suspended = row.suspended +
						sleep.to - sleep.from
					met[frame.func] = true
				end
			end
		end
	end
	return rows
end

local function figures(row)
	table.sort(row.times)
	return { row.calls, row.self, row.total, row.suspended,
		 row.total + row.suspended,
		 row.calls > 0 and row.total // row.calls or 0,
		 row.times[1] or 0, row.times[#row.times] or 0 }
end

local function lines(s, front, rows, out)
	for func, row in pairs(rows) do
		local line = table.move(front, 1, #front, 1, {})
		table.move(s.log.funcs[func], 1, 5, #line + 1, line)
		table.move(figures(row), 1, 8, #line + 1, line)
		out[#out + 1] = line
	end
	return out
end

local sorts = { self = "self_ns", total = "total_ns", wall = "wall_ns",
	suspended = "suspended_ns", calls = "calls", average = "average_ns",
	min = "min_ns", max = "max_ns" }

function report.checks(s, random)
	local keys = { "self", "total", "wall", "suspended", "calls",
		       "average", "min", "max" }
	local key = keys[random(#keys)]
	local all = lines(s, {}, report.rows(s, function() return true end), {})
	local by_thread = {}
	for serial, t in ipairs(s.log.threads) do
		lines(s, { s.log.processes[t.process].pid, t.tid, t.name },
		      report.rows(s, function(thread) return thread == serial end),
		      by_thread)
	end
	return {
		{ args = "report --csv --sort " .. key, rows = all,
		  falling = sorts[key] },
		{ args = "report --csv --by-thread", rows = by_thread },
	}
end

return report
