local file <close>, n<const> = io.open("x"), 1
local h <const> = function() return a<b, c < const > d end
function obj:method(a, b) local x <close> = nil return self end
f(function() end, "name", function() end)(function() end)
