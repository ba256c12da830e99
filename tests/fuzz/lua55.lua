global function late() end
global<const> print
global *
local function named(...args) return args end
