-- tails.lua - coroutines whose bodies a tail call replaces; their records differ
-- in number, so that chunks begin at each point of them.
local function work(n)
	local sum = 0
	for i = 1, n do
		sum = sum + math.abs(i)
	end
	return sum
end

local function last(n)
	return work(n)
end

for i = 1, 10000 do
	coroutine.wrap(function()
		work(i % 3)
		return last(i % 2)
	end)()
end
