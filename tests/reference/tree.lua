-- tree.lua - what "weft tree" must say: one node for each distinct stack, its
-- calls, self, total and suspended time; a coroutine's body on top of what
-- resumed it, or at the root.
-- SPDX-License-Identifier: MIT
local tree = {}

local function node_of(nodes, path)
	local key = table.concat(path, ";")
	nodes[key] = nodes[key] or { path = key, func = path[#path],
		depth = #path - 1, calls = 0, self = 0, total = 0,
		suspended = 0 }
	return nodes[key]
end

-- The nodes from a stack's root to its innermost frame.
local function nodes_on(nodes, root, stack, from_body)
	local path, list = { root }, {}
	list[1] = node_of(nodes, path)
	for _, frame in ipairs(stack) do
		if from_body and frame.is_body then
			path, list = { root }, { list[1] }
		end
		path[#path + 1] = (frame.is_body and "~" or "") .. frame.func
		list[#list + 1] = node_of(nodes, path)
	end
	return list
end

local function grow(s, root_of, from_body)
	local nodes = {}
	for serial in pairs(s.threads) do
		node_of(nodes, { root_of(serial) })
	end
	for _, call in ipairs(s.calls) do
		local on = nodes_on(nodes, root_of(call.thread), call.stack,
				    from_body)
		on[#on].calls = on[#on].calls + 1
	end
	for _, slice in ipairs(s.slices) do
		local on = nodes_on(nodes, root_of(slice.thread), slice.stack,
				    from_body)
		local d = slice.to - slice.from
		on[#on].self = on[#on].self + d
		for _, node in ipairs(on) do
			node.total = node.total + d
		end
	end
	for _, sleep in ipairs(s.sleeps) do
		local on = nodes_on(nodes, root_of(sleep.thread), sleep.stack,
				    from_body)
		-- Those of the coroutine's own frames alone.
		local own = 0
		for _, frame in ipairs(sleep.stack) do
			own = own + (frame.co == sleep.co and 1 or 0)
		end
		for i = #on - own + 1, #on do
			on[i].suspended = on[i].suspended + sleep.to -
				sleep.from
		end
	end
	return nodes
end

-- A row with its whole path in place of node and parent.
local function lines(s, nodes)
	local out = {}
	for key, n in pairs(nodes) do
		local names = {}
		for part in key:gmatch("[^;]+") do
			local mark, func = part:match("^(~?)(%d+)$")
			names[#names + 1] = func and mark ..
				s.log.funcs[tonumber(func)][1] or part
		end
		local func = tostring(n.func):match("^~?(%d+)$")
		local who = func and s.log.funcs[tonumber(func)] or
			{ names[#names], "", "", "", "0" }
		out[#out + 1] = { table.concat(names, " > "), n.depth, who[1],
			who[2], who[3], who[4], who[5],
			tostring(n.func):sub(1, 1) == "~" and 1 or 0, n.calls,
			n.self, n.total, n.suspended }
	end
	return out
end

-- weft's rows: node and parent give a path.
local function with_paths(rows)
	local path = {}
	for _, row in ipairs(rows) do
		local mark = row[9] == "1" and "~" or ""
		path[row[1]] = row[2] == "0" and row[4] or
			path[row[2]] .. " > " .. mark .. row[4]
		table.remove(row, 2)
		row[1] = path[row[1]]
	end
	return rows
end

-- One of two seeds asks for a tree for each thread.
function tree.checks(s, random)
	local checks = {}
	local by_thread = random(2) == 1
	local function root_of(serial)
		local t = s.log.threads[serial]
		return by_thread and "[thread " .. t.tid .. " " .. t.name ..
			"]" or "[all threads]"
	end
	for _, root in ipairs { "thread", "coroutine" } do
		checks[#checks + 1] = {
			args = "tree --csv --root " .. root ..
				(by_thread and " --by-thread" or ""),
			rows = lines(s, grow(s, root_of, root == "coroutine")),
			change = with_paths }
	end
	return checks
end

return tree
