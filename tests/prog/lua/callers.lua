-- callers.lua - Lua functions on whose behalf C functions are called: several
-- that call one, one that is called by several, recursion, C in between, a
-- function that errors, tail calls, coroutines that yield in the middle.
local function leaf() work() end
local function one() for _ = 1, 3 do leaf() work() end end
local function two() leaf() again(leaf) again(work) end
local function deep(n)
	if n > 0 then deep(n - 1) work() end
end
local function fails()
	work()
	error("on purpose")
end
local function ended() return work() end
local function waits() nap() take(5000) end
local function body(n)
	for _ = 1, n do
		leaf()
		coroutine.yield()
		work()
	end
end
local function resumer(co)
	while coroutine.status(co) ~= "dead" do
		assert(coroutine.resume(co))
		work()
	end
end
local function sorted()
	local t = { 3, 1, 2 }
	table.sort(t, function(a, b) work() return a < b end)
end
-- Functions on other lines of one source, where one lay that was collected.
local function made(n)
	for i = 1, 5 do
		local f = assert((loadstring or load)(string.rep("\n",
			200 + (n + i) % 7) ..
			"return function() work() end", "@callers.lua"))()
		f()
		f = nil
		collectgarbage()
	end
end
-- Errors of C functions, which no return tells of. What comes next is Lua's.
local function recovers()
	for _ = 1, 2 do
		pcall(raise)
		work()
	end
end
-- Lua that C functions called, and in which an error ends both.
local function broken()
	for _ = 1, 2 do
		pcall(again, fails)
		work()
		leaf()
	end
end
-- What is resumed though it has ended: what Lua says takes memory.
local function ends()
	local co = coroutine.create(leaf)
	for _ = 1, 2 do coroutine.resume(co) end
end
for n = 1, 20 * times do
	made(n)
	recovers()
	broken()
	if jit then ends() end
	one()
	two()
	again(one)
	deep(n % 20)
	pcall(fails)
	ended()
	waits()
	sorted()
	local first, second = coroutine.create(body), coroutine.create(body)
	resumer(first and coroutine.create(function()
		coroutine.resume(first, 2)
		leaf()
		coroutine.resume(first)
	end))
	coroutine.resume(second, 3)
	resumer(second)
	local wrapped = coroutine.wrap(body)
	wrapped(1)
	wrapped()
end
