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
