#!/usr/bin/lua5.1
module("set", package.seeall)
local goto = 1
function f(...) local n = select("#", ...) return arg, goto, n end
M.a = { ["k"] = function() end, function() end; [2] = function() end }
register("name", function(x) return x ~= nil and not x end)
print [==[ long ]] string ]==] --[[ long
comment ]] print 'it\'s\
two lines' --[=[ ]] ]=]
for k, v in pairs { 1, .5, 3e+2, 0x1F } do if k then break end end
repeat local x = (function() return 1 end)() until x == 1
