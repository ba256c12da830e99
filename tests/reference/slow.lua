-- slow.lua - what "weft slow" must say of each single call: where and when it
-- began, how long it took, how it ended.
-- SPDX-License-Identifier: MIT
local report = require "report"
local slow = {}

local ends = { leave = "returned", unwind = "unwound", suspend = "died",
	       cut = "cut" }

-- Time in which a call was innermost; in a signal handler it is, too, that of
-- the call that was interrupted.
local function selves(s)
	local self = {}
	for _, slice in ipairs(s.slices) do
		local d, below = slice.to - slice.from, nil
		for _, frame in ipairs(slice.stack) do
			if frame.call.level == 0 then
				below = frame.call
			end
		end
		local top = slice.stack[#slice.stack]
		if top and top.call ~= below then
			self[top.call] = (self[top.call] or 0) + d
		end
		if below then
			self[below] = (self[below] or 0) + d
		end
	end
	return self
end

-- What a thread's calls did not run while they were on its stack, what of that
-- they had no core, and of what nothing is known; a handler's are those of the call
-- it interrupted.
local function waits(s)
	local off, no_core, unknown = {}, {}, {}
	for _, slice in ipairs(s.slices) do
		local on, away, ready = report.cpu_of(s, slice)
		local rest = slice.to - slice.from - on - away
		local met = {}
		for _, frame in ipairs(slice.stack) do
			local call = frame.call
			if call.level == 0 and not met[call] then
				off[call] = (off[call] or 0) + away
				no_core[call] = (no_core[call] or 0) + ready
				unknown[call] = (unknown[call] or 0) + rest
				met[call] = true
			end
		end
	end
	return off, no_core, unknown
end

-- An open call has taken what it took so far.
local function last_seen(s)
	local last = {}
	for _, slice in ipairs(s.slices) do
		for _, frame in ipairs(slice.stack) do
			last[frame.call] = math.max(last[frame.call] or 0,
						    slice.to)
		end
	end
	return last
end

local function lines(s, has_cpu, is_wanted)
	local self, last, out = selves(s), last_seen(s), {}
	local off, no_core, unknown = waits(s)
	for _, call in ipairs(s.calls) do
		local who = s.log.funcs[call.func]
		local t = s.log.threads[call.thread]
		local total = (call.to or last[call] or call.from) -
			call.from - call.slept
		local away, ready = off[call] or 0, no_core[call] or 0
		local rest = unknown[call] or 0
		local is_known = has_cpu and rest <= total // 10
		if is_wanted(call, total) then
			local names = {}
			for _, frame in ipairs(call.stack) do
				-- A handler's calls stand by themselves.
				if frame.call.level == call.level then
					names[#names + 1] =
						s.log.funcs[frame.func][1]
				end
			end
			out[#out + 1] = { s.log.processes[t.process].pid,
				t.tid, call.co, who[1], who[2], who[3], who[4],
				who[5], call.level, call.from - s.first, total,
				self[call] or 0, call.slept,
				total + call.slept,
				is_known and total - away or "",
				is_known and ready or "",
				is_known and away - ready or "", "",
				ends[call.ended] or "open",
				0, table.concat(names, ";"),
				-- What is known of them ranks them.
				rank = { [15] = total - away -
						(is_known and 0 or rest),
					 [16] = ready, [17] = away - ready } }
		end
	end
	return out
end

-- The first n by a column, of equal ones those that began first; fewer if that
-- does not tell them apart.
local function first_ones(rows, column, n)
	local out = table.move(rows, 1, #rows, 1, {})
	local function is_before(a, b)
		local x = a.rank[column] or a[column]
		local y = b.rank[column] or b[column]
		if x ~= y then
			return x > y
		end
		return a[10] < b[10]
	end
	table.sort(out, is_before)
	n = math.min(n, #out)
	while n > 0 and n < #out and not is_before(out[n], out[n + 1]) do
		n = n - 1
	end
	return table.move(out, 1, n, 1, {})
end

-- Of a part, too little may be known of switches and of the whole enough, or the
-- other way round.
local function unknown_in_part(have, falls, want)
	local is_unknown = have[1] and have[1][15] == ""
	for _, row in ipairs(want) do
		for i = 15, is_unknown and 17 or 0 do
			row[i] = ""
		end
	end
	return have, falls
end

local sorts = { "total", "self", "suspended", "wall",
		"cpu", "run-wait", "blocked" } -- columns from 11 on

function slow.checks(s, random)
	local key = random(report.has_cpu(s) and 7 or 4)
	local some = s.calls[random(#s.calls)]
	local name = s.log.funcs[some.func][1]:gsub(" <.*", "")
	local all = lines(s, report.has_cpu(s), function() return true end)
	local first = first_ones(all, 10 + key, random(20))
	local longer, to = random(500), some.from + 1 + random(100000)
	local args = ("slow --csv --sort %s --top %%d 'language=*'"):format(
		sorts[key])
	local checks = {
		{ args = args:format(0), rows = all,
		  falling = sorts[key]:gsub("%-", "_") .. "_ns" },
		{ args = ("slow --csv --top 0 --longer %dns --from %dns " ..
			  "--to %dns '%s'"):format(longer,
			some.from - s.first, to - s.first, name),
		  rows = lines(s, true, function(call, total)
			return s.log.funcs[call.func][1]:gsub(" <.*", "") ==
				name and total >= longer and
				call.from >= some.from and call.from < to
		  end), change = unknown_in_part },
	}
	if #first > 0 then
		checks[3] = { args = args:format(#first), rows = first,
			      falling = sorts[key]:gsub("%-", "_") .. "_ns" }
	end
	return checks
end

return slow
