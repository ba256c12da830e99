-- log.lua - reads what tests/reference/made says has happened: who took part,
-- and the events in order of time.
-- SPDX-License-Identifier: MIT
local log = {}

local function base_name(path)
	return path:match("([^/]+)$")
end

-- The columns function,language,module,file,line of a report.
local function name(kind, rest)
	local a, b, c, ordinal, d = table.unpack(rest)
	if kind == "code" then
		return { "code at " .. a, "native", "", "", "0" }
	elseif kind == "native" then
		local called = c ~= "-" and c or base_name(a) .. "+" .. b
		return { called, "native", a, "", "0" }
	end
	local file = a:sub(2)
	local hint = (d == "-" or d == "?") and "function" or d
	-- Those that share their lines are counted from the second on.
	local which = ordinal == "0" and "" or "#" .. ordinal + 1
	local called = b == "0" and "main chunk <" .. base_name(file) .. ">" or
		hint .. " <" .. base_name(file) .. ":" .. b .. which .. ">"
	return { called, "lua", "", file, b, hint = d }
end

local facts = {
	func = function(l, id, kind, ...)
		l.funcs[tonumber(id)] = name(kind, { ... })
	end,
	process = function(l, serial, pid, path)
		l.processes[tonumber(serial)] = { pid = pid, path = path }
	end,
	thread = function(l, serial, process, tid, called)
		l.threads[tonumber(serial)] = { process = tonumber(process),
			tid = tid, name = called, serial = tonumber(serial) }
	end,
	vm = function(l, serial, process, abi)
		l.vms[tonumber(serial)] = { process = tonumber(process),
					    abi = abi }
	end,
	label = function(l, process, key, value)
		process = tonumber(process)
		l.labels[process] = l.labels[process] or {}
		l.labels[process][key] = value
	end,
	known = function(l, thread, from, to)
		table.insert(l.known, { thread = tonumber(thread),
			from = tonumber(from), to = tonumber(to), off = {} })
	end,
	off = function(l, _, from, to, is_ready)
		table.insert(l.known[#l.known].off, { from = tonumber(from),
			to = tonumber(to), is_ready = is_ready == "1" })
	end,
}

function log.read(path)
	local l = { funcs = {}, processes = {}, threads = {}, vms = {},
		    known = {}, labels = {}, events = {} }
	for line in io.lines(path) do
		local words = {}
		for word in line:gmatch("%S+") do
			words[#words + 1] = word
		end
		if facts[words[1]] then
			facts[words[1]](l, table.unpack(words, 2))
		else
			table.insert(l.events, { tick = tonumber(words[1]),
				what = words[2], thread = tonumber(words[3]),
				a = tonumber(words[4]) or words[4],
				b = tonumber(words[5]) or words[5],
				c = tonumber(words[6]) or words[6] })
		end
	end
	return l
end

-- Which of an event's numbers, beside its thread, is what.
local numbers = { enter = { "func" }, create = { "co", "vm" },
		  resume = { "co" }, suspend = { "co" }, cut = { "co" } }

-- Two logs as one: the same function is the same, all others are others.
function log.join(a, b)
	local of, far = {}, 1000 + (a.far or 0)
	local l = { funcs = {}, processes = {}, threads = {}, vms = {},
		    known = {}, labels = {}, events = {}, far = far }
	for name, list in pairs(l) do
		for k, v in pairs(name == "far" and {} or a[name]) do
			list[k] = v
		end
	end
	for id = 0, #a.funcs do
		of[table.concat(a.funcs[id], "\n")] = id
	end
	for id = 0, #b.funcs do
		local key = table.concat(b.funcs[id], "\n")
		if not of[key] then
			of[key] = #l.funcs + 1
			l.funcs[of[key]] = b.funcs[id]
		end
	end
	local function move(what, n)
		if what == "func" then
			return of[table.concat(b.funcs[n], "\n")]
		end
		return n == 0 and 0 or n + far
	end
	for serial, process in pairs(b.processes) do
		l.processes[serial + far] = process
	end
	for serial, t in pairs(b.threads) do
		l.threads[serial + far] = { process = t.process + far,
			tid = t.tid, name = t.name, serial = serial + far }
	end
	for serial, vm in pairs(b.vms) do
		l.vms[serial + far] = { process = vm.process + far,
					abi = vm.abi }
	end
	for _, k in ipairs(b.known) do
		table.insert(l.known, { thread = k.thread + far,
			from = k.from, to = k.to, off = k.off })
	end
	for _, e in ipairs(b.events) do
		local moved = { tick = e.tick, what = e.what, a = e.a, b = e.b,
				c = e.c, thread = e.thread + far }
		for i, what in ipairs(numbers[e.what] or {}) do
			local field = ("abc"):sub(i, i)
			moved[field] = move(what, e[field])
		end
		table.insert(l.events, moved)
	end
	return l
end

return log
