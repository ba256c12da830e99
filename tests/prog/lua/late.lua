-- late.lua - functions on the same lines, of which recording sees the calls of a
-- while only, in the middle of the script and of a coroutine; the script counts
-- those. To be recorded --paused. With an argument: nobody watches meanwhile, so
-- that of chunks that have ended nothing is known.
-- SPDX-License-Identifier: MIT
local unwatched = ...
local weft = require "weft"
local load, on = loadstring or load, 0
local n = { f = 0, g = 0, h = 0, p = 0, q = 0 }
local function f() n.f = n.f + on end local function g() n.g = n.g + on end local function h() n.h = n.h + on end
local text = "local n, on = ... local function p() n.p = n.p + on() end " ..
	"local function q() n.q = n.q + on() end return p, q"
local p, q = load(text, "=gone")(n, function() return on end)
local function all()
	f() g() g() h() h() h()
	if not unwatched then p() q() q() end
end
-- The second of two, which is open when recording begins.
local function none() local function some()
	on = 1
	weft.resume()
	all()
	coroutine.wrap(all)()
	weft.pause()
	on = 0
end return some end local some = none()

all()
some()
all()
coroutine.wrap(some)()
all()
on = 1
weft.hook(all)()
on = 0
all()
for i, name in ipairs { "f", "g", "h" } do
	print("calls", n[name], ("%s <late.lua:%d%s>"):format(name,
		debug.getinfo(f, "S").linedefined, i > 1 and "#" .. i or ""))
end
print("calls", 0, ("some <late.lua:%d#2>"):format(
	debug.getinfo(some, "S").linedefined))
if unwatched then return end
print("calls", n.p, "p <gone:1>")
print("calls", n.q, "q <gone:1#2>")
