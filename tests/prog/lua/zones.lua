-- zones.lua - zones that end, that errors end, that sleep in coroutines, that
-- are closed, and nested ones; counts them, and what is called in them, and
-- takes their times. Prints "calls N NAME" and "times NS NAME".
-- SPDX-License-Identifier: MIT
local weft = require "weft"
local closes = _VERSION >= "Lua 5.4"
local n, times = {}, {}
local function leaf() n.leaf = n.leaf + 1 end
n.leaf = 0

local function count(name)
	n[name] = (n[name] or 0) + 1
end
local function zone(name, fn, ...)
	count(name)
	return weft.zone(name, fn, ...)
end

-- What fn returns is returned, whatever it is.
local function pass(...)
	leaf()
	return ...
end
assert(select("#", zone("pass", pass)) == 0)
local a, b, c = zone("pass", pass, 1, nil, 3)
assert(a == 1 and b == nil and c == 3)
local function refuses(what, ...)
	local good, why = pcall(weft.zone, ...)
	assert(not good and why:find(what, 1, true), why)
end
refuses("#1 to 'zone' (string expected, got number)", 1, pass)
refuses("#2 to 'zone' (function expected, got number)", "none", 1)
if not closes then
	refuses("#2 to 'zone' (function expected, got no value)", "none")
end

local function nested(depth)
	leaf()
	if depth > 0 then
		zone("nested", nested, depth - 1)
		zone("nested", leaf)
	end
end

local function fail(depth)
	leaf()
	if depth == 0 then
		error("on purpose", 0)
	end
	zone("failed", fail, depth - 1)
end

-- A zone that goes on after an error in it was caught.
local function catch()
	assert(select(2, pcall(fail, 3)) == "on purpose")
	leaf()
	zone("after", leaf)
	assert(not pcall(weft.zone, "failed", fail, 2))
	n.failed = n.failed + 1
	leaf()
end

local function sleep(times)
	for _ = 1, times do
		leaf()
		coroutine.yield()
	end
	leaf()
end
local function sleeper()
	zone("slept", sleep, 3)
	leaf()
	zone("slept", sleep, 2)
end

-- Two coroutines that sleep in zones in turn, woken from within a zone.
local function turns()
	local one, two = coroutine.create(sleeper), coroutine.create(sleeper)
	for _ = 1, 6 do
		assert(coroutine.resume(one))
		zone("between", leaf)
		assert(coroutine.resume(two))
	end
	assert(coroutine.status(one) == "dead")
end

-- One that nobody wakes again.
local function abandoned()
	local co = coroutine.wrap(sleeper)
	co()
end

local closed = closes and assert(load([[
	local weft, count, leaf = ...
	local function plain()
		local z <close> = weft.zone("closed")
		count("closed")
		leaf()
		do
			local y <close> = weft.zone("closed")
			count("closed")
			leaf()
		end
		leaf()
	end
	local function failing()
		local z <close> = weft.zone("closed")
		count("closed")
		leaf()
		error("on purpose")
	end
	local function sleeping()
		local z <close> = weft.zone("closed")
		count("closed")
		leaf()
		coroutine.yield()
		leaf()
	end
	return function()
		plain()
		pcall(failing)
		leaf()
		local co = coroutine.create(sleeping)
		coroutine.resume(co)
		coroutine.close(co)
		co = coroutine.wrap(sleeping)
		co()
		leaf()
		co()
		leaf()
	end
]]))(weft, count, leaf) or function() end

-- Nobody closes it: it ends with its function.
local function forgotten()
	local z = closes and weft.zone("forgotten")
	n.forgotten = (n.forgotten or 0) + (closes and 1 or 0)
	leaf()
end

local hooked = weft.hook(function(...)
	leaf()
	return ...
end, "hooked")

for _ = 1, 200 do
	zone("outer", nested, 2)
	zone("outer", catch)
	turns()
	abandoned()
	closed()
	forgotten()
	count("hooked")
	assert(hooked(7) == 7)
end

-- By the processor's time, as nothing here waits.
local function spin(s)
	local from = os.clock()
	while os.clock() < from + s do end
end
local function whole()
	spin(0.02)
	local from = os.clock()
	zone("part", spin, 0.03)
	times.part = (times.part or 0) + os.clock() - from
end
for _ = 1, 5 do
	local from = os.clock()
	zone("whole", whole)
	times.whole = (times.whole or 0) + os.clock() - from
end
for name, times in pairs(n) do
	if name ~= "leaf" and times > 0 then
		print(("calls %d %s"):format(times, name))
	end
end
print("leaf " .. n.leaf)
for name, s in pairs(times) do
	print(("times %.0f %s"):format(s * 1e9, name))
end
