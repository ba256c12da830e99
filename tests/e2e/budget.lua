-- budget.lua OWN INFO REPORT: compares a program's own account of its calls with
-- what a recording with a budget says of them.
-- SPDX-License-Identifier: MIT
local function fail(...)
	io.stderr:write(string.format(...), "\n")
	os.exit(1)
end

local own, have, demoted, counted = {}, {}, {}, {}
for line in io.lines(arg[1]) do
	local name, calls = line:match("^(%w+) (%d+)$")
	if name then own[name] = tonumber(calls) end
end
for line in io.lines(arg[2]) do
	local name, calls, error = line:match(
		"^  (%w+): from .* ~([%d,]+) calls not recorded, \xc2\xb1 ([%d,]+)$")
	if name then
		demoted[name] = {
			calls = tonumber((calls:gsub(",", ""))),
			error = tonumber((error:gsub(",", ""))) }
	end
	-- Its calls are all there.
	name = line:match("^  (%w+): from [^;]* counted; ")
	if name then counted[name] = true end
	-- As may be if it was left out just before the end.
	name = line:match("^  (%w+): from .*; nobody knows how many calls")
	if name then
		demoted[name] = { calls = 0, error = math.huge }
	end
end
local column
for line in io.lines(arg[3]) do
	local cells = {}
	for cell in (line .. ","):gmatch("([^,]*),") do
		cells[#cells + 1] = cell
	end
	if not column then
		column = {}
		for i, name in ipairs(cells) do column[name] = i end
	else
		have[cells[column["function"]]] = tonumber(cells[column.calls])
	end
end

for _, name in ipairs { "tiny", "hot" } do
	if not demoted[name] and not counted[name] then fail("%s is not demoted", name) end
end
for _, name in ipairs { "far", "work", "main", "thread" } do
	if demoted[name] or counted[name] then fail("%s is demoted", name) end
end
for name, calls in pairs(own) do
	local d, found = demoted[name], have[name] or 0
	if not d and found ~= calls then
		fail("%s: %d calls of %d", name, found, calls)
	elseif d and math.abs(found - calls) > 4 * d.error then
		fail("%s: %d calls, error %d, of %d", name, found, d.error, calls)
	elseif d and found - d.calls > calls then
		fail("%s: %d calls recorded of %d", name, found - d.calls, calls)
	end
end
-- Nearly all of the hottest were left out.
if not demoted.tiny then fail("tiny was only counted") end
if demoted.tiny.calls < own.tiny / 2 then
	fail("only %d calls of tiny were left out", demoted.tiny.calls)
end
