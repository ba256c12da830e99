-- coroutines.lua - coroutines of every fate, in any Lua. Says what became of
-- them ("state N STATE"), how often each library function ("library N NAME";
-- those that coroutine.wrap gives: "wrapped") and each function of its own
-- ("line N CALLS") was called, and which function must stand on which ("under
-- LINE LINE"; LINE may be a library function). SPDX-License-Identifier: MIT
local states, library, lines = {}, {}, {}

-- A function's first act.
local function here(name)
	lines.here = (lines.here or 0) + 1
	lines[name] = (lines[name] or 0) + 1
end

-- What the library is called for; the calls are made where they stand.
local function say(name)
	here "say"
	library[name] = (library[name] or 0) + 1
end

local function became(state, n)
	here "became"
	states[state] = (states[state] or 0) + n
end

local create, wrap = coroutine.create, coroutine.wrap
local resume, yield, close = coroutine.resume, coroutine.yield, coroutine.close

local function leaf() here "leaf" end
local function sleeper()
	here "sleeper"
	leaf()
	say "coroutine.yield"
	yield(1)
	leaf()
end
local function thrower()
	here "thrower"
	leaf()
	say "error"
	error("thrown", 0)
end
local function late_thrower()
	here "late_thrower"
	say "coroutine.yield"
	yield(1)
	say "error"
	error({})
end
local function tail(x) here "tail" leaf() return x end
local function tail_caller(x) here "tail_caller" return tail(x) end
local function after() here "after" leaf() end
local function handler(e) here "handler" return e end
local function closer() here "closer" leaf() end
local function late_closer() here "late_closer" leaf() end

-- Two of them for each that is collected before the next ones are made, so that
-- they lie where others lay.
local function abandoned()
	here "abandoned"
	for i = 1, 100 do
		say "coroutine.create"
		local co = create(sleeper)
		say "coroutine.resume"
		resume(co)
		say "coroutine.wrap"
		local wrapped = wrap(sleeper)
		say "wrapped"
		wrapped()
		co, wrapped = nil, nil
		if i % 10 == 0 then
			say "collectgarbage"
			collectgarbage()
		end
	end
	became("suspended", 200)
end

local function never_run()
	here "never_run"
	for _ = 1, 30 do
		say "coroutine.create"
		create(leaf)
		say "coroutine.wrap"
		wrap(leaf)
		say "collectgarbage"
		collectgarbage()
	end
	became("new", 60)
end

local function finished()
	here "finished"
	for i = 1, 20 do
		say "coroutine.create"
		local co = create(i % 2 == 0 and tail_caller or sleeper)
		say "coroutine.resume"
		resume(co, i)
		if i % 2 == 1 then
			say "coroutine.resume"
			resume(co)
		end
		say "coroutine.wrap"
		local wrapped = wrap(tail_caller)
		say "wrapped"
		wrapped(i)
		after()
	end
	became("returned", 40)
end

-- An error that a wrapped function passes on, from one coroutine or through two.
local function passes()
	here "passes"
	say "coroutine.wrap"
	local inner = wrap(late_thrower)
	say "wrapped"
	inner()
	after()
	say "wrapped"
	inner()
end
local function catches()
	here "catches"
	say "coroutine.wrap"
	local inner = wrap(thrower)
	say "pcall"
	pcall(inner)
	say "wrapped"
	after()
	say "coroutine.yield"
	yield()
	after()
end
local function errors()
	here "errors"
	for _ = 1, 5 do
		for i = 1, 2 do
			local body = i == 1 and thrower or passes
			say "coroutine.wrap"
			local wrapped = wrap(body)
			say "pcall"
			say "wrapped"
			pcall(wrapped)
			after()
			say "coroutine.wrap"
			wrapped = wrap(body)
			say "xpcall"
			say "wrapped"
			xpcall(wrapped, handler)
			after()
			say "coroutine.create"
			local co = create(body)
			say "coroutine.resume"
			resume(co)
			after()
		end
		say "coroutine.wrap"
		local wrapped = wrap(catches)
		say "wrapped"
		wrapped()
		after()
		say "wrapped"
		wrapped()
		after()
	end
	became("error", 5 * (3 + 2 * 3 + 1))
	became("returned", 5)
end

-- By coroutine.close: asleep, with what is to be closed, new, ended, failed.
local holder, late_holder
local function closed()
	here "closed"
	for _ = 1, 10 do
		local all = {}
		local bodies = { sleeper, holder, leaf, leaf, thrower }
		for i = 1, #bodies do
			say "coroutine.create"
			all[i] = create(bodies[i])
			if i ~= 3 then
				say "coroutine.resume"
				resume(all[i])
			end
		end
		for i = 1, #all do
			say "coroutine.close"
			close(all[i])
			after()
		end
		-- The wrapped function closes it itself.
		say "coroutine.wrap"
		local wrapped = wrap(late_holder)
		say "wrapped"
		wrapped()
		say "pcall"
		say "wrapped"
		pcall(wrapped, "fails")
		after()
	end
	became("closed", 30)
	became("returned", 10)
	became("error", 20)
end

abandoned()
never_run()
finished()
errors()
local named = { sleeper = sleeper, thrower = thrower, tail = tail, leaf = leaf,
	late_thrower = late_thrower, tail_caller = tail_caller, after = after,
	handler = handler, closer = closer, late_closer = late_closer,
	abandoned = abandoned,
	never_run = never_run, finished = finished, passes = passes,
	catches = catches, errors = errors, closed = closed, say = say,
	here = here, became = became }
if close then
	say "load"
	local make = load([[
		local say, yield, error, held = ...
		return function()
			local held <close> = held
			say "coroutine.yield"
			if yield() then say "error" error("failed") end
		end]], "=text")
	say "setmetatable"
	holder = make(say, yield, error, setmetatable({}, { __close = closer }))
	say "setmetatable"
	late_holder = make(say, yield, error,
		setmetatable({}, { __close = late_closer }))
	closed()
end

for state, n in pairs(states) do print("state", n, state) end
for name, n in pairs(library) do print("library", n, name) end
for name, n in pairs(lines) do
	print("line", debug.getinfo(named[name], "S").linedefined, n)
end
print("under", debug.getinfo(handler, "S").linedefined, "wrapped")
if close then
	print("under", debug.getinfo(closer, "S").linedefined, "coroutine.close")
	print("under", debug.getinfo(late_closer, "S").linedefined, "wrapped")
end
return "done"
