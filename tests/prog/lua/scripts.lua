-- scripts.lua - scripts that all have one name, as a server gives it to them,
-- and differ in a text alone; each is collected before the next one is loaded.
-- The function of script i is called i times in each of three rounds. And more
-- of a name than anybody reads.
-- SPDX-License-Identifier: MIT
local load = loadstring or load
for _, name in ipairs { "@user_script", "=(load)", "?", "a job" } do
	for _ = 1, 3 do
		for i = 1, 20 do
			load(("local n = ... local function f() return 'script %02d' end " ..
				"for _ = 1, n do f() end"):format(i), name)(i)
			collectgarbage()
		end
	end
end
for i = 1, 3000 do
	load("return " .. i, "=many")()
end
