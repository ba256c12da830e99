-- handlers.lua - what the server of docs/tutorial.md answers.
-- SPDX-License-Identifier: MIT
local function row(n)
	return "<tr><td>" .. n .. "</td><td>" .. n * n .. "</td></tr>"
end

local function item(path)
	local rows = {}
	for n = 1, 40 do
		rows[n] = row(n)
	end
	return path .. table.concat(rows)
end

local function sort_rows(rows)
	table.sort(rows, function(a, b) return a > b end)
end

local function report(path)
	local rows = {}
	for n = 1, 8000 do
		rows[n] = row(n * 7919 % 8000)
	end
	sort_rows(rows)
	return path .. #rows
end

function handle(path)
	local render = path == "/report" and report or item
	local page = render(path)
	count(path)
	return checksum(page)
end
