-- names.lua - functions of every kind of name, called a known number of times.
-- SPDX-License-Identifier: MIT
function global_one() return 1 end
local function local_one() return 2 end
local t = {}
function t.field_one() return 3 end
function t:method_one() return 4 end
local mt = {
	__index = function() return 5 end,
	__add = function(a) return 6 end,
	__call = function() return 7 end,
}
local object = setmetatable({}, mt)
local again = local_one
local loaded = (loadstring or load)("local x = 8\nreturn function() return x end\n", "=text")
local inner = loaded()
local stripped_fn = (loadstring or load)(string.dump((loadstring or load)(
	"local n = 0\nfor i = 1, 3 do n = n + i end\nreturn n", "=gone"), true))
local M = {}
local function fib(i) if i < 2 then return i end return fib(i - 1) + fib(i - 2) end
function M.work(i) return fib(i) end
local shelf = { helper = function() return 1 end }
local function register(name, f) shelf[name] = f end
register("book", function() return 1 end)
local function make() return function() return 1 end end
local made = make()
thread = coroutine.wrap(function() while true do coroutine.yield(1) end end)
local quoted = (loadstring or load)("local function alpha() return 1 end\nreturn alpha")()
local gamma = (loadstring or load)("return function() return 1 end", "=called")()
local other = gamma
local n = pcall(gamma) and other() or 0
for i = 1, 4 do n = n + gamma() end
for i = 1, 3 do
	pcall(shelf.helper)
	pcall(made)
	n = n + M.work(3) + shelf.helper() + shelf.book() + made() + thread() + quoted()
end
for i = 1, 10 do
	n = n + global_one() + local_one() + t.field_one() + t:method_one()
end
for i = 1, 5 do n = n + again() + object.nothing + (object + 1) + object() end
for i = 1, 4 do n = n + inner() + (function() return 9 end)() + stripped_fn() end
n = n + #string.rep("x", 3) + math.floor(2.5)
if tostring(io.stdout):find("^file") then n = n + 1 end
for i = 1, 2 do
	if not pcall(require, "no.such.module") then n = n + 1 end
end
for w in ("ab"):gmatch("%a") do n = n + #w end
for i in ipairs({ 1, 1 }) do n = n + i end
local next_one = (loadstring or load)("return function(most, i) if i < most then return i + 1 end end", "=loop")()
for i in next_one, 3, 0 do n = n + i end
for line in io.lines(arg[0]) do n = n + #line break end
print(n)
