-- module.lua - what require "weft" offers, used; says nothing that depends on
-- whether it is being recorded, but the last lines, which begin with a star.
-- SPDX-License-Identifier: MIT
local weft = require "weft"
local unpack = unpack or table.unpack

local function f(x) return x + 1 end
local function g(x) local y = f(x) return y end
local function h(x) return x + 3 end

-- Titles that overlap.
for _ = 1, 10 do f(1) end
local first = weft.start("a")
for _ = 1, 20 do f(1) end
local again = weft.start("a")
weft.start("b")
for _ = 1, 30 do g(1) end
weft.stop("a")
for _ = 1, 40 do h(1) end
local stopped = weft.stop("b")
local unknown = weft.stop("c")
local many
for i = 1, 9 do many = weft.start("title " .. i) end
for i = 1, 9 do weft.stop("title " .. i) end

-- Errors are worded as Lua's own.
for _, try in ipairs {
	function() weft.mark() end, function() weft.mark(nil) end,
	function() weft.label("x") end, function() weft.native(1) end,
	function() weft.hook() end, function() weft.hook(f, 1) end,
	function() weft.hook(f, "f", 1) end, function() weft.start({}) end,
} do
	local ok, message = pcall(try)
	print(ok, (tostring(message):gsub("^.*bad arg", "bad arg")
		:gsub("'%?'", "'...'"):gsub("'weft%.", "'")))
end

-- A hooked function is the function: arguments, nils, results, errors, yields.
local told = {}
local function pass(...) g(1) return ... end
local hooked = weft.hook(pass, "pass", function(call) told[#told + 1] = call end)
print(select("#", hooked()), select("#", hooked(nil, nil)), hooked(1, nil, 3))
local outer = weft.hook(function(...) hooked() hooked() return hooked(...) end,
	"outer", function(call) told[#told + 1] = call end)
print(outer(5, 6))
local last = told[#told]
print(last.name, last.count, last.children.pass.count,
	last.self >= 0 and last.total >= last.self, #told)
local wrong = weft.hook(function(x) error(x, 0) end)
print(pcall(wrong, "text"))
local value = {}
print(select(2, pcall(wrong, value)) == value)
if _VERSION ~= "Lua 5.1" or jit then
	print(xpcall(hooked, print, 1, 2))
end
local co = coroutine.create(weft.hook(function(...)
	local x = coroutine.yield(...)
	g(1)
	return x, coroutine.yield(nil, x)
end))
print(coroutine.resume(co, 1, nil))
print(coroutine.resume(co, 2))
print(coroutine.resume(co, 3))
print(coroutine.resume(co))

-- The program's own hook, and nobody else's.
print(debug.gethook() == nil)
local lines = 0
local function count() lines = lines + 1 end
debug.sethook(count, "l")
local x = 1
x = x + 1
local found, mask = debug.gethook()
debug.sethook()
print(lines, found == count, mask, debug.gethook() == nil)
local one = coroutine.create(function() return debug.gethook() end)
print(coroutine.resume(one))

weft.mark("a mark")
weft.label("service", "test")
print(weft.pause() == weft.status().recorded, weft.status().on)
for _ = 1, 1000 do h(1) end
weft.resume()
for _ = 1, 50 do h(1) end
local number
coroutine.wrap(function() number = weft.coroutine() end)()
print(weft.coroutine())
print("*", first, again, stopped, unknown, many)
print("*", weft.status().recorded, weft.status().on, number)
