local t = setmetatable({}, { __pairs = function(t) return next, t end })
function t.a.b:c(_ENV, ...) goto out; ::inner:: while true do end ::out:: end
s = "\x41\z
     \065" .. 'b'; ;;
goto continue
::continue::
local f = load("return function() end")
return function() return function() end end
