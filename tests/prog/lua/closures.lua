-- What closures.c makes, called so often that the counts tell what is meant.
-- SPDX-License-Identifier: MIT
local closures = require "closures"
package.loaded["closures.other"] = closures.other
package.loaded.apart = closures.apart
mine = { settings = closures.single }

local function run()
	closures.path()
	closures.method()
	closures.src()
	closures.whole()
	closures.other.part()
	closures.first()
	closures.apart.second()
	closures.configured()
	closures.apart.configured()
	closures.single()
	mine.settings()
	closures.plain()
	closures.simple()
	closures.object:alpha()
	closures.object:beta()
	closures.handle:close()
	tostring(closures.object)
	tostring(closures.handle)
end
for _ = 1, 50 do run() end

-- 5.1 has these under older names, too.
for _ = 1, 70 do
	math.fmod(5, 3)
	string.gmatch("", "")
end

-- Lua names the handler of an error by the instruction that failed.
for _ = 1, 20 do
	assert(not closures.protect(function() undefined() end))
	assert(not closures.protect(function() return #undefined end))
	assert(not closures.protect(function() return undefined.field end))
end

-- As libraries for C++ keep the methods of types.
for _ = 1, 40 do pcall(closures[0]) end

-- Tables in tables.
closures.inner = { deep = closures[2] }
mine.more = { other = closures[3] }
for _ = 1, 20 do
	pcall(closures[2])
	pcall(closures[3])
end

-- Libraries that get their functions after these were called first, when many
-- have no name.
for i = 2, #closures do
	for _ = 1, 9 do pcall(closures[i]) end
end
local late = closures[1]
pcall(late)
package.loaded.late = { late = late }
for _ = 1, 59 do pcall(late) end

-- Where Lua makes long strings is a userdata of its own, which 5.4 closes.
for _ = 1, 35 do string.rep("x", 100000) end
