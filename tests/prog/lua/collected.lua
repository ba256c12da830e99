-- collected.lua - makes garbage, and has it collected between: lines "share NAME
-- SECONDS", by os.clock, of both. SPDX-License-Identifier: MIT
local clock = os.clock
local live, made, collected = {}, 0, 0

for i = 1, 2e4 do
	live[i] = { i, tostring(i) }
end

local function make(n)
	local t
	for i = 1, n do
		t = { i, { i } }
	end
	return t
end

collectgarbage("stop")
repeat
	local before = clock()
	make(math.random(2000, 6000))
	local between = clock()
	collectgarbage()
	collectgarbage("stop")
	made = made + between - before
	collected = collected + clock() - between
until made + collected > 3
print("share make " .. made)
print("share [garbage " .. collected)
