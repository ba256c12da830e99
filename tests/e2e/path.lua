-- path.lua PROGRAM CSV: what p_path printed of each request, against the steps that
-- weft path has of it. Prints what differs; fails if more does than another
-- program on the processor explains.
-- SPDX-License-Identifier: MIT

-- By thread, in the order in which they began.
local function add(to, tid, begin, r)
	to[tid] = to[tid] or {}
	r.begin = begin
	table.insert(to[tid], r)
end

local function sort(all)
	for _, list in pairs(all) do
		table.sort(list, function(a, b) return a.begin < b.begin end)
	end
	return all
end

local said, count = {}, 0
for line in io.lines(arg[1]) do
	local tid, begin, wall, waits, suspended, holder = line:match(
		"^request (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$")
	if tid then
		count = count + 1
		add(said, tid, tonumber(begin), { wall = tonumber(wall),
			waits = tonumber(waits), holder = holder,
			suspended = tonumber(suspended) })
	end
end

-- Sampled Lua may not say who makes a call where another thread forgets a coroutine.
local bad, off, unsaid = 0, 0, 0
local function wrong(...)
	print(...)
	bad = bad + 1
end

local calls = { spin = true, nap = true, use_pool = true, usleep = true,
	pthread_mutex_lock = true }

-- The steps: those of depth 0 are the request's; those below one fill its time.
local found, by_number, head = {}, {}, nil
local until_of, end_of = {}, {}
for line in io.lines(arg[2]) do
	local row, i = {}, 0
	for cell in (line .. ","):gmatch("([^,]*),") do
		i = i + 1
		row[head and head[i] or i] = cell
	end
	if not head then
		head = row
	else
		local depth, start = tonumber(row.depth), tonumber(row.start_ns)
		local to = start + tonumber(row.time_ns)
		local r = by_number[row.request]
		-- Rounded to ns each.
		for d, at in pairs(until_of) do
			if d > depth then
				if math.abs(at - end_of[d - 1]) > 5 then
					wrong("steps end early", line)
				end
				until_of[d] = nil
			end
		end
		if not r then
			r = { wall = 0, sum = {} }
			by_number[row.request] = r
			add(found, row.tid, start, r)
			until_of[0] = nil
		end
		if depth == 0 then
			r.wall = r.wall + to - start
			r.sum[row.what] = (r.sum[row.what] or 0) + to - start
			local called = row.stack:match(";([%l_]+)$")
			if calls[called] and not row.stack:find(
			   ";serve <requests:15>;handle <requests:2>;", 1,
			   true) then
				print("not handle's call", line)
				unsaid = unsaid + 1
			end
			if row.what == "waits" and row.by_tid ~= "0" then
				r.holder, r.by = row.by_tid, row.by_stack
			end
			if row.what == "suspended" and
			   not row.by_stack:find(";run_all", 1, true) then
				wrong("resumed by", line)
			end
		end
		local before = until_of[depth] or
			(depth > 0 and end_of[depth - 1 .. "b"] or start)
		if math.abs(before - start) > 5 then
			wrong("a gap before", line)
		end
		until_of[depth], end_of[depth] = to, to
		end_of[depth .. "b"] = start
	end
end

local held = 0
sort(found)
for tid, list in pairs(sort(said)) do
	for i, r in ipairs(list) do
		local f = found[tid] and found[tid][i]
		if not f then
			wrong("no request", i, "of", tid)
			break
		end
		local limit = 20000 + 0.01 * r.wall
		local asleep = f.sum.suspended or 0
		if math.abs(f.wall - r.wall) > limit or
		   math.abs(asleep - r.suspended) > limit then
			print("request", i, "of", tid, f.wall, asleep, "not",
				r.wall, r.suspended)
			off = off + 1
		end
		if r.holder ~= "0" then
			held = held + 1
			if f.holder ~= r.holder or not f.by:find(
			   "handle.*;use_pool;pthread_mutex_unlock$") then
				wrong("request", i, "of", tid, "waits for",
					f.holder, f.by, "not", r.holder)
			end
		end
	end
end
print(count .. " requests, " .. held .. " waited, " .. off .. " differ")
os.exit(bad == 0 and off <= 10 and unsaid <= 10 and count == 1000 and held >= 20)
