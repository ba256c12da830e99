-- stock.lua N - runs in any Lua, in any program: each function counts its calls
-- in `calls`; at the end it says "line N CALLS" for each, and what came out.
-- SPDX-License-Identifier: MIT
local rounds = arg and tonumber(arg[1]) or 5
local say = say or print
local calls, where = {}, {}

-- Here and in what follows: the first thing a function does is to count.
local function count(name)
	calls.count = (calls.count or 0) + 1
	calls[name] = (calls[name] or 0) + 1
end
local function known(name, fn)
	count "known"
	where[name] = debug.getinfo(fn, "S").linedefined
	return fn
end
known("count", count)
known("known", known)

local leaf = known("leaf", function(x) count "leaf" return x * 2 end)
local tail = known("tail", function(x) count "tail" return leaf(x) end)
local fib
fib = known("fib", function(n)
	count "fib"
	return n < 2 and n or fib(n - 1) + fib(n - 2)
end)
local all = known("all", function(...)
	count "all"
	local n = select("#", ...)
	return n, ...
end)
local fails = known("fails", function(deep)
	count "fails"
	if deep > 0 then
		fails_again(deep - 1)
	end
	error({ deep = deep })
end)
fails_again = fails

-- Called from C: by sort, by gsub, by metamethods, by an iterator.
local less = known("less", function(a, b) count "less" return a < b end)
local replace = known("replace", function(c)
	count "replace"
	return c:upper()
end)
local add = known("add", function(a, b) count "add" return a.n + b.n end)
local index = known("index", function(_, k) count "index" return k .. "!" end)
local each = known("each", function(n, i)
	count "each"
	if i < n then
		return i + 1
	end
end)

local body = known("body", function(n)
	count "body"
	for i = 1, n do
		leaf(coroutine.yield(i))
	end
	return "end"
end)
local dies = known("dies", function(n)
	count "dies"
	coroutine.yield(leaf(n))
	fails(2)
end)

local round = known("round", function(n)
	count "round"
	local out = { leaf(n), tail(n), fib(10), (all(nil, n, nil)) }
	out[#out + 1] = tostring(pcall(fails, 3))
	local list = {}
	for i = 1, 30 do
		list[i] = (i * 7919 + n) % 31
	end
	table.sort(list, less)
	out[#out + 1] = list[1] + list[30]
	out[#out + 1] = ("a stock program"):gsub("%a", replace)
	local object = setmetatable({ n = n }, { __add = add, __index = index })
	out[#out + 1] = object + object
	out[#out + 1] = object.key
	for i in each, 10, 0 do
		out[#out + 1] = i
	end
	local co = coroutine.create(body)
	while coroutine.status(co) ~= "dead" do
		out[#out + 1] = select(2, coroutine.resume(co, 3))
	end
	local next_of = coroutine.wrap(body)
	for _ = 1, 3 do
		out[#out + 1] = next_of(5)
	end
	local dying = coroutine.create(dies)
	out[#out + 1] = select(2, coroutine.resume(dying, n))
	out[#out + 1] = tostring(coroutine.resume(dying))
	out[#out + 1] = assert((loadstring or load)("return ...", "=text"))(n)
	return table.concat(out, " ")
end)

for i = 1, rounds do
	say(round(i))
end

-- A hook of its own sees what it would see, and is there when asked for.
local ticks = 0
local function tick() ticks = ticks + 1 end
debug.sethook(tick, "", 1000)
local same = debug.gethook() == tick
for _ = 1, 100 do
	leaf(1)
end
debug.sethook()
-- Compiled code calls no hooks.
say(same, debug.gethook() == nil, jit ~= nil or ticks)

local names = {}
for name in pairs(where) do
	names[#names + 1] = name
end
table.sort(names)
for _, name in ipairs(names) do
	if calls[name] then
		say(("line %d %d"):format(where[name], calls[name]))
	end
end
