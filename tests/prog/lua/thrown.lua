-- thrown.lua - errors where they are hard to follow, in any Lua: in a coroutine
-- in which recording was turned on, and in a handler that resumes another one.
-- Says which function, by its line, must stand on which (or on which on which),
-- and how often it is called: "under LINE ON CALLS", "under LINE ON<ON CALLS".
-- SPDX-License-Identifier: MIT
local weft = require "weft"
local lines = {}

-- Where its caller is written, and who has called that.
local function here(on)
	local line = debug.getinfo(2, "S").linedefined
	lines[line .. " " .. on] = (lines[line .. " " .. on] or 0) + 1
	return line
end

local function after(on) here(on) end
local function loop(on)
	here(on)
	for _ = 1, 100 do after(loop_line) end
end
loop_line = debug.getinfo(loop, "S").linedefined

-- How the coroutine that died is left, what catches the error.
local function wrapped(f) pcall(coroutine.wrap(f)) end
local function resumed(f) coroutine.resume(coroutine.create(f)) end
local function nested(f)
	local function middle()
		pcall(coroutine.wrap(f))
		loop(debug.getinfo(1, "S").linedefined)
	end
	pcall(coroutine.wrap(middle))
end

for _, leave in ipairs { wrapped, resumed, nested } do
	weft.pause()
	leave(function()
		weft.resume()
		error("thrown")
	end)
	loop(0)
	loop(0)
end

-- A handler that resumes: what it resumes, and who it was called by, go on.
local handler_line
local function inner() here(handler_line) end
local function late(on) here(on) end
local function again(on) here(on) end
local function handler(e)
	local line = debug.getinfo(1, "S").linedefined
	local co = coroutine.create(inner)
	coroutine.resume(co)
	again(line)
	coroutine.resume(coroutine.create(inner))
	again(line)
	return e
end
handler_line = "coroutine.resume<" ..
	debug.getinfo(handler, "S").linedefined
local outer_line
local function outer()
	xpcall(function() error("thrown") end, handler)
	late(outer_line)
end
outer_line = debug.getinfo(outer, "S").linedefined
for _ = 1, 50 do
	coroutine.resume(coroutine.create(outer))
	outer()
end

for line, n in pairs(lines) do
	print("under " .. line .. " " .. n)
end
return "done"
