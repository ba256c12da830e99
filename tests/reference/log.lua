-- log.lua - reads what tests/reference/made says has happened: who took part,
-- and the events in order of time.
-- SPDX-License-Identifier: MIT
local log = {}

local function base_name(path)
	return path:match("([^/]+)$")
end

-- The columns function,language,module,file,line of a report.
local function name(kind, rest)
	local a, b, c, d = table.unpack(rest)
	if kind == "code" then
		return { "code at " .. a, "native", "", "", "0" }
	elseif kind == "native" then
		local called = c ~= "-" and c or base_name(a) .. "+" .. b
		return { called, "native", a, "", "0" }
	end
	local file = a:sub(2)
	local hint = (d == "-" or d == "?") and "function" or d
	local called = b == "0" and "main chunk <" .. base_name(file) .. ">" or
		hint .. " <" .. base_name(file) .. ":" .. b .. ">"
	return { called, "lua", "", file, b }
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
	known = function(l, thread, from, to)
		table.insert(l.known, { thread = tonumber(thread),
			from = tonumber(from), to = tonumber(to), off = {} })
	end,
	off = function(l, _, from, to)
		table.insert(l.known[#l.known].off, { from = tonumber(from),
						      to = tonumber(to) })
	end,
}

function log.read(path)
	local l = { funcs = {}, processes = {}, threads = {}, vms = {},
		    known = {}, events = {} }
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

return log
