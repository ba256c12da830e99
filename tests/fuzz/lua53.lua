local a, b = 7 // 2 << 1 >> 1, ~5 & 3 | 1 ~ 2
t[i].f, g = function() end, a >= b and function(n) return n <= 1 end
u = "\u{48}\u{20AC}" == 0x1p-2 and 0xA.8p0 or 1e10
local shelf = { helper = function() return 1 end, deep = { er = function() end } }
x = f { call = function() end } . y [ function() end ]
