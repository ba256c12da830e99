-- scripts.lua - scripts that all have one name, as a server gives it to them,
-- and differ in a text alone; each is collected before the next one is loaded.
-- The function of script i is called i times in each of three rounds. So is that
-- of a stripped one in LuaJIT, which has no lines. And more of a name than
-- anybody reads.
-- SPDX-License-Identifier: MIT
local load = loadstring or load
for _, name in ipairs { "@user_script", "=(load)", "?", "a job", jit and "@s.luac" } do
	for _ = 1, 3 do
		for i = 1, 20 do
			local f = load(("local n = ... local function f() return 'script %02d' end " ..
				"for _ = 1, n do f() end"):format(i), name)
			if name == "@s.luac" then f = load(string.dump(f, true), name) end
			f(i)
			f = nil
			collectgarbage()
		end
	end
end
for i = 1, 3000 do
	load("return " .. i, "=many")()
end
