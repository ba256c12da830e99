-- collapsed.lua - what "weft export --format collapsed" must say: the time that
-- each thread's stack stood as it is, one line a stack.
-- SPDX-License-Identifier: MIT
local collapsed = {}

local function sums_of(lines)
	local of, out = {}, {}
	for _, line in ipairs(lines) do
		of[line[1]] = (of[line[1]] or 0) + line[2]
	end
	for stack, n in pairs(of) do
		out[#out + 1] = { stack, n }
	end
	return out
end

-- Threads of one name may have a line each.
local function take_apart(rows, falls)
	local lines = {}
	for i, row in ipairs(rows) do
		local line = table.concat(row, ",")
		local stack, n = line:match("^(.*) (%d+)$")
		lines[i] = { stack or line, n or 0 }
	end
	return sums_of(lines), falls
end

function collapsed.checks(s)
	local lines = {}
	for i, slice in ipairs(s.slices) do
		local names = { s.log.threads[slice.thread].name }
		for _, frame in ipairs(slice.stack) do
			names[#names + 1] = s.log.funcs[frame.func][1]
		end
		lines[i] = { table.concat(names, ";"), slice.to - slice.from }
	end
	return { { args = "export --format collapsed", first = "echo titles",
		   rows = sums_of(lines), change = take_apart } }
end

return collapsed
