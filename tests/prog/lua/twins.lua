-- twins.lua - functions that begin and end on the same lines, each of which
-- counts its own calls under the name that it must have: twins.lua ROUNDS SEED.
-- SPDX-License-Identifier: MIT
local rounds, seed = tonumber((...)), tonumber((select(2, ...)))
local load = loadstring or load
local sets = {}

local function set(place, ...)
	local s = { place = place, ... }
	for i = 1, #s do s[s[i]] = 0 end
	sets[#sets + 1] = s
	return s
end
local function below()
	return "twins.lua:" .. debug.getinfo(2, "l").currentline + 1
end
local function random(n)
	seed = seed * 16807 % 2147483647
	return seed % n + 1
end

-- Side by side.
local a = set(below(), "f", "g", "h")
local function f() a.f = a.f + 1 end local function g() a.g = a.g + 1 end local function h() a.h = a.h + 1 end

-- With bodies that are the same, too.
local b, p, q, r = set(below(), "p", "q", "r")
do local k = "p" p = function() b[k] = b[k] + 1 end end do local k = "q" q = function() b[k] = b[k] + 1 end end do local k = "r" r = function() b[k] = b[k] + 1 end end

-- One in another, over two lines; beside one that ends elsewhere.
local c = set(below(), "o", "i", "j", "e")
local function o() c.o = c.o + 1 local function i() c.i = c.i + 1 local function j()
c.j = c.j + 1 end j() j() end i() i() i() local function e() c.other = (c.other or 0) + 1 end e() end
c[4], c.e = nil, nil

-- Methods, and one that runs in coroutines.
local d = set(below(), "t.m", "t.k", "t.co")
local t = { m = function() d["t.m"] = d["t.m"] + 1 end, k = function(self) d["t.k"] = d["t.k"] + 1 coroutine.yield() end } function t.co() d["t.co"] = d["t.co"] + 1 t:k() t.m() end

for i = 1, 40 do
	f() p() o() t.m()
	for _ = 1, random(3) do g() q() end
	for _ = 1, random(5) do h() r() end
	local co = coroutine.wrap(function() t.co() t:k() end)
	co() co()
	if i % 2 == 0 then co() end
end

-- Chunks that come and go: the same one again and again, and others of one
-- name that have fewer and more of them. What lies where changes.
local same, again = set("same:1", "f", "g", "h"), set("again:1", "f", "g", "h")
local function text(n)
	local made = { "local s = ..." }
	for i = 1, n do
		local name = same[i]
		made[#made + 1] = ("local function %s() s.%s = s.%s + 1 end")
			:format(name, name, name)
	end
	made[#made + 1] = "return " .. table.concat(same, ", ", 1, n)
	return table.concat(made, " ")
end
local texts, pool = { text(1), text(2), text(3) }, {}
for _ = 1, rounds do
	local s = random(2) == 1 and again or same
	local chunk = load(texts[s == again and 3 or random(3)],
		s == again and "=again" or "=same")
	local made = { chunk(s) }
	pool[random(8)] = made
	if random(16) == 1 then pool[random(8)] = nil end
	if random(100) == 1 then collectgarbage() end
	local old = pool[random(8)] or made
	local f, g, h = old[1], old[2], old[3]
	f()
	if g and random(2) == 1 then g() end
	if h then h() h() end
end

for _, s in ipairs(sets) do
	for i, name in ipairs(s) do
		print(("calls %d %s <%s%s>"):format(s[name], name, s.place,
			i > 1 and "#" .. i or ""))
	end
end
