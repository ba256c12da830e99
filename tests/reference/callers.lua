-- callers.lua - what "weft callers" must say: of each function, what it did
-- when called from where, and its own time in what it called.
-- SPDX-License-Identifier: MIT
local callers = {}
local outside = { "[outside]", "", "", "", "0" }
local nobody = { "", "", "", "", "0" }

local function figures(of, key)
	of[key] = of[key] or { calls = 0, recursive = 0, self = 0, total = 0,
			       suspended = 0 }
	return of[key]
end

-- A call of frame i by the frame below it: "from to mark".
local function arc_of(stack, i)
	return (i > 1 and stack[i - 1].func or -1) .. " " .. stack[i].func ..
		" " .. (stack[i].is_body and "~" or "-")
end

-- The stack itself, or its coroutines' parts one by one.
local function whole(stack)
	return { stack }
end

local function cut_to_bodies(stack)
	local out = { {} }
	for _, frame in ipairs(stack) do
		if frame.is_body then
			out[#out + 1] = {}
		end
		table.insert(out[#out], frame)
	end
	return out
end

-- What the callee did (into), and how long the caller was in there (out_of).
local function graph(s, stacks_of)
	local into, out_of = {}, {}
	local function meet(event)
		local stacks = stacks_of(event.stack)
		for _, stack in ipairs(stacks) do
			for i in ipairs(stack) do
				figures(into, arc_of(stack, i))
				figures(out_of, arc_of(stack, i))
			end
		end
		return stacks[#stacks]
	end
	for _, ended in ipairs(s.ends) do
		meet(ended)
	end
	for _, call in ipairs(s.calls) do
		local stack = meet(call)
		local arc, is_open = figures(into, arc_of(stack, #stack)), false
		for i = 1, #stack - 1 do
			is_open = is_open or stack[i].func == call.func
		end
		arc.calls = arc.calls + 1
		arc.recursive = arc.recursive + (is_open and 1 or 0)
	end
	for _, slice in ipairs(s.slices) do
		local stack, first, last = meet(slice), {}, {}
		local d = slice.to - slice.from
		for i, frame in ipairs(stack) do
			first[frame.func] = first[frame.func] or i
			last[frame.func] = i
		end
		for _, i in pairs(first) do
			local arc = figures(into, arc_of(stack, i))
			arc.total = arc.total + d
		end
		for _, i in pairs(last) do
			local arc = i < #stack and
				figures(out_of, arc_of(stack, i + 1)) or
				figures(into, arc_of(stack, i))
			local what = i < #stack and "total" or "self"
			arc[what] = arc[what] + d
		end
	end
	for _, sleep in ipairs(s.sleeps) do
		local stack, first, last = meet(sleep), {}, {}
		local d = sleep.to - sleep.from
		for i, frame in ipairs(stack) do
			local is_own = frame.co == sleep.co
			local next_one = stack[i + 1]
			if is_own then
				first[frame.func] = first[frame.func] or i
			end
			-- Who resumed it knows how long the body slept.
			if is_own or next_one and next_one.is_body and
			   next_one.co == sleep.co then
				last[frame.func] = i
			end
		end
		for _, i in pairs(first) do
			local arc = figures(into, arc_of(stack, i))
			arc.suspended = arc.suspended + d
		end
		for _, i in pairs(last) do
			if i < #stack then
				local arc = figures(out_of,
						    arc_of(stack, i + 1))
				arc.suspended = arc.suspended + d
			end
		end
	end
	return into, out_of
end

local function row(relation, who, other, calls, recursive, self, total,
		   suspended)
	local out = { relation }
	table.move(who, 1, 5, 2, out)
	table.move(other, 1, 5, 7, out)
	for _, n in ipairs { calls, recursive, self, total, suspended } do
		out[#out + 1] = n
	end
	return out
end

local function lines(s, into, out_of, is_wanted)
	local own, out = {}, {}
	for key, f in pairs(into) do
		local from, to, mark = key:match("(%S+) (%S+) (%S+)")
		local caller = s.log.funcs[tonumber(from)]
		local callee = s.log.funcs[tonumber(to)]
		local sum = figures(own, callee)
		local inside = out_of[key]
		for what, n in pairs(f) do
			sum[what] = sum[what] + n
		end
		if is_wanted(callee) then
			out[#out + 1] = row(mark == "~" and "resumer" or
				"caller", callee, caller or outside, f.calls,
				f.recursive, f.self, f.total, f.suspended)
		end
		if caller and is_wanted(caller) then
			out[#out + 1] = row(mark == "~" and "resumed" or
				"callee", caller, callee, f.calls,
				f.recursive, f.self, inside.total,
				inside.suspended)
		end
	end
	for who, f in pairs(own) do
		if is_wanted(who) then
			out[#out + 1] = row("function", who, nobody, f.calls,
				f.recursive, f.self, f.total, f.suspended)
		end
	end
	return out
end

-- All functions, or one by its name up to its source.
function callers.checks(s, random)
	local from_body = random(2) == 1
	local function rows_of(is_wanted)
		return function()
			local into, out_of = graph(s, from_body and
						   cut_to_bodies or whole)
			return lines(s, into, out_of, is_wanted)
		end
	end
	local ran = s.calls[random(math.max(#s.calls, 1))]
	local name = ran and s.log.funcs[ran.func][1]:gsub(" <.*", "")
	local root = from_body and " --root coroutine" or ""
	return {
		{ args = "callers --csv --all" .. root,
		  rows = rows_of(function() return true end) },
		ran and { args = "callers --csv" .. root .. " '" .. name .. "'",
		  rows = rows_of(function(who)
			return who[1]:gsub(" <.*", "") == name
		  end) },
	}
end

return callers
