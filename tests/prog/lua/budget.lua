-- budget.lua - work that calls a lot, and few that does not. Each notes the CPU
-- time of its parts. SPDX-License-Identifier: MIT
local light_took, heavy_took, calls, kept = 0, 0, 0, {}

local function small(x) return x + 1 end
local function light(n)
	local s = 0
	for _ = 1, n do s = small(s) end
	return s
end
local function heavy(n)
	local s = 0
	for i = 1, n do s = small(s) + small(i) + i * 3 end
	return s
end
local function spun() spin() end

function work()
	local begin = cpu()
	light(6000)
	local middle = cpu()
	heavy(6000)
	local ends = cpu()
	light_took = light_took + middle - begin
	heavy_took = heavy_took + ends - middle
	call(spun)
end

local function each() work() coroutine.yield() work() end
function request() each() end

local function rest(n)
	local s = 0
	for i = 1, n do s = s + i % 7 end
	return s
end
function few() calls = calls + 1 rest(100000) spin() end

-- A main loop in C, which Lua calls; then one of Lua's own.
local function after(seconds)
	local ends = cpu() + seconds
	while cpu() < ends do light(1000) end
end
function looped()
	loop(work, 0.7)
	light_took, heavy_took = 0, 0
	after(1.5)
	kept[1] = spun
end

function told()
	print("share light " .. light_took)
	print("share heavy " .. heavy_took)
	print("few " .. calls)
end
