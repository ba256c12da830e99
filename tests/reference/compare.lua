-- compare.lua VIEW,... DIR SEED...: asks weft for the views of the made-up
-- sessions DIR/SEED and compares what it prints with --csv, row by row, with
-- what tests/reference/VIEW.lua computes from DIR/SEED.log alone.
-- SPDX-License-Identifier: MIT
package.path = "tests/reference/?.lua;" .. package.path
local log, story = require "log", require "story"
local differ, compared, shown = 0, 0, 0

-- One row of RFC 4180.
local function fields(line)
	local row, at = {}, 1
	repeat
		local quoted = line:match('^"([^"]*)"', at)
		local field = quoted or line:match("^[^,]*", at)
		row[#row + 1] = field
		at = at + #field + (quoted and 2 or 0) + 1
	until at > #line + 1
	return row
end

-- Of a session, or of what a check makes of it first. @ stands for its path.
local function ask(check, path)
	local rows = {}
	local command = "{ " .. (check.first or "true") .. " && $WEFT " ..
		check.args .. " " .. (check.of or "@") .. "; } 2>&1"
	local pipe = io.popen((command:gsub("@", path)))
	local is_forgiven = false
	for line in pipe:lines() do
		if check.may_fail and line:find(check.may_fail, 1, true) then
			is_forgiven = true
		elseif line:sub(1, 2) ~= "# " then
			rows[#rows + 1] = fields(line)
		end
	end
	local ended = pipe:close()
	return rows, table.remove(rows, 1) or {}, ended or is_forgiven
end

local function texts(rows)
	local out = {}
	for i, row in ipairs(rows) do
		local line = {}
		for k, v in ipairs(row) do
			line[k] = tostring(v)
		end
		out[i] = table.concat(line, ",")
	end
	table.sort(out)
	return out
end

local function tell(what, line)
	shown = shown + 1
	if shown <= 30 then
		print(what .. line)
	end
end

-- Lines of either that the other has not; both are in order.
local function difference(want, have)
	local i, k, n = 1, 1, 0
	while i <= #want or k <= #have do
		if want[i] == have[k] then
			i, k = i + 1, k + 1
		elseif not have[k] or (want[i] and want[i] < have[k]) then
			tell("  must be: ", want[i])
			i, n = i + 1, n + 1
		else
			tell("  weft:    ", have[k])
			k, n = k + 1, n + 1
		end
	end
	return n
end

local function is_falling(rows, titles, column)
	for i, title in ipairs(titles) do
		for k = 2, title == column and #rows or 0 do
			local above = tonumber(rows[k - 1][i])
			local here = tonumber(rows[k][i])
			-- What is not shown may stand anywhere.
			if above and here and here > above then
				return false
			end
		end
	end
	return true
end

-- The rows that must be there may be a function that makes them.
local function compare(check, path)
	local want = check.rows
	want = type(want) == "function" and want() or want
	local have, titles, ended = ask(check, path)
	local falls = not ended or not check.falling or
		is_falling(have, titles, check.falling)
	if check.change and ended then
		have, falls = check.change(have, falls, want)
	end
	-- Columns that were added since stand behind those compared.
	for _, row in ipairs(want[1] and have or {}) do
		for k = #want[1] + 1, #row do
			row[k] = nil
		end
	end
	local n = difference(texts(want), texts(have))
	compared = compared + 1
	if n > 0 or not falls or not ended then
		differ = differ + 1
		local of = (check.of or "@"):gsub("@", path)
		tell("", ("weft %s %s: %d rows differ%s%s (%s)"):format(
			check.args, of, n, falls and "" or ", not in order",
			ended and "" or ", it fails",
			table.concat(titles, ",")))
	end
end

local views, dir = arg[1], arg[2]
for i = 3, #arg do
	local s = story.tell(log.read(dir .. "/" .. arg[i] .. ".log"))
	local others = {}
	for k = 1, 10 do
		others[k] = dir .. "/" .. arg[3 + (i - 3 + k) % (#arg - 2)]
	end
	math.randomseed(tonumber(arg[i]))
	for view in views:gmatch("[^,]+") do
		local checks = require(view).checks(s, math.random, others)
		for _, check in ipairs(checks) do
			compare(check, dir .. "/" .. arg[i])
		end
	end
end
print(("note: %d of %d views differ"):format(differ, compared))
os.exit(differ == 0 and compared > 0)
