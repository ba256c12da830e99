-- stock_spec.lua - for busted: what stock.lua does, and what busted brings.
-- Says "spec N CALLS".
-- SPDX-License-Identifier: MIT
local calls, where = {}, {}
local function count(name, fn)
	where[name] = debug.getinfo(fn, "S").linedefined
	calls[name] = 0
	return fn
end
local before = count("before", function() calls.before = calls.before + 1 end)
local double = count("double", function(x)
	calls.double = calls.double + 1
	return x * 2
end)
local fails = count("fails", function()
	calls.fails = calls.fails + 1
	error("it fails")
end)

describe("a stock program", function()
	before_each(before)
	it("does what stock.lua does", function()
		dofile("tests/prog/lua/stock.lua")
	end)
	for i = 1, 20 do
		it("doubles " .. i, function()
			assert.are.equal(2 * i, double(i))
		end)
	end
	it("fails when asked to", function()
		assert.has_error(fails, "it fails")
	end)
	it("is spied on", function()
		local s = spy.new(double)
		s(1)
		s(2)
		assert.spy(s).was.called(2)
	end)
	pending("is pending")
	teardown(function()
		for name, line in pairs(where) do
			print(("spec %d %d"):format(line, calls[name]))
		end
	end)
end)
