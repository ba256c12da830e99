-- tree.lua - what "weft tree" must say: one node for each distinct stack, its
-- calls, self, total and suspended time; recursion folded; a coroutine's body
-- on top of what resumed it, or at the root. A place is a list of marks, from
-- the root on: "12" is function 12, "~12" the body of a coroutine.
-- SPDX-License-Identifier: MIT
local report = require "report"
local tree = {}

-- Where the frames of a stack stand: the place of each, and how many
-- activations of its function are folded there. A recursive call goes to the
-- place of its like, if fold says so.
local function places(root, stack, how)
	local list, first = { { place = { root }, level = 1 } }, 1
	for i, frame in ipairs(stack) do
		if how.from_body and frame.is_body then
			list, first = { list[1] }, i
		end
		local like
		for k = first, i - 1 do
			like = stack[k].func == frame.func and k or like
		end
		local here = { is_recursive = like ~= nil }
		local into = like and list[like - first + 2]
		for k = (like or i) + 1, i do
			into = not stack[k].is_body and into
		end
		if into and (how.fold == "all" or
			     how.fold == "direct" and like == i - 1) then
			here.place, here.level = into.place, into.level + 1
		else
			here.place = table.move(list[#list].place, 1,
				#list[#list].place, 1, {})
			table.insert(here.place, (frame.is_body and "~" or "")
				.. frame.func)
			here.level = 1
		end
		list[#list + 1] = here
	end
	return list
end

local function node_of(nodes, place, depth)
	local key = table.concat(place, ";", 1, depth)
	nodes[key] = nodes[key] or { place = table.move(place, 1, depth, 1,
		{}), calls = 0, self = 0, total = 0, suspended = 0,
		recursive = 0, levels = 1, cpu = 0, off = 0, total_cpu = 0,
		total_off = 0 }
	return nodes[key]
end

-- Every node of the tree, by its place.
function tree.grow(s, how)
	local nodes = {}
	local innermost
	function innermost(thread, stack)
		local list = places(how.root_of(thread), stack, how)
		-- Who resumed it has nodes too, in a tree of its own.
		for i, frame in ipairs(how.from_body and stack or {}) do
			if frame.is_body and i > 1 then
				innermost(thread, { table.unpack(stack, 1,
								 i - 1) })
			end
		end
		for _, at in ipairs(list) do
			local node = node_of(nodes, at.place, #at.place)
			node.levels = math.max(node.levels, at.level)
		end
		return list[#list]
	end
	for serial in pairs(s.threads) do
		innermost(serial, {})
	end
	for _, ended in ipairs(s.ends) do
		innermost(ended.thread, ended.stack)
	end
	for _, call in ipairs(s.calls) do
		local at = innermost(call.thread, call.stack)
		local node = node_of(nodes, at.place, #at.place)
		node.calls = node.calls + 1
		node.recursive = node.recursive + (at.is_recursive and 1 or 0)
	end
	for _, slice in ipairs(s.slices) do
		local place = innermost(slice.thread, slice.stack).place
		local d = slice.to - slice.from
		local on, off = report.cpu_of(s, slice)
		for depth = 1, #place do
			local node = node_of(nodes, place, depth)
			node.total = node.total + d
			node.total_cpu = node.total_cpu + on
			node.total_off = node.total_off + off
			if depth == #place then
				node.self = node.self + d
				node.cpu, node.off = node.cpu + on, node.off + off
			end
		end
	end
	for _, sleep in ipairs(s.sleeps) do
		local place = innermost(sleep.thread, sleep.stack).place
		local last = sleep.stack[#sleep.stack]
		local depth = last and last.co == sleep.co and #place or 0
		-- Those of the coroutine's own frames, down to its body.
		while depth > 1 do
			local node = node_of(nodes, place, depth)
			node.suspended = node.suspended + sleep.to - sleep.from
			depth = place[depth]:match("^~") and 0 or depth - 1
		end
	end
	return nodes
end

-- The columns from function to line.
function tree.who(s, mark)
	local func = mark:match("^~?(%d+)$")
	return func and s.log.funcs[tonumber(func)] or
		{ mark, "", "", "", "0" }
end

-- A row with its whole path in place of node and parent.
function tree.line(s, place, is_marked, n)
	local names, has_cpu = {}, report.has_cpu(s)
	for i, mark in ipairs(place) do
		names[i] = mark:match("^~?") .. tree.who(s, mark)[1]
		names[i] = names[i]:gsub("^~~", "~")
	end
	local who = tree.who(s, place[#place])
	return { table.concat(names, " > "), #place - 1, who[1]:gsub("^~", ""),
		 who[2], who[3], who[4], who[5], is_marked and 1 or 0, n.calls,
		 n.self, n.total, n.suspended, n.recursive, n.levels,
		 has_cpu and n.cpu or "", has_cpu and n.off or "",
		 has_cpu and n.total_cpu or "", has_cpu and n.total_off or "" }
end

local function top_down(s, how)
	local rows = {}
	for _, n in pairs(tree.grow(s, how)) do
		rows[#rows + 1] = tree.line(s, n.place,
			n.place[#n.place]:match("^~"), n)
	end
	return rows
end

-- weft's rows: node and parent give a path. Siblings come in order.
local function checker(column)
	local paths, last = {}, {}
	return function(rows)
		local falls = true
		for _, row in ipairs(rows) do
			local id, parent = row[1], row[2]
			local mark = row[9] == "1" and "~" or ""
			local value = column == 0 and
				row[12] + row[13] or tonumber(row[column])
			falls = falls and value <= (last[parent] or value)
			last[parent] = value
			paths[id] = (parent == "0" and "" or
				paths[parent] .. " > ") .. mark .. row[4]
			table.remove(row, 2)
			row[1] = paths[id]
		end
		return rows, falls
	end
end

local columns = { calls = 10, self = 11, total = 12, suspended = 13, wall = 0,
		  cpu = 16, ["off-cpu"] = 17, ["total-cpu"] = 18,
		  ["total-off-cpu"] = 19 }
local keys = { "calls", "self", "total", "suspended", "wall", "cpu", "off-cpu",
	       "total-cpu", "total-off-cpu" }
local folds = { "direct", "all", "none" }

-- Each seed asks for another kind of tree.
function tree.some_check(s, random, args, make)
	local by_thread = random(3) == 1
	local key = keys[random(report.has_cpu(s) and #keys or 5)]
	local how = { fold = folds[random(3)], from_body = random(2) == 1 }
	function how.root_of(serial)
		local t = s.log.threads[serial]
		return by_thread and "[thread " .. t.tid .. " " .. t.name ..
			"]" or "[all threads]"
	end
	return { args = ("tree --csv --columns node,parent,depth,name," ..
			"language,module,file,line,is-body,calls,self,total," ..
			"suspended,recursive,levels,cpu,off-cpu,total-cpu," ..
			"total-off-cpu%s --sort %s --recursion %s --root %s%s"):format(
			args, key, how.fold, how.from_body and "coroutine" or
			"thread", by_thread and " --tables thread" or ""),
		 rows = function() return make(s, how) end,
		 change = checker(columns[key]) }
end

function tree.checks(s, random)
	return { tree.some_check(s, random, "", top_down),
		 tree.some_check(s, random, "", top_down) }
end

return tree
