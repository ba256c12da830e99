-- start_on.lua: before is called until go is, in a coroutine, and after
-- afterwards. tests/e2e/start-on.sh knows how often.
-- SPDX-License-Identifier: MIT
local function before() end
local function step() end
local work = {}
function work.go()
	for _ = 1, 10 do step() end
end
local function after() end
local function outer()
	before()
	work.go()
	after()
end
for _ = 1, 1000 do before() end
local co = coroutine.wrap(function()
	before()
	coroutine.yield()
	outer()
	coroutine.yield()
	after()
end)
for _ = 1, 3 do co() end
work.go()
for _ = 1, 500 do after() end
