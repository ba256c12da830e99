-- stacks.lua - what "weft stacks" must say: the frames that all events up to a
-- moment, its own tick included, leave open; of every thread, and of every
-- coroutine that is on none.
-- SPDX-License-Identifier: MIT
local story = require "story"
local stacks = {}

local nobody = { "", "", "", "", 0 }

-- The story up to a tick: told again from the start, by those who were there.
local function until_then(s, tick)
	local l = setmetatable({ events = {} }, { __index = s.log })
	for _, e in ipairs(s.log.events) do
		if e.tick <= tick then
			table.insert(l.events, e)
		end
	end
	return #l.events > 0 and story.tell(l) or
		{ threads = {}, coroutines = {} }
end

local function rows_of(s, all, front, state, frames, since)
	local out = {}
	all[#all + 1] = out
	for i, f in ipairs(frames) do
		local who, above = s.log.funcs[f.func], frames[i + 1]
		local enters = who[2] == "native" and above and
			s.log.funcs[above.func][2] == "lua"
		out[#out + 1] = { front[1], front[2], front[3], f.co, state,
			i - 1, who[1], who[2], who[3], who[4], who[5],
			f.level, f.is_body and 1 or 0, enters and 1 or 0, 0,
			since }
	end
	if #frames == 0 then
		out[#out + 1] = { front[1], front[2], front[3], front[4],
			state, "", nobody[1], "", "", "", 0, 0, 0, 0, 0,
			since }
	end
end

local function frames_of(thread)
	local frames = {}
	for _, segment in ipairs(thread.segments) do
		for k, call in ipairs(story.open(segment.own or segment)) do
			frames[#frames + 1] = { func = call.func,
				co = segment.co, level = segment.level or 0,
				is_body = segment.own and k == 1 }
		end
	end
	return frames
end

-- When the last thing of its process was told.
local function process_ends(s)
	local last = {}
	for _, e in ipairs(s.log.events) do
		local process = s.log.threads[e.thread].process
		last[process] = math.max(last[process] or 0, e.tick)
	end
	return last
end

-- What a thread does that is at something.
local function runs(s, thread, tick)
	for _, known in ipairs(s.log.known) do
		for _, o in ipairs(known.thread == thread and known.off or {}) do
			if o.from <= tick and tick < o.to then
				return o.is_ready and "run-wait" or "blocked"
			end
		end
	end
	return "running"
end

local function moment(s, tick, last, out)
	local now = until_then(s, tick)
	for serial, thread in pairs(now.threads) do
		local t = s.log.threads[serial]
		local pid = s.log.processes[t.process].pid
		local co = 0
		for _, segment in ipairs(thread.segments) do
			co = segment.own and segment.co or co
		end
		local is_over = thread.is_off and tick > thread.since or
			tick > last[t.process]
		if not is_over then
			rows_of(s, out, { tick - s.first, pid, t.tid, co },
				thread.has_ended and tick > thread.since and
				"last" or runs(s, serial, tick),
				frames_of(thread), "")
		end
	end
	for id, co in pairs(now.coroutines) do
		local state = co.state
		if tick <= last[co.process] and
		   (state == "suspended" or state == "new") then
			local frames = {}
			for k, call in ipairs(story.open(co)) do
				frames[k] = { func = call.func, co = id,
					level = 0, is_body = k == 1 }
			end
			rows_of(s, out, { tick - s.first,
				s.log.processes[co.process].pid, "", id },
				state, frames,
				(co.since or co.made) - s.first)
		end
	end
end

-- Stacks alike at one moment, of threads or of coroutines on none, once.
local function folded(all)
	local out, of = {}, {}
	for _, rows in ipairs(all) do
		local lines, key = {}, { rows[1][3] == "" and 1 or 0 }
		for i, row in ipairs(rows) do
			lines[i] = { row[1], 0, table.unpack(row, 5, 15) }
			key[#key + 1] = table.concat(lines[i], ",")
		end
		key = table.concat(key, "\n")
		if not of[key] then
			of[key] = lines
			table.move(lines, 1, #lines, #out + 1, out)
		end
		for _, line in ipairs(of[key]) do
			line[2] = line[2] + 1
		end
	end
	return out
end

local function single(all)
	local out = {}
	for _, rows in ipairs(all) do
		table.move(rows, 1, #rows, #out + 1, out)
	end
	return out
end

-- Moments chosen one by one: mostly where a coroutine is switched.
local function some_moments(s, random, last, all)
	local at, switches = {}, {}
	for _, e in ipairs(s.log.events) do
		if e.what == "suspend" or e.what == "resume" or
		   e.what == "create" then
			switches[#switches + 1] = e
		end
	end
	for i = 1, 4 do
		local from = i > 1 and #switches > 0 and switches or
			s.log.events
		local tick = from[random(#from)].tick
		if random(2) == 1 then
			tick = tick + random(3) - 2
		end
		if tick >= s.first and not at[tick] then
			at[tick] = true
			at[#at + 1] = tick - s.first .. "ns"
			moment(s, tick, last, all)
		end
	end
	return #at > 0 and "--at " .. table.concat(at, ",")
end

-- Steps, none behind the last record. A range without time in it is refused.
local function steps(s, random, last, all)
	local events = s.log.events
	local from = events[random(#events)].tick
	local to = events[#events].tick
	local step = 1 + random(0, to - from) // 3
	if random(3) == 1 then
		to = math.min(to, from + random(0, 3 * step))
	elseif random(2) == 1 then
		to = math.min(to, from + random(1, 3) * step)
	end
	for tick = from, to, step do
		moment(s, tick, last, all)
	end
	return to > from and ("--every %dns --from %dns --to %dns"):format(
		step, from - s.first, to - s.first)
end

function stacks.checks(s, random)
	local checks, last = {}, process_ends(s)
	for _, choose in ipairs { some_moments, steps } do
		local all, is_fold = {}, random(2) == 1
		local when = choose(s, random, last, all)
		if when then
			table.insert(checks, {
				args = "stacks --csv " .. when ..
					(is_fold and " --group" or ""),
				rows = is_fold and folded(all) or single(all) })
		end
	end
	return checks
end

return stacks
