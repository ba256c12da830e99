-- story.lua - from events to what every view is made of, each fact by itself:
--   slices   while a thread ran and its stack did not change
--   calls    at their entry
--   ends     of calls that ended, and how long they took without their
--            coroutine's sleep
--   sleeps   of a coroutine, from suspension to resume, and its stack
-- A stack is a list of frames, outermost first: of which function, call and
-- coroutine it is, and whether it is the body of that.
-- SPDX-License-Identifier: MIT
local story = {}

local function copy(list)
	return table.move(list, 1, #list, 1, {})
end

-- The open calls of a coroutine: its body stays under what it tail-calls.
function story.open(co)
	local calls = copy(co.calls)
	if co.body then
		table.insert(calls, 1, co.body)
	end
	return calls
end

-- The frames of a thread, segment after segment.
local function stitched(thread)
	local stack = {}
	for _, segment in ipairs(thread.segments) do
		for k, call in ipairs(story.open(segment.own or segment)) do
			stack[#stack + 1] = { co = segment.co, call = call,
				is_body = segment.own and k == 1,
				of = segment.co, func = call.func }
		end
	end
	return stack
end

local does = {}

function does.begin(_, thread)
	thread.segments = { { co = 0, calls = {} } }
end

-- What has replaced a coroutine's body by a tail call has ended.
local function finish_body(s, thread, co, e, how)
	local call = co.body
	if not call then
		return
	end
	table.insert(s.ends, { func = call.func, thread = e.thread,
		co = call.co, from = call.from, to = e.tick,
		time = e.tick - call.from - call.slept,
		stack = stitched(thread) })
	call.to, call.ended = e.tick, how
	co.body = nil
end

function does.enter(s, thread, e, top)
	if top.own and #top.calls == 0 then
		if not top.own.is_tail then
			finish_body(s, thread, top.own, e, "unwind")
		end
		top.own.is_tail = false
	end
	local call = { func = e.a, from = e.tick, thread = e.thread,
		       co = top.co, slept = 0, level = top.level or 0 }
	table.insert(s.calls, call)
	table.insert(top.calls, call)
	thread.stack = stitched(thread)
	call.stack = thread.stack
end

-- The innermost calls end.
local function finish(s, thread, calls, e, n)
	for i = 1, n do
		local stack = i == 1 and thread.before or stitched(thread)
		local call = calls[#calls]
		table.insert(s.ends, { func = call.func, thread = e.thread,
			co = call.co, from = call.from, to = e.tick,
			time = e.tick - call.from - call.slept,
			stack = stack })
		call.to, call.ended = e.tick, e.what
		calls[#calls] = nil
	end
end

function does.leave(s, thread, e, top)
	finish(s, thread, top.calls, e, 1)
end

local TAIL = 4

function does.unwind(s, thread, e, top)
	if top.own and #top.calls == 1 and e.b == TAIL then
		top.own.is_tail = true
		if not top.own.body then
			top.own.body = table.remove(top.calls)
			return
		end
	end
	finish(s, thread, top.calls, e, e.a)
end

-- The coroutine on top of a thread.
local function running(thread)
	local co = 0
	for _, segment in ipairs(thread.segments or {}) do
		co = segment.own and segment.co or co
	end
	return co
end

function does.create(s, thread, e, top)
	s.coroutines[e.a] = { id = e.a, vm = e.b, creator = top.co,
		process = s.log.threads[e.thread].process, calls = {},
		spans = {}, sleeps = {}, resumes = 0, inferred = 0,
		state = "new", threads = {}, made = e.tick }
end

-- A native call in the middle of a stack that died at the yield, unseen.
function does.cut(s, thread, e)
	local calls = s.coroutines[e.a].calls
	calls[e.b + 1].ended = "unwind"
	calls[e.b + 1].to = s.coroutines[e.a].since
	table.remove(calls, e.b + 1)
end

function does.resume(s, thread, e)
	local co = s.coroutines[e.a]
	table.insert(thread.segments, { co = e.a, calls = co.calls, own = co })
	co.resumes = co.resumes + 1
	co.inferred = co.inferred + e.b
	co.state = "running"
	co.threads[e.thread] = true
	table.insert(co.spans, { from = e.tick, thread = e.thread })
	if not co.since then
		return
	end
	for _, call in ipairs(story.open(co)) do
		call.slept = call.slept + e.tick - co.since
	end
	local sleep = { co = e.a, from = co.since, to = e.tick,
			thread = e.thread, stack = stitched(thread) }
	table.insert(s.sleeps, sleep)
	table.insert(co.sleeps, sleep)
end

function does.suspend(s, thread, e)
	local co = s.coroutines[e.a]
	if e.b ~= "yield" then
		finish(s, thread, co.calls, e, #co.calls)
		finish_body(s, thread, co, e, e.b == "return" and "leave" or
			    "suspend")
	elseif #co.calls == 0 then
		finish_body(s, thread, co, e, "unwind")
	end
	table.remove(thread.segments)
	co.since = e.tick
	co.inferred = co.inferred + e.c
	co.spans[#co.spans].to = e.tick
	co.state = ({ yield = "suspended", ["return"] = "returned",
		      error = "error" })[e.b]
end

-- A signal handler's calls stand on what it interrupted, in no coroutine.
function does.handler(_, thread)
	table.insert(thread.segments, { co = 0, calls = {}, level = 1 })
end

function does.back(_, thread)
	table.remove(thread.segments)
end

function does.mark() end

-- Either recording was turned off, or it just ended.
does["end"] = function(_, thread, e)
	thread.is_off, thread.has_ended = e.a == 1, true
	for _, segment in ipairs(thread.segments) do
		for _, call in ipairs(story.open(segment.own or segment)) do
			call.ended = thread.is_off and "cut" or nil
		end
	end
end

function story.tell(log)
	local s = { log = log, slices = {}, calls = {}, ends = {},
		    sleeps = {}, coroutines = {}, threads = {},
		    first = log.events[1].tick }
	for _, e in ipairs(log.events) do
		local thread = s.threads[e.thread] or { since = e.tick }
		s.threads[e.thread] = thread
		-- As it was left by the thread's last event.
		thread.before = thread.stack or
			thread.segments and stitched(thread)
		thread.stack = nil
		if e.tick > thread.since then
			table.insert(s.slices, { thread = e.thread,
				co = running(thread),
				from = thread.since, to = e.tick,
				stack = thread.before })
		end
		thread.since = e.tick
		local top = thread.segments and
			thread.segments[#thread.segments]
		does[e.what](s, thread, e, top)
	end
	s.began = s.threads
	for _, thread in pairs(s.threads) do
		for _, segment in ipairs(thread.segments) do
			if segment.own then
				local spans = s.coroutines[segment.co].spans
				spans[#spans].to = thread.since
			end
		end
	end
	return s
end

return story
