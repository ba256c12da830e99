-- part.lua - a part of a story, as --under, --focus, --skip, --thread,
-- --coroutine, --from and --to, marks and recordings choose it: each fact of it
-- by itself.
-- SPDX-License-Identifier: MIT
local part = {}

local function base(text)
	return (text:gsub(" <.*", ""))
end

local function of_path(text)
	return text:match("[^/]*$")
end

-- A pattern for some function that was called, and what it means.
local function some_pattern(s, random)
	local who = s.log.funcs[s.calls[random(#s.calls)].func]
	local kind = random(7)
	if kind == 1 then
		return "language=" .. who[2], function(f)
			return f[2] == who[2]
		end
	elseif kind == 2 and who[3] ~= "" then
		return "module=" .. of_path(who[3]), function(f)
			return f[3] == who[3]
		end
	elseif kind == 3 and who[4] ~= "" then
		return "file=*" .. of_path(who[4]), function(f)
			return f[4] == who[4]
		end
	elseif kind == 4 then
		return who[1]:sub(1, 3) .. "*", function(f)
			return f[1]:sub(1, 3) == who[1]:sub(1, 3)
		end
	end
	return base(who[1]), function(f)
		return base(f[1]) == base(who[1])
	end
end

local function pattern(s, random)
	local text, is_it = some_pattern(s, random)
	if random(3) > 1 then
		return text, is_it
	end
	local more, is_also = some_pattern(s, random)
	return text .. "|" .. more, function(f)
		return is_it(f) or is_also(f)
	end
end

-- Choices, each a function that adds to a command's options and to what is
-- wanted.
local choose = {}
for _, option in ipairs { "under", "focus", "skip" } do
	choose[#choose + 1] = function(s, random, want)
		local text, is_it = pattern(s, random)
		-- What several --skip name is left out.
		local also = option == "skip" and want.skip
		want[option] = function(frame)
			return is_it(s.log.funcs[frame.func]) or
				also and also(frame)
		end
		return (" --%s '%s'"):format(option, text)
	end
end

choose[#choose + 1] = function(s, random, want)
	local t
	repeat
		t = s.log.threads[random(#s.log.threads)]
	until s.began[t.serial]
	if random(2) == 1 then
		want.thread = function(serial) return serial == t.serial end
		return " --thread " .. t.tid
	end
	want.thread = function(serial)
		return s.log.threads[serial].name == t.name
	end
	return " --thread " .. t.name
end

choose[#choose + 1] = function(s, random, want)
	local some = s.calls[random(#s.calls)]
	if some.co == 0 then
		return ""
	end
	want.coroutine = some.co
	if random(2) == 1 then
		return " --coroutine " .. some.co
	end
	local t = s.log.threads[some.thread]
	return (" --coroutine %s:%d"):format(s.log.processes[t.process].pid,
					     some.co)
end

choose[#choose + 1] = function(s, random, want)
	local a, b = s.calls[random(#s.calls)].from + random(3) - 2,
		     s.calls[random(#s.calls)].from + random(3) - 2
	local from, to = math.max(math.min(a, b), s.first),
			 math.max(a, b) + 1
	to = math.max(to, from + 1)
	want.range.time = { from, to }
	return (" --from %dns --to %dns"):format(from - s.first, to - s.first)
end

-- Ticks of the marks of a name, as they were left.
local function marks(s, name)
	local ticks = {}
	for _, e in ipairs(s.log.events) do
		if e.what == "mark" and e.a == name then
			ticks[#ticks + 1] = e.tick
		end
	end
	return ticks
end

for _, option in ipairs { "since", "until" } do
	choose[#choose + 1] = function(s, random, want)
		local name = ({ "begin-request", "end-request" })[random(2)]
		local ticks = marks(s, name)
		local last = ticks[#ticks]
		if not last then
			return ""
		end
		want.range[option] = option == "since" and
			{ last, math.huge } or { 0, last }
		return (" --%s-mark %s"):format(option, name)
	end
end

-- From a start, the last unless told which, to the stop that follows it.
choose[#choose + 1] = function(s, random, want)
	local starts, stops = marks(s, "weft.start"), marks(s, "weft.stop")
	if #starts == 0 then
		return ""
	end
	local nth = random(2) == 1 and random(#starts)
	local from, to = starts[nth or #starts], math.huge
	for i = #stops, 1, -1 do
		to = stops[i] > from and stops[i] or to
	end
	want.range.recording = { from, to }
	return " --recording lunch" .. (nth and "#" .. nth or "")
end

-- The frames that are left of a stack, or nil if it is not wanted.
local function stack_of(want, stack)
	local first = 1
	if want.coroutine then
		first = nil
		for i = #stack, 1, -1 do
			first = stack[i].co == want.coroutine and i or first
		end
	end
	local under, is_focus = nil, not want.focus
	for i, frame in ipairs(stack) do
		if want.under and not under and want.under(frame) then
			under = i
		end
		is_focus = is_focus or want.focus(frame)
	end
	if not first or want.under and not under or not is_focus then
		return nil
	end
	local out, was_body = {}, false
	for i = math.max(first, under or 1), #stack do
		local frame = stack[i]
		local is_body = frame.is_body or was_body
		local of = not frame.is_body and was_body or frame.of
		was_body = false
		if want.skip and want.skip(frame) then
			was_body = is_body and of
		else
			out[#out + 1] = { func = frame.func, co = frame.co,
					  of = of, call = frame.call,
					  is_body = is_body }
		end
	end
	return out
end

local function is_in(want, tick)
	return not want.from or tick >= want.from and tick < want.to
end

local function copy(fact, with)
	for k, v in pairs(fact) do
		with[k] = with[k] or v
	end
	return with
end

-- Points happen at a tick and need their frame; spans are cut.
local function points(list, want, key)
	local out = {}
	for _, p in ipairs(list) do
		local stack = stack_of(want, p.stack)
		if stack and is_in(want, p[key]) and
		   (not want.thread or want.thread(p.thread)) and
		   not (want.skip and want.skip(p)) then
			out[#out + 1] = copy(p, { stack = stack })
		end
	end
	return out
end

local function spans(list, want)
	local out = {}
	for _, span in ipairs(list) do
		local stack = stack_of(want, span.stack)
		local from = math.max(span.from, want.from or span.from)
		local to = math.min(span.to, want.to or span.to)
		if stack and from < to and
		   (not want.thread or want.thread(span.thread)) then
			out[#out + 1] = copy(span, { stack = stack,
				from = from, to = to })
		end
	end
	return out
end

-- Frames of coroutines whose own frames are all gone slept nowhere.
function part.of(s, want)
	local roots = {}
	for serial in pairs(s.threads) do
		if not (want.under or want.focus or want.coroutine) and
		   (not want.thread or want.thread(serial)) then
			roots[serial] = true
		end
	end
	local sleeps = {}
	for _, sleep in ipairs(s.sleeps) do
		local last = sleep.stack[#sleep.stack]
		if last and last.co == sleep.co then
			sleeps[#sleeps + 1] = sleep
		end
	end
	return { log = s.log, threads = roots, coroutines = s.coroutines,
		 calls = points(s.calls, want, "from"),
		 ends = points(s.ends, want, "to"),
		 slices = spans(s.slices, want),
		 sleeps = spans(sleeps, want), first = s.first,
		 began = s.began }
end

-- One or two conditions, met together: the options and the part.
function part.some(s, random)
	local want, options = { range = {} }, ""
	for _ = 1, random(2) do
		local i = random(#choose)
		options = options .. choose[i](s, random, want)
	end
	for _, range in pairs(want.range) do
		want.from = math.max(want.from or 0, range[1])
		want.to = math.min(want.to or math.huge, range[2])
	end
	if want.from and want.from >= want.to then
		return part.some(s, random) -- nothing lies in that time
	end
	return options, part.of(s, want)
end

local views = { "report", "tree", "bottom_up", "callers", "collapsed" }

-- Two views, each of a part of its own.
function part.checks(s, random)
	local checks = {}
	for i = 1, 2 do
		local options, some = part.some(s, random)
		local all = require(views[random(#views)]).checks(some, random)
		local check
		repeat
			check = all[random(#all)]
		until not check.is_of_all
		check.args = check.args .. options
		check.may_fail = "no recorded call matches the filters"
		checks[i] = check
	end
	return checks
end

return part
