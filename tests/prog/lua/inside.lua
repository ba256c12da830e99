-- inside.lua - functions hooked in a program that is not recorded otherwise.
-- SPDX-License-Identifier: MIT
local weft = require "weft"

local function f(x) return x + 1 end
local function g(x) local y = f(x) return y end
local function body(n) for i = 1, n do g(i) coroutine.yield(i) end return "end" end

for i = 1, 10 do g(i) end
local hooked = weft.hook(g)
for i = 1, 7 do hooked(i) g(i) f(i) end
-- A hooked call that sleeps: what runs meanwhile is not in it.
local sleeps = weft.hook(body)
local co = coroutine.wrap(function() return sleeps(3) end)
for i = 1, 4 do co() g(i) end
-- Two of them, in turns.
local one, two = coroutine.wrap(sleeps), coroutine.wrap(sleeps)
for i = 1, 2 do one(2) g(i) two(2) f(i) end
-- An error ends the call; before Lua 5.4, at the next hooked call.
local fails = weft.hook(function(x) f(x) error("fails", 0) end)
print(pcall(fails, 1))
hooked(1)
print(pcall(fails, 1))
hooked(1)
g(1)
print(weft.status().recorded)
