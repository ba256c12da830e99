-- truth.lua - what truth.c is for native functions: "truth.lua ROUNDS true"
-- prints how long its functions take where nobody records them, "true SELF
-- CALLS NAME", SELF in ns; "truth.lua ROUNDS" makes the same calls. Every call
-- of Lua is recorded, so there are no twins: the two must be run in turn.
-- LuaJIT's compiler is off, as it is while calls are recorded.
-- SPDX-License-Identifier: MIT
if jit then jit.off() end
local clock, load = os.clock, loadstring or load
local rounds, is_true = tonumber(arg[1] or 10), arg[2] == "true"

-- Each pair is a source of its own, which tells its functions from others.
local function pair(name)
    return assert(load([[
local with_leaf, with_own = true, true
local function leaf(n)
    if with_leaf then
        local x = 1
        for i = 1, n do x = x * 3 % 7 end
        return x
    end
end
local function caller(calls, n)
    local sum = 0
    for k = 1, calls do
        if with_own then
            local x = 1
            for i = 1, n do x = x * 3 % 7 end
            sum = sum + x
        end
        leaf(n)
    end
    return sum
end
return caller, function(leaf, own) with_leaf, with_own = leaf, own end
]], "@" .. name .. ".lua"))()
end

for _, steps in ipairs { 1, 3, 10, 30, 100 } do
    local caller, set = pair("lua_" .. steps)
    local calls = math.ceil(100000 / (steps + 3))
    local function time(leaf, own)
        set(leaf, own)
        local start = clock()
        caller(calls, steps)
        return clock() - start
    end
    local own, leaf = 0, 0
    for _ = 1, rounds do
        if is_true then
            local both = time(true, true)
            local one, other = time(false, true), time(true, false)
            own = own + (both + one - other) / 2
            leaf = leaf + (both + other - one) / 2
        else
            caller(calls, steps)
        end
    end
    if is_true then
        print(("true %.0f %d lua_%d_caller"):format(own * 1e9, rounds, steps))
        print(("true %.0f %d lua_%d_leaf"):format(leaf * 1e9, rounds * calls,
            steps))
    end
end
