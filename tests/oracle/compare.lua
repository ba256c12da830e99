-- compare.lua ACCOUNT REPORT TREE COROUTINES: compares what the random program
-- says it did with what weft says it did. Exact: every difference is printed
-- and fails. Knows only the account's text and weft's CSV.
-- SPDX-License-Identifier: MIT
local MAX_SHOWN = 12
local wrong = 0

local function differ(...)
	wrong = wrong + 1
	if wrong <= MAX_SHOWN then
		print("  " .. string.format(...))
	end
end

local function lines_of(path)
	local file = assert(io.open(path))
	local text = file:read("a")
	file:close()
	return text:gmatch("([^\n]*)\n")
end

-- One row of CSV: fields may be quoted.
local function fields(line)
	local out, at = {}, 1
	while at <= #line + 1 do
		if line:sub(at, at) == '"' then
			local text = ""
			repeat
				local stop = assert(line:find('"', at + 1, true), line)
				text = text .. line:sub(at + 1, stop - 1)
				at = stop + 1
				local again = line:sub(at, at) == '"'
				if again then
					text = text .. '"'
				end
			until not again
			out[#out + 1] = text
			at = at + 1
		else
			local stop = line:find(",", at, true) or #line + 1
			out[#out + 1] = line:sub(at, stop - 1)
			at = stop + 1
		end
	end
	return out
end

-- The rows as tables by the names of the header row.
local function rows_of(path)
	local next_line = lines_of(path)
	local head = fields(next_line() or error(path .. " is empty"))
	return function()
		local line = next_line()
		if not line then
			return nil
		end
		local row = {}
		for i, value in ipairs(fields(line)) do
			row[head[i] or error("no such column: " .. line)] = value
		end
		return row
	end
end

local function node()
	return { calls = 0, children = {} }
end

local function child(parent, name)
	local c = parent.children[name]
	if not c then
		c = node()
		parent.children[name] = c
	end
	return c
end

-- The account.
local want = { threads = {}, calls = {}, coroutines = {}, snaps = {},
	count = 0 }
local lua_at = { ["0"] = "chunk" }
do
	local stack
	for line in lines_of(arg[1]) do
		local key, a, b, c = line:match("^(%S+) (%S+) ?(%S*) ?(%S*)")
		if key == "thread" then
			stack = { [-1] = node() }
			want.threads[b] = stack[-1]
		elseif key == "node" then
			local depth = tonumber(a)
			local n = child(stack[depth - 1], c)
			n.calls = n.calls + tonumber(b)
			stack[depth] = n
			want.calls[c] = (want.calls[c] or 0) + tonumber(b)
		elseif key == "line" then
			lua_at[a] = b
		elseif key == "coroutine" then
			local id = (a == "0" and "" or c) .. " resumes " .. a ..
				(b == "0" and "" or " moved")
			want.coroutines[id] = (want.coroutines[id] or 0) + 1
			want.count = want.count + 1
		elseif key == "snap" then
			want.snaps[a] = line:match("^snap (.*)")
		end
	end
end

-- Lua's own functions, by the names that weft may know them by.
local library = {}
for ours, theirs in pairs {
	l_create = "create luaB_cocreate", l_wrap = "wrap luaB_cowrap",
	l_resume = "resume luaB_coresume", l_yield = "yield luaB_yield",
	l_close = "close luaB_close", l_pcall = "pcall luaB_pcall",
	l_xpcall = "xpcall luaB_xpcall", l_error = "error luaB_error",
	l_sort = "sort", l_gsub = "gsub str_gsub",
} do
	for name in theirs:gmatch("%S+") do
		library[name] = ours
	end
end

local function name_of(row)
	local name = row["function"]
	if row.language == "lua" then
		return lua_at[row.line] or "Lua function at line " .. row.line
	end
	-- Compilers split and specialise functions.
	name = name:gsub("%.constprop%.%d+", ""):gsub("%.isra%.%d+", "")
	name = name:gsub("%.part%.%d+", ""):gsub("%.cold", "")
	if want.calls[name] or not row.module:find("lua", 1, true) then
		return name
	end
	-- coroutine.wrap's function has no name of its own.
	return library[name:match("([%w_]+)$") or ""] or "l_wrapped"
end

-- Opening a library is a call from C that the program does not see.
local function is_unseen(name)
	return name:find("^luaopen_") ~= nil
end

-- Every stack of every thread, with its calls.
local got_threads = {}
do
	local by_id = {}
	for row in rows_of(arg[3]) do
		if row.parent == "0" then
			local tid = row["function"]:match("^%[thread (%d+)")
			local n = node()
			by_id[row.node] = n
			got_threads[tid or row["function"]] = n
		elseif not is_unseen(row["function"]) then
			local n = child(by_id[row.parent], name_of(row))
			n.calls = n.calls + tonumber(row.calls)
			by_id[row.node] = n
		end
	end
end

-- A path is shown from its inner end.
local function path_text(path)
	local from = math.max(1, #path - 9)
	return (from > 1 and "... " or "") .. table.concat(path, " > ", from)
end

local empty = node()
local function compare_node(path, a, b)
	if a.calls ~= b.calls then
		differ("%d calls, but weft says %d: %s", a.calls, b.calls,
			path_text(path))
	end
	local names = {}
	for name in pairs(a.children) do
		names[name] = true
	end
	for name in pairs(b.children) do
		names[name] = true
	end
	for name in pairs(names) do
		path[#path + 1] = name
		compare_node(path, a.children[name] or empty,
			b.children[name] or empty)
		path[#path] = nil
	end
end
for tid, root in pairs(want.threads) do
	if not got_threads[tid] then
		differ("weft does not know thread %s", tid)
	end
	compare_node({ "thread " .. tid }, root, got_threads[tid] or empty)
	got_threads[tid] = nil
end
for tid in pairs(got_threads) do
	differ("weft knows a thread too many: %s", tid)
end

-- Calls of every function.
local got_calls = {}
for row in rows_of(arg[2]) do
	if not is_unseen(row["function"]) then
		local name = name_of(row)
		got_calls[name] = (got_calls[name] or 0) + tonumber(row.calls)
	end
end
for name, calls in pairs(want.calls) do
	if got_calls[name] ~= calls then
		differ("%s: %d calls, but weft says %s", name, calls,
			got_calls[name] or "none")
	end
	got_calls[name] = nil
end
for name, calls in pairs(got_calls) do
	differ("%s: no calls, but weft says %d", name, calls)
end

-- Coroutines: how many, of which body, how often resumed, moved or not.
local count = 0
for row in rows_of(arg[4]) do
	local id = (row.resumes == "0" and "" or name_of(row)) ..
		" resumes " .. row.resumes ..
		(row.threads:find(" ", 1, true) and " moved" or "")
	want.coroutines[id] = (want.coroutines[id] or 0) - 1
	count = count + 1
end
if count ~= want.count then
	differ("%d coroutines, but weft says %d", want.count, count)
end
for id, left in pairs(want.coroutines) do
	if left ~= 0 then
		differ("%+d coroutine(s) \"%s\" that weft does not have", left, id)
	end
end

if wrong > MAX_SHOWN then
	print(("  ... %d differences in all"):format(wrong))
end
os.exit(wrong == 0)
