-- sampled.lua - functions that use CPU time, and what os.clock says of them: a
-- line "share NAME PERCENT" for each. SPDX-License-Identifier: MIT
local clock = os.clock
local used, all = {}, 0
local scale = jit and 12 or 1

local function timed(name, f, ...)
	local before = clock()
	f(...)
	local took = clock() - before
	used[name] = (used[name] or 0) + took
	all = all + took
end

-- Ticks come at the rhythm of the kernel's clock. Work of one length would keep
-- in step with it for a while.
local function some(n)
	return math.floor(n * (0.5 + math.random()))
end

local function numbers(n)
	local s = 0
	for i = 1, n do
		s = s + i % 7 * 2
	end
	return s
end

local function texts(n)
	local t = {}
	for i = 1, n do
		t[i % 100 + 1] = ("x%d"):format(i)
	end
	return #t
end

local function fib(n)
	if n < 2 then return n end
	return fib(n - 1) + fib(n - 2)
end

local made = coroutine.wrap(function()
	while true do
		local s = 1
		for i = 1, some(60000 * scale) do
			s = s * 3 % 1000003
		end
		coroutine.yield(s)
	end
end)

local function inner()
	local s = 0
	for i = 1, some(100000 * scale) do
		s = s + i % 3
	end
end

local last = clock() + (tonumber(arg and arg[1] or seconds) or 3)
while clock() < last do
	timed("numbers", numbers, some(150000 * scale))
	timed("texts", texts, some(8000 * scale))
	timed("fib", fib, jit and 24 or 19)
	timed("made", made)
	if spin then
		timed("spin", spin, some(4000) / 1e6)
		timed("inner", call, inner)
	end
end
for name, took in pairs(used) do
	print(("share %s %.1f"):format(name, 100 * took / all))
end
