-- bodies.lua - coroutines whose bodies make tail calls, in any Lua; many are
-- open at a time, so that their stacks go on in later chunks. Says of each body
-- with how many coroutines it was made and how many calls were made in them
-- ("body LINE COROUTINES CALLS"). SPDX-License-Identifier: MIT
local create, resume, yield = coroutine.create, coroutine.resume,
	coroutine.yield
local made, calls, now = {}, {}, nil

-- A function's first act: two calls.
local function here() calls[now] = calls[now] + 2 end
local function sleep(n)
	here()
	calls[now] = calls[now] + 1
	yield(n)
end
local function work(n)
	here()
	for i = 1, n do sleep(i) end
	sleep(0)
end
local function inner(n) here() return work(n) end
local function fail() here() sleep(1) calls[now] = calls[now] + 1 error("x") end

-- Runs a coroutine until its next yield; returns whether it goes on.
local function go(co, n)
	local before = now
	now = made[co]
	local is_good, more = resume(co, n)
	now = before
	return is_good and more
end
local function make(body)
	local co = create(body)
	made[co] = body
	made[body] = (made[body] or 0) + 1
	calls[body] = calls[body] or 0
	return co
end

local function returns(n) here() local r = work(n) return r end
local function one(n) here() return work(n) end
local function vararg(...) here() return work(...) end
local function chain(n) here() return inner(n) end
local function again(n)
	here()
	sleep(n)
	if n == 0 then return work(0) end
	return again(n - 1)
end
local function to_c(n) here() calls[now] = calls[now] + 1 return yield(n) end
local function fails() here() return fail() end
-- Each makes a coroutine in a coroutine: go, make and what they call, here.
local function nests(n)
	here()
	calls[now] = calls[now] + 2
	local co = make(vararg)
	repeat calls[now] = calls[now] + 2 until not go(co, n)
	return work(1)
end
local function forgotten() here() return work(1000) end

local bodies = { returns, one, vararg, chain, again, to_c, fails, nests,
	forgotten }
local live = {}
for i = 1, 20 * #bodies do
	live[i] = make(bodies[i % #bodies + 1])
end
for _ = 1, 30 do
	for i = #live, 1, -1 do
		if not go(live[i], i % 20) then table.remove(live, i) end
	end
end

for body, n in pairs(calls) do
	print("body", debug.getinfo(body, "S").linedefined, made[body], n)
end
return "done"
