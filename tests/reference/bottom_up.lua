-- bottom_up.lua - what "weft tree --bottom-up" must say: each node of the tree
-- counts for its function, for its function as called by its caller, and so on
-- up to where the stack begins.
-- SPDX-License-Identifier: MIT
local tree = require "tree"
local bottom_up = {}

local function func_of(mark)
	return mark:match("%d+$")
end

-- Is this the outermost call of the function, and within its coroutine?
local function outermost(place)
	local is_outermost, is_first, in_same = true, true, true
	for i = #place - 1, 2, -1 do
		in_same = in_same and not place[i + 1]:match("^~")
		if func_of(place[i]) == func_of(place[#place]) then
			is_outermost = false
			is_first = is_first and not in_same
		end
	end
	return is_outermost, is_first
end

-- From its function up to "[outside]"; a step from a body is marked.
local function way_up(place)
	local way = { place[1] }
	for i = #place, 1, -1 do
		local crosses = i < #place and place[i + 1]:match("^~")
		way[#way + 1] = (crosses and "~" or "") ..
			(i == 1 and "[outside]" or func_of(place[i]))
	end
	return way
end

local function add(rows, way, depth, n, levels)
	local key = table.concat(way, ";", 1, depth)
	local row = rows[key] or { way = table.move(way, 1, depth, 1, {}),
		calls = 0, self = 0, total = 0, suspended = 0, recursive = 0,
		levels = 1, cpu = 0, off = 0, total_cpu = 0, total_off = 0 }
	local is_outermost, is_first = outermost(n.place)
	rows[key] = row
	row.self = row.self + n.self
	row.cpu, row.off = row.cpu + n.cpu, row.off + n.off
	row.levels = math.max(row.levels, levels)
	if depth == 1 then
		row.total = row.self
		row.total_cpu, row.total_off = row.cpu, row.off
		return
	end
	row.calls = row.calls + n.calls
	row.recursive = row.recursive + n.recursive
	row.total = row.total + (#n.place == 1 and n.self or
				 is_outermost and n.total or 0)
	row.total_cpu = row.total_cpu + (#n.place == 1 and n.cpu or
					 is_outermost and n.total_cpu or 0)
	row.total_off = row.total_off + (#n.place == 1 and n.off or
					 is_outermost and n.total_off or 0)
	row.suspended = row.suspended + (is_first and n.suspended or 0)
end

local function make(s, how)
	local nodes, rows, lines = tree.grow(s, how), {}, {}
	for _, n in pairs(nodes) do
		local way = way_up(n.place)
		-- Where nothing happened outside of functions no row says so.
		for depth = 1, (#n.place > 1 or n.self > 0) and #way or 1 do
			local up = depth == 1 and 1 or #n.place - depth + 2
			local at = nodes[table.concat(n.place, ";", 1, up)]
			add(rows, way, depth, n, at.levels)
		end
	end
	for _, row in pairs(rows) do
		lines[#lines + 1] = tree.line(s, row.way,
			row.way[#row.way]:match("^~"), row)
	end
	return lines
end

function bottom_up.checks(s, random)
	return { tree.some_check(s, random, " --bottom-up", make) }
end

return bottom_up
