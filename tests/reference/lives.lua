-- lives.lua - what "weft coroutines" must say of those of each body together,
-- and of the time each one spent in Lua and in native code.
-- SPDX-License-Identifier: MIT
local coroutines = require "coroutines"
local lives = {}

local function rounded(sum, n)
	return (2 * sum + n) // (2 * n)
end

local function spread(values, with_sum, out)
	local sum = 0
	table.sort(values)
	for _, v in ipairs(values) do
		sum = sum + v
	end
	table.move({ sum, rounded(sum, #values) }, 1, 2, #out + 1, out)
	for _, part in ipairs { 500, 950, 990, 1000 } do
		out[#out + 1] = values[(#values * part + 999) // 1000]
	end
end

local function by_body(rows)
	local of, out = {}, {}
	for _, row in ipairs(rows) do
		local key = table.concat(row, "\n", 3, 7)
		of[key] = of[key] or { who = row, {}, {}, {} }
		table.insert(of[key][1], row[13])
		table.insert(of[key][2], row[14])
		table.insert(of[key][3], row[12])
	end
	for _, body in pairs(of) do
		local line = table.move(body.who, 3, 7, 1, { n = 0 })
		line[6] = #body[1]
		for i = 1, 3 do
			spread(body[i], true, line)
		end
		out[#out + 1] = line
	end
	return out
end

-- Time in which the coroutine itself ran, by its innermost function's language;
-- what runs it before any function is seen is Lua. A signal handler's time is
-- that of what it interrupted.
local function times(s)
	local of = {}
	for id in pairs(s.coroutines) do
		of[id] = { lua = 0, native = 0 }
	end
	for _, slice in ipairs(s.slices) do
		local language, d = "lua", slice.to - slice.from
		for _, frame in ipairs(slice.stack) do
			if frame.co == slice.co then
				language = s.log.funcs[frame.func][2]
			end
		end
		if slice.co ~= 0 then
			of[slice.co][language] = of[slice.co][language] + d
		end
	end
	return of
end

function lives.checks(s, random)
	local check = coroutines.checks(s, random)[1]
	local rows, of = check.rows, times(s)
	if #rows == 0 then
		return {}
	end
	local checks = {
		{ args = "coroutines --csv --by body", rows = by_body(rows) },
		{ args = "coroutines --csv --columns +lua,native", rows = {},
		  change = check.change },
	}
	for i, row in ipairs(rows) do
		local line = table.move(row, 1, #row, 1, {})
		line[17], line[18] = of[row[2]].lua, of[row[2]].native
		checks[2].rows[i] = line
	end
	return checks
end

return lives
