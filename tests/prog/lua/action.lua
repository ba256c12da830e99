-- action.lua - an action for haproxy, loaded once for each thread. Its answer
-- tells what was called since its last one: "sum;line N CALLS;...".
-- SPDX-License-Identifier: MIT
local calls = {}

local function leaf(i)
	calls.leaf = (calls.leaf or 0) + 1
	return i * 2
end
local function work(n)
	local sum = 0
	calls.work = (calls.work or 0) + 1
	for i = 1, n do
		sum = sum + leaf(i)
	end
	return sum
end
-- Long enough for haproxy's own hook to make it yield, several times.
local function busy()
	local x = 0
	calls.busy = (calls.busy or 0) + 1
	for i = 1, 20000 do
		x = x + i % 7
	end
	return x
end
local function act(txn)
	calls.act = (calls.act or 0) + 1
	core.yield()
	local answer = { work(10) + busy() }
	core.msleep(1)
	for name, fn in pairs { leaf = leaf, work = work, busy = busy, act = act } do
		answer[#answer + 1] = ("line %d %d"):format(
			debug.getinfo(fn, "S").linedefined, calls[name] or 0)
		calls[name] = 0
	end
	txn:set_var("txn.answer", table.concat(answer, ";"))
end

core.register_action("work", { "http-req" }, act)
