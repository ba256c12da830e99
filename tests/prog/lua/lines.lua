-- lines.lua - a function of 200 lines, one of which takes nearly all of its time;
-- prints that line and its share by the clock. SPDX-License-Identifier: MIT
local clock = os.clock
local filling = ("x = x + 1 % 7\n"):rep(95)
local source = "local clock = ...\nlocal hot, all = 0, 0\n" ..
	"function long(n)\nlocal x, began = 1, clock()\n" .. filling ..
	"for _ = 1, n do x = x * 3 % 1000003 end\nlocal from = clock()\n" ..
	"for _ = 1, 9 * n do x = x * 3 % 1000003 end\n" ..
	"hot = hot + clock() - from\n" .. filling ..
	"all = all + clock() - began\nreturn hot / all\nend\n"
local _, line = source:match("^.*\nfor _ = 1, 9"):gsub("\n", "")

assert((loadstring or load)(source, "=long"))(clock)
local share, until_then = 0, clock() + 1.5
while clock() < until_then do
	share = long(20000)
end
print(("line %d %.3f"):format(line + 1, share))
