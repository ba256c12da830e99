-- fibers.lua OUT REPORT TREE COROUTINES [late]: compares what p_fibers says it
-- did with what weft says. Exact: every difference is printed and fails. late:
-- recording began in the middle; what was open then has no name, and each Lua
-- state is seen from its next boundary on.
-- SPDX-License-Identifier: MIT
local wrong = false
local is_late = arg[5] == "late"
local function differ(...)
	print(string.format(...))
	wrong = true
end

-- Rows of CSV by the names of the header row; no field here has a quote in it.
local function rows_of(path)
	local head
	local next_line = io.lines(path)
	local function fields(line)
		local out = {}
		for quoted, plain in (line .. ","):gmatch('"?([^",]*)"?,') do
			out[#out + 1] = quoted
		end
		return out
	end
	head = fields(next_line())
	return function()
		local line = next_line()
		if not line then
			return nil
		end
		local row = {}
		for i, value in ipairs(fields(line)) do
			row[head[i] or error("too many fields: " .. line)] = value
		end
		return row
	end
end

local want = { calls = {}, edges = {}, resumes = {}, fibers = {}, moved = {},
	ended = {} }
local lua_at = {}
for line in io.lines(arg[1]) do
	local what, n, name = line:match("^(%l+) (%d+) (.+)$")
	if what == "line" then
		lua_at[n] = name
	else
		if is_late and name:find("^body_") then
			name = "a body"
		end
		want[what][name] = (want[what][name] or 0) + tonumber(n)
	end
end
local function name_of(row)
	if is_late and row.kind == "native" then
		return "a body"
	end
	return row.language == "lua" and lua_at[row.line] or row["function"]
end

local got = { calls = {}, edges = {}, resumes = {}, fibers = {},
	moved = {}, ended = {} }
local function add(what, name, n)
	got[what][name] = (got[what][name] or 0) + tonumber(n)
end
for row in rows_of(arg[2]) do
	add("calls", name_of(row), row.calls)
end
do
	local names = {}
	for row in rows_of(arg[3]) do
		names[row.node] = name_of(row)
		if row.is_body == "0" and names[row.parent] then
			add("edges", names[row.parent] .. " " .. names[row.node],
				row.calls)
		end
	end
end
local ids = {}
for row in rows_of(arg[4]) do
	local name = name_of(row)
	local is_native = name:find("^body_") ~= nil or name == "a body"
	add("resumes", name, row.resumes)
	if ids[row.id] then
		differ("coroutine %s is there twice", row.id)
	end
	ids[row.id] = true
	if is_native then
		add("fibers", name, 1)
		add("ended", name, row.state == "returned" and 1 or 0)
		add("moved", name, row.threads:find(" ") and 1 or 0)
	end
	if (row.kind == "native") ~= is_native then
		differ("%s is said to be %s", name, row.kind)
	end
	if is_native and row.vm == "0" and not is_late then
		differ("no Lua state is booked to %s", name)
	end
end

-- Each Lua state misses less than one turn of its loops. A coroutine that was
-- running then is there with a resume of its own: one in each of 12 fibers.
local function is_near(what, name, n, seen)
	return is_late and (what == "edges" or (name:find("^l") and
		name ~= "leaf" and n - seen <= 16 and
		seen - n <= (what == "resumes" and 12 or 0)))
end
for name, n in pairs(got.ended) do
	if n ~= 0 and not want.ended[name] then
		differ("%s is said to have ended", name)
	end
end
for what, numbers in pairs(want) do
	for name, n in pairs(numbers) do
		local seen = got[what][name] or 0
		if n ~= seen and not is_near(what, name, n, seen) then
			differ("%s of %s: %d, but weft says %d", what, name, n,
				seen)
		end
		got[what][name] = nil
	end
end
for name, n in pairs(got.resumes) do
	if not is_late then
		differ("no coroutine has %s for a body, but weft says %d",
			name, n)
	end
end
os.exit(not wrong and next(want.calls) ~= nil and
	next(want.resumes) ~= nil)
