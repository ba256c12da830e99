-- calls.lua REPORT OUT: compares the lines "calls N NAME" in a program's output
-- with weft's report. Exact, and no function may be missing on either side but
-- those that bear no name the program knows ("only" lines name a pattern of
-- those that are to be compared).
-- SPDX-License-Identifier: MIT
local want, only = {}, nil
for line in io.lines(arg[2]) do
	local n, name = line:match("^calls (%d+) (.+)$")
	if n then
		want[name] = (want[name] or 0) + tonumber(n)
	end
	only = line:match("^only (.+)$") or only
end
local got = {}
local is_head = true
for line in io.lines(arg[1]) do
	local name, rest
	if line:sub(1, 1) == '"' then
		name, rest = line:match('^"(.-)",([^"].*)$')
	else
		name, rest = line:match("^([^,]*),(.*)$")
	end
	if not is_head then
		-- language, module, file, line, calls: files may be quoted.
		rest = rest:gsub('"[^"]*"', "quoted")
		local calls = rest:match("^[^,]*,[^,]*,[^,]*,[^,]*,(%d+)")
		name = name:gsub("%.constprop%.%d+", ""):gsub("%.isra%.%d+", "")
		name = name:gsub("%.part%.%d+", ""):gsub("%.cold", "")
		name = name:gsub('""', '"'):gsub("%s*%[clone[^]]*%]", "")
		got[name] = (got[name] or 0) + tonumber(calls)
	end
	is_head = false
end
local bad = false
for name, n in pairs(want) do
	if (got[name] or 0) ~= n then
		print(("%s: %d calls, but weft says %d"):format(name, n,
			got[name] or 0))
		bad = true
	end
	got[name] = nil
end
for name, n in pairs(got) do
	if only and name:find(only) then
		print(("%s: no calls, but weft says %d"):format(name, n))
		bad = true
	end
end
os.exit(not bad and next(want) ~= nil)
