-- compare.lua ACCOUNT REPORT TREE COROUTINES SKIPPED: compares what the random program
-- says it did with what weft says it did. SKIPPED: "" if nobody knows it. Exact: every difference is printed
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

-- The columns of a tree that are needed, quickly: most rows have no quotes.
local QUICK = "^(%d+),(%d+),%d+,([^,\"]*),(%l*),([^,\"]*),[^,\"]*,(%d*)," ..
	"%d,(%d+)"
local function tree_row(line)
	local id, parent, func, language, module, at, calls = line:match(QUICK)
	if not id then
		local f = fields(line)
		id, parent, func, language, module, at, calls = f[1], f[2],
			f[4], f[5], f[6], f[8], f[10]
	end
	return id, parent, func, language, module, at, tonumber(calls)
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

-- Calls that are deep in a stack are in neither: it is not known how many of the
-- handlers were.
local is_limited = os.getenv("WOVEN_DEPTH") ~= nil

-- The account.
local want = { threads = {}, calls = {}, coroutines = {}, snaps = {},
	funcs = {}, count = 0, skipped = 0 }
local lua_at = { ["0"] = "chunk" }
do
	local stack, last
	for line in lines_of(arg[1]) do
		local key, a, b, c = line:match("^(%S+) (%S+) ?(%S*) ?(%S*)")
		if key == "thread" then
			stack = { [-1] = node() }
			want.threads[b] = stack[-1]
		elseif key == "func" then
			want.funcs[a] = true
		elseif key == "skipped" then
			want.skipped = want.skipped + tonumber(a)
		elseif key == "handler" then
			stack[-1].handler, stack[-1].helps = tonumber(a), tonumber(b)
			if not is_limited then
				want.calls.on_tick = (want.calls.on_tick or 0) +
					tonumber(a)
				want.calls.t_help = (want.calls.t_help or 0) +
					tonumber(b)
			end
		elseif key == "ticks" then
			last.ticks = (last.ticks or 0) + tonumber(a)
		elseif key == "node" then
			local depth = tonumber(a)
			local n = child(stack[depth - 1], c)
			n.calls = n.calls + tonumber(b)
			stack[depth], last = n, n
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

-- coroutine.wrap's function is called after that, or has no name.
local function of_library(name)
	return not name:find("^return of ") and
		library[name:match("([%w_]+)$") or ""] or "l_wrapped"
end

local is_luajit = false
local function name_of(row)
	local name = row["function"]
	if row.language == "native" and row.module == "" then
		-- One of LuaJIT's own, which is in no module.
		is_luajit = true
		return of_library(name)
	elseif row.language == "lua" then
		local at = row.line .. (name:match("(#%d+)>$") or "")
		return lua_at[at] or "Lua function at line " .. at
	end
	-- Compilers split and specialise functions.
	name = name:gsub("%.constprop%.%d+", ""):gsub("%.isra%.%d+", "")
	name = name:gsub("%.part%.%d+", ""):gsub("%.cold", "")
	-- C++ functions go by a part of their names; the library's do not count.
	local own = name:match("x_[%w_]+") or name
	if want.funcs[own] or name:find("^snap_") then
		return own
	elseif name:find("std::") or name:find("__gnu_cxx::") or
		-- clang 19 writes names that no libstdc++ up to 16 can read.
		name:find("^_ZNK?St") or name:find("operator") then
		return nil
	elseif not row.module:find("lua", 1, true) then
		return name
	end
	return of_library(name)
end

-- Opening a library is a call from C that the program does not see. Code that is
-- not recorded, and that samples met, has time and no calls.
local function is_unseen(name)
	return name:find("^luaopen_") or name:find(" %[sampled%]$")
end

-- Every stack of every thread, with its calls.
local got_threads = {}
do
	local by_id = {}
	local names = {}
	local next_line = lines_of(arg[3])
	assert(next_line():find("^node,parent,depth,function,language,module," ..
		"file,line,is_body,calls,"), "the tree has other columns")
	for line in next_line do
		local id, parent, func, language, module, at, calls =
			tree_row(line)
		if parent == "0" then
			local tid = func:match("^%[thread (%d+)")
			by_id[id] = node()
			got_threads[tid or func] = by_id[id]
		else
			local key = func .. "," .. module .. at
			if names[key] == nil then
				names[key] = not is_unseen(func) and name_of {
					["function"] = func, line = at,
					language = language, module = module,
				} or false
			end
			local n = by_id[parent]
			if names[key] then
				n = child(n, names[key])
				n.calls = n.calls + calls
			end
			by_id[id] = n
		end
	end
end

-- A path is shown from its inner end.
local function path_text(path)
	local from = math.max(1, #path - 9)
	return (from > 1 and "... " or "") .. table.concat(path, " > ", from)
end

-- Handlers may stand on any call. Takes them out of the tree below n; gives how
-- many of them there were.
local function take_handlers(n)
	local h = n.children.on_tick
	local runs, helps = 0, 0
	if h then
		n.children.on_tick = nil
		runs = h.calls
		while h do
			local next_one
			for name, c in pairs(h.children) do
				if name ~= "t_help" then
					differ("the handler calls %s", name)
				end
				next_one = c
			end
			h = next_one
			helps = helps + (h and h.calls or 0)
		end
	end
	for _, c in pairs(n.children) do
		local r, l = take_handlers(c)
		runs, helps = runs + r, helps + l
	end
	n.ticks = runs
	return runs, helps
end

-- Where the account knows on what the handlers stood, there they stand. (They
-- were held back elsewhere in those calls.)
local function compare_ticks(path, a, b)
	for name, c in pairs(a.children) do
		path[#path + 1] = name
		local d = b.children[name]
		if d and name == "n_spin" and (c.ticks or 0) >= 0 and
				(c.ticks or 0) ~= d.ticks then
			differ("%d handlers, but weft says %d: %s",
				c.ticks or 0, d.ticks, path_text(path))
		elseif d then
			compare_ticks(path, c, d)
		end
		path[#path] = nil
	end
end

-- Where nobody tells of tail calls they are calls: who called whom is not
-- compared.
local tails_are_calls = os.getenv("TAILS") == "calls"

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
	local got = got_threads[tid] or node()
	local runs, helps = take_handlers(got)
	if not is_limited and (runs ~= root.handler or
			not tails_are_calls and helps ~= root.helps) then
		differ("thread %s: handlers %d and %d, but weft says %d and %d",
			tid, root.handler, root.helps, runs, helps)
	end
	if not tails_are_calls then
		compare_node({ "thread " .. tid }, root, got)
	end
	-- At a limit of depth, a handler that comes at the moment of the last
	-- call's entry may be taken for one that is too deep.
	if not tails_are_calls and not is_limited then
		compare_ticks({ "thread " .. tid }, root, got)
	end
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
		if name then
			got_calls[name] = (got_calls[name] or 0) +
				tonumber(row.calls)
		end
	end
end
for name, calls in pairs(want.calls) do
	if (got_calls[name] or 0) ~= calls then
		differ("%s: %d calls, but weft says %s", name, calls,
			got_calls[name] or "none")
	end
	got_calls[name] = nil
end
if is_limited then
	got_calls.on_tick, got_calls.t_help = nil, nil
end
for name, calls in pairs(got_calls) do
	if calls > 0 or not tails_are_calls then
		differ("%s: no calls, but weft says %d", name, calls)
	end
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

-- Calls that ended otherwise than by their return: no more than there were.
-- (LuaJIT does not tell when an error is caught, nor of C functions' returns.)
local skips_known = not is_luajit and not tails_are_calls and arg[5] ~= ""
if skips_known and tonumber(arg[5]) ~= want.skipped then
	differ("%d calls were skipped, but weft says %s", want.skipped, arg[5])
end

if wrong > MAX_SHOWN then
	print(("  ... %d differences in all"):format(wrong))
end
os.exit(wrong == 0)
