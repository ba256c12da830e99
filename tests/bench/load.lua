-- load.lua N - a program such as people write: words, tables, closures, strings,
-- objects and a sort, N times.
-- SPDX-License-Identifier: MIT
local n = tonumber(arg and arg[1]) or 1
local seed = 42
local function random(limit)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % limit + 1
end

local queue = {}
queue.__index = queue
function queue.new() return setmetatable({ first = 1, last = 0 }, queue) end
function queue:push(x)
    self.last = self.last + 1
    self[self.last] = x
end
function queue:pop()
    local x = self[self.first]
    self[self.first] = nil
    self.first = self.first + 1
    return x
end

local function words(count)
    local t = {}
    for i = 1, count do
        t[i] = string.char(96 + random(26), 96 + random(26), 96 + random(26))
    end
    return table.concat(t, " ")
end
local function count(text)
    local found = {}
    for word in text:gmatch("%a+") do found[word] = (found[word] or 0) + 1 end
    return found
end
local function sorted(found)
    local list = {}
    for word, times in pairs(found) do
        list[#list + 1] = { word = word, times = times }
    end
    table.sort(list, function(a, b)
        if a.times ~= b.times then return a.times > b.times end
        return a.word < b.word
    end)
    return list
end
local function fib(x) return x < 2 and x or fib(x - 1) + fib(x - 2) end
local function numbers(limit)
    return coroutine.wrap(function()
        for i = 1, limit do coroutine.yield(i) end
    end)
end

local sum = 0
for _ = 1, n do
    local q = queue.new()
    for _, entry in ipairs(sorted(count(words(5000)))) do q:push(entry) end
    for _ = q.first, q.last do sum = sum + q:pop().times end
    for i in numbers(5000) do sum = sum + i end
    sum = sum + fib(20)
end
print(sum)
print("TOTAL " .. os.clock())
