local ffi = require "ffi"
ffi.cdef [[ int abs(int); ]]
local größe, n = function() return 1ULL, 12.5i, 0x7fLL end, 42LL
function ünicode.längs() ::goto_label:: goto goto_label end
jit.off(function() end)
