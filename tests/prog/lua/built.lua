-- built.lua - calls of all kinds; returns how often each function here ran:
-- "name line count" in lines.
-- SPDX-License-Identifier: MIT
local ran, order = {}, {}
local function count(name, line)
	if not ran[name] then
		ran[name] = 0
		order[#order + 1] = { name, line }
	end
	ran[name] = ran[name] + 1
end
local function leaf(x)
	count("leaf", 12)
	return x
end
local function tail(x)
	count("tail", 16)
	return leaf(x)
end
local function deep(n)
	count("deep", 20)
	if n > 0 then
		local r = deep(n - 1)
		return r
	end
	local r = tail(n)
	return r
end
local function fails(x)
	count("fails", 29)
	leaf(x)
	error("x")
end
local function body(n)
	count("body", 34)
	for i = 1, n do
		deep(i)
		coroutine.yield(leaf(i))
	end
	if n % 3 == 0 then
		fails(n)
	end
end
local function less(a, b)
	count("less", 44)
	return leaf(a) < b
end
local mt = { __index = function(_, k)
	count("index", 48)
	return tail(k)
end }
local function called()
	count("called", 52)
	local y = leaf(1)
	return y
end
local function waits(x)
	count("waits", 57)
	coroutine.yield(leaf(x))
	if x % 40 == 0 then
		fails(x)
	end
end
-- Yields across C functions and metamethods, where this Lua can.
local function across(x)
	count("across", 65)
	pcall(waits, x)
	local t = setmetatable({}, { __index = function()
		count("later", 68)
		coroutine.yield(leaf(x))
	end })
	local _ = t.x
end
for i = 1, 200 do
	deep(i % 30)
	pcall(fails, i)
	back(called)
	local t = setmetatable({}, mt)
	local _ = t.x
	table.sort({ 3, 1, 2, i % 5 }, less)
	string.gsub("abc", ".", leaf)
	if i % 10 == 0 then
		local co = coroutine.create(body)
		while coroutine.resume(co, i % 7) do
			leaf(i)
		end
		co = coroutine.create(across)
		while coroutine.resume(co, i) do
			leaf(i)
		end
	end
	if i % 50 == 0 then
		xpcall(error, error)
		collectgarbage()
	end
end
local said = {}
for i, o in ipairs(order) do
	said[i] = o[1] .. " " .. o[2] .. " " .. ran[o[1]]
end
return table.concat(said, "\n")
