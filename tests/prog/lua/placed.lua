-- placed.lua - functions that neither code nor caller names and whose source is
-- nowhere: some are in tables. SPDX-License-Identifier: MIT
local load = loadstring or load
local function module(name)
	return load([[
local M = {}
M.work = ({ function() return 1 end })[1]
local hidden = ({ function() return 1 end })[1]
return M, hidden]], "=" .. name)()
end
local library, hidden = module("library")
local tools = module("tools")
package.loaded["my.library"] = library
Tools = tools
local alias = load("return function() return 1 end", "=alias")()
zb, za, other = alias, alias, alias
-- To ask a table anything but what is in it is an error.
setmetatable(_G, { __index = error, __pairs = error })
setmetatable(tools, { __index = error, __pairs = error, __newindex = error })
local n = 0
for i = 1, 50 do
	for _, f in ipairs({ library.work, tools.work, alias, hidden }) do
		local _, more = pcall(f)
		n = n + more
	end
end
print(n)
