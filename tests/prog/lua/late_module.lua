-- A script that requires weft and is not recorded when it starts. It reads lines:
-- on, off: it calls weft.mark until recording is that; hook: which hook Lua really
-- has; pause: the same while weft.pause holds; N: that many calls of step, half
-- of them in a coroutine that is older than the recording. It answers each with a
-- line.
local gethook = debug.gethook
local weft = require "weft"
local done = 0
local function step(i) done = done + i end
local function half(n)
	while true do
		for _ = 1, n / 2 do step(1) end
		n = coroutine.yield()
	end
end
local old = coroutine.create(half)
assert(coroutine.resume(old, 0))

for line in io.lines() do
	local n = tonumber(line)
	if n then
		for _ = 1, n / 2 do step(1) end
		assert(coroutine.resume(old, n))
		io.write("done ", string.format("%d", done), "\n")
	elseif line == "hook" then
		io.write("hook ", tostring((gethook())), "\n")
	elseif line == "pause" then
		weft.pause()
		weft.mark(line)
		io.write("hook ", tostring((gethook())), "\n")
		weft.resume()
	else
		repeat
			weft.mark(line)
		until weft.status().on == (line == "on")
		io.write(line, "\n")
	end
	io.flush()
end
io.write("right\n")
