-- group.lua - what the rows of "weft report --by" stand for: of a stack, the
-- group of each frame, and that of the thread itself, if it is of one.
-- SPDX-License-Identifier: MIT
local group = { by = {} }

local function by_frame(name_of)
	return function(s, _, stack)
		local list = {}
		for i, frame in ipairs(stack) do
			list[i] = name_of(s.log.funcs[frame.func], frame.func)
		end
		return list
	end
end

group.by["function"] = by_frame(function(_, func) return func end)
group.by.module = by_frame(function(f)
	return f[3] ~= "" and f[3] or f[2] == "lua" and "[Lua]" or
		"[no module]"
end)
group.by.file = by_frame(function(f)
	return f[4] ~= "" and f[4] or "[file not known]"
end)
group.by.language = by_frame(function(f) return f[2] end)

-- The outermost function of the coroutine a frame stands in.
function group.by.body(_, _, stack)
	local list, body = {}, "[no coroutine]"
	for i, frame in ipairs(stack) do
		body = frame.is_body and frame.func or body
		list[i] = body
	end
	return list
end

local function is_one_process(s)
	local first
	for serial in pairs(s.began) do
		local process = s.log.threads[serial].process
		if first and first ~= process then
			return false
		end
		first = process
	end
	return true
end

local function of_process(s, process)
	return is_one_process(s) and "" or
		" of process " .. s.log.processes[process].pid
end

local function vm_name(s, vm)
	local v = s.log.vms[vm]
	local abi = v.abi == "21" and "LuaJIT" or
		("Lua %s.%s"):format(v.abi:sub(1, 1), v.abi:sub(2, 2))
	return abi .. " state " .. vm .. of_process(s, v.process)
end

-- The only Lua state of a process, if there is just one.
local function only_vm(s, process)
	local vm
	for _, co in pairs(s.coroutines) do
		if co.process == process then
			if vm and vm ~= co.vm then
				return nil
			end
			vm = co.vm
		end
	end
	return vm
end

-- That of the coroutine; of a thread's frames from the first Lua frame on.
function group.by.vm(s, thread, stack)
	local list, here = {}, "[outside Lua]"
	for i, frame in ipairs(stack) do
		if frame.is_body then
			here = vm_name(s, s.coroutines[frame.of].vm)
		elseif here == "[outside Lua]" and
		       s.log.funcs[frame.func][2] == "lua" then
			local vm = only_vm(s, s.log.threads[thread].process)
			here = vm and vm_name(s, vm) or "[Lua state not known]"
		end
		list[i] = here
	end
	return list
end

local function by_thread(name_of)
	return function(s, thread, stack)
		local name = name_of(s, s.log.threads[thread])
		local list = { [0] = name }
		for i in ipairs(stack) do
			list[i] = name
		end
		return list
	end
end

group.by.thread = by_thread(function(s, t)
	return t.tid .. " " .. t.name .. of_process(s, t.process)
end)
group.by.process = by_thread(function(s, t)
	local p = s.log.processes[t.process]
	return p.pid .. " " .. p.path:match("[^/]*$")
end)
group.by.label = by_thread(function(s, t)
	local labels, list = {}, {}
	for _, of in ipairs { 0, t.process } do
		for key, value in pairs(s.log.labels[of] or {}) do
			labels[key] = value
		end
	end
	for key, value in pairs(labels) do
		list[#list + 1] = key .. "=" .. value
	end
	table.sort(list)
	return #list > 0 and table.concat(list, " ") or "[no label]"
end)

-- What a row begins with.
function group.columns(s, by, key)
	local who = by == "function" and s.log.funcs[key]
	if by == "body" then
		who = s.log.funcs[key] or { key, "", "", "", "0" }
	end
	return who and { table.unpack(who) } or { key }
end

return group
