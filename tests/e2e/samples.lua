-- samples.lua DUMP OUT PROGRAM-SYMBOLS LIBRARY-SYMBOLS KERNEL: compares the samples in
-- the output of weft dump --raw with the lines "call FUNCTION PID TID FROM TO"
-- of the program, by the symbols that nm -S prints. KERNEL: "yes" if the
-- kernel's own code is sampled.
-- SPDX-License-Identifier: MIT
local dump, out, program, library, kernel = table.unpack(arg)
local bad = false
local function check(ok, ...)
	if not ok then
		print(string.format(...))
		bad = true
	end
end

-- By key "FUNCTION PID TID": the calls, rising.
local calls, by_name = {}, {}
for line in io.lines(out) do
	local name, pid, tid, from, to =
		line:match("^call (%S+) (%d+) (%d+) (%d+) (%d+)$")
	if name then
		local key = name .. " " .. pid .. " " .. tid
		calls[key] = calls[key] or {}
		table.insert(calls[key], { math.tointeger(from),
					   math.tointeger(to) })
		if name ~= "asks" then
			by_name[name] = { seen = 0, right = 0 }
		end
	end
end

local function symbols(path)
	local list = {}
	for line in io.lines(path) do
		local at, size, name = line:match("^(%x+) (%x+) [tT] (%S+)$")
		if at and by_name[name] then
			at = tonumber(at, 16)
			list[#list + 1] = { at, at + tonumber(size, 16), name }
		end
	end
	return list
end
local code = {}
code["p_samples"] = symbols(program)
code["p_spin_plug"] = symbols(library)

local function is_within(list, tick)
	local low, high = 1, #list
	while list and low <= high do
		local middle = (low + high) // 2
		if tick < list[middle][1] then
			high = middle - 1
		elseif tick > list[middle][2] then
			low = middle + 1
		else
			return true
		end
	end
	return false
end

-- By "PID TID": the spans in which samples were taken. A thread that comes to a
-- CPU more often than samples do has gaps between them.
local spans = {}

-- How much of a function's calls lies in such spans, 0 to 1.
local function coverage(name)
	local whole, known = 0, 0
	for key, list in pairs(calls) do
		local function_, thread = key:match("^(%S+) (.*)$")
		for _, call in ipairs(function_ == name and list or {}) do
			whole = whole + call[2] - call[1]
			for _, span in ipairs(spans[thread] or {}) do
				local from = math.max(call[1], span[1])
				local to = math.min(call[2], span[2])
				known = known + math.max(to - from, 0)
			end
		end
	end
	return known / whole
end
local function are_covered(...)
	for _, name in ipairs { ... } do
		if coverage(name) < 0.9 then
			return false
		end
	end
	return true
end

local modules, pid, tid
local all, unnamed = 0, 0
local asked, in_kernel = 0, 0
local function sample(tick, module, offset)
	for _, s in ipairs(code[modules[module]] or {}) do
		if offset >= s[1] and offset < s[2] then
			local name = by_name[s[3]]
			local key = s[3] .. " " .. pid .. " " .. tid
			name.seen = name.seen + 1
			if calls[key] and is_within(calls[key], tick) then
				name.right = name.right + 1
			end
		end
	end
end
-- A chunk may come again, longer; only the last one has samples.
for line in io.lines(dump) do
	local p, t = line:match("^chunk .* pid=(%d+) tid=(%d+) ")
	if p then
		pid, tid, modules = p, t, {}
	end
	local number, path = line:match('^  item @%d+ module (%d+) .*"(.*)"$')
	if number then
		modules[number] = path:match("[^/]*$")
	end
	local from, to = line:match("^  item @%d+ samples period=%d+ (%d+)%-(%d+)$")
	if from then
		local thread = pid .. " " .. tid
		spans[thread] = spans[thread] or {}
		table.insert(spans[thread], { math.tointeger(from),
					      math.tointeger(to) })
	end
	local tick, place = line:match("^    @(%d+) (.+)$")
	if tick then
		local m, offset = place:match("^module (%d+) %+ 0x(%x+)$")
		local asks = calls["asks " .. pid .. " " .. tid]
		all = all + 1
		if asks and is_within(asks, math.tointeger(tick)) then
			asked = asked + 1
			in_kernel = in_kernel + (place == "in the kernel" and 1
						 or 0)
		end
		if place == "in the kernel" then
			check(kernel == "yes", "a sample in the kernel")
		elseif m then
			sample(math.tointeger(tick), m, tonumber(offset, 16))
		else
			unnamed = unnamed + 1
		end
	end
end

for name, n in pairs(by_name) do
	local known = coverage(name)
	print(string.format("note: %s: %d samples of %.0f %% of its time, " ..
			    "%d of them in a call of it", name, n.seen,
			    100 * known, n.right))
	check(known < 0.9 or n.seen >= 50, "%s: only %d samples", name, n.seen)
	check(n.right >= 0.99 * n.seen, "%s: %d of %d samples lie in its calls",
	      name, n.right, n.seen)
end
-- Poisson's error of this difference, four times; and 10 %, because the two
-- loops need not run alike where others share the processor's core.
local three, one = by_name.three.seen, by_name.one.seen
check(not are_covered("three", "one") or
      math.abs(three - 3 * one) < 4 * math.sqrt(three + 9 * one) + 0.1 * three,
      "three: %d samples, one: %d: not 3 : 1", three, one)
-- They spin for as long. What a library maps is known from a moment after that.
local plug, last = by_name.plug_spin.seen, by_name.last.seen
check(not are_covered("plug_spin", "last") or plug > 0.75 * last, "plug_spin: %d samples, last: %d", plug, last)
check(unnamed < 0.1 * all, "%d of %d samples are in no module", unnamed, all)
print(string.format("note: asks: %d of %d samples in the kernel", in_kernel,
		    asked))
if kernel == "yes" then
	check((asked > 50 or not are_covered("asks")) and
	      in_kernel >= 0.8 * asked,
	      "asks: %d of %d samples in the kernel", in_kernel, asked)
end
os.exit(not bad)
