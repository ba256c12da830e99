-- merge.lua - what "weft merge" must say of several sessions, and that reports
-- of several, or of what they were merged into, are those of all that happened
-- in them.
-- SPDX-License-Identifier: MIT
local log, story, report = require "log", require "story", require "report"
local merge = {}

local function spread(values)
	local n, sum, squares = #values, 0, 0.0
	for _, v in ipairs(values) do
		sum = sum + v
	end
	for _, v in ipairs(values) do
		squares = squares + (v - sum / n) ^ 2
	end
	return sum, ("%.1f"):format(sum / n), math.min(table.unpack(values)),
		math.max(table.unpack(values)),
		("%.1f"):format(n > 1 and math.sqrt(squares / (n - 1)) or 0)
end

-- By function: its figures in each session in which it ran.
local function lines(stories)
	local of, out = {}, {}
	for _, s in ipairs(stories) do
		for func, row in pairs(report.rows(s, function()
			return true
		end)) do
			local key = table.concat(s.log.funcs[func], "\n")
			of[key] = of[key] or { who = s.log.funcs[func] }
			table.insert(of[key], row)
		end
	end
	for _, rows in pairs(of) do
		local line = table.move(rows.who, 1, 5, 1, { n = 0 })
		line[6] = #rows
		for _, what in ipairs { "calls", "self", "total",
					"suspended" } do
			local values = {}
			for i, row in ipairs(rows) do
				values[i] = row[what]
			end
			table.move({ spread(values) }, 1, 5, #line + 1, line)
		end
		out[#out + 1] = line
	end
	return out
end

-- Views of all that happened; threads and processes are others there.
local is_other = { thread = true, process = true, vm = true, label = true }

local function view_of(s, random, view)
	while true do
		local all = require(view).checks(s, random)
		local check = all[random(#all)]
		if not check.args:find("%-%-tables") and
		   not is_other[check.args:match("%-%-by (%a+)")] then
			return check
		end
	end
end

function merge.checks(s, random, others)
	local paths, stories, sum = { "@" }, { s }, s.log
	for i = 1, 1 + random(2) do
		local l = log.read(others[i] .. ".log")
		paths[#paths + 1] = others[i]
		stories[#stories + 1] = story.tell(l)
		sum = log.join(sum, l)
	end
	sum = story.tell(sum)
	local all = table.concat(paths, " ")
	local checks = { { args = "merge --csv --sort calls", of = all,
			   rows = lines(stories), falling = "calls" } }
	local view = ({ "report", "tree", "callers" })[random(3)]
	local check = view_of(sum, random, view)
	check.of = all
	if random(2) == 1 then
		-- Two first, then the others; the last first.
		check.first = ("$WEFT merge -o @.sum %s %s"):format(paths[2],
								    paths[1])
		check.of = table.concat(paths, " ", 3) .. " @.sum"
	end
	checks[2] = check
	return checks
end

return merge
