-- weft_module.lua - weft.hook and weft.zone, which are easier to write in Lua.
-- Runs on every Lua from 5.1 on. Its arguments are the module's table and a
-- table of what only C can do. SPDX-License-Identifier: MIT
local weft, core = ...
local running, type, error, select = coroutine.running, type, error, select
local setmetatable, tostring, pairs = setmetatable, tostring, pairs

-- The innermost open call of a hooked function on each coroutine. Each call
-- refers to the one below it.
local open = setmetatable({}, { __mode = "k" })
local main = {}

local function add_child(call, child, total)
	local name = child.hook.name
	local sum = call.children[name]
	if not sum then
		sum = { count = 0, total = 0 }
		call.children[name] = sum
	end
	sum.count = sum.count + 1
	sum.total = sum.total + total
	call.inner = call.inner + total
end

local function total_of(call)
	local total = core.now() - call.start
	if call.below then
		add_child(call.below, call, total)
	end
	return total
end

-- A call that an error has ended. on_call is not called for it.
local function drop(call)
	call.left = true
	total_of(call)
	open[call.key] = call.below
	core.finish()
end

local function drop_above(key, call)
	while open[key] and open[key] ~= call do
		drop(open[key])
	end
end

local closing = { __close = function(call)
	if not call.left then
		drop_above(call.key, call)
		drop(call)
	end
end }

local function push(hook)
	local key = running() or main
	local depth = core.depth()
	-- An error has ended the calls as deep as this one, or deeper.
	while open[key] and open[key].depth >= depth do
		drop(open[key])
	end
	hook.count = hook.count + 1
	local call = setmetatable({
		hook = hook, key = key, depth = depth, below = open[key],
		count = hook.count, children = {}, inner = 0,
	}, closing)
	open[key] = call
	core.begin()
	if hook.is_named then
		call.zone = core.zone(hook.name, 2)
	end
	call.start = core.now()
	return call
end

local function leave(call, ...)
	local total
	drop_above(call.key, call)
	call.left = true
	total = total_of(call)
	open[call.key] = call.below
	if call.zone then
		core.zone_end(call.zone)
	end
	core.finish()
	if call.hook.on_call then
		call.hook.on_call({
			name = call.hook.name, count = call.count,
			total = total, self = total - call.inner,
			children = call.children,
		})
	end
	return ...
end

-- From 5.4 on an error ends the call at once. In older versions the next hooked
-- call on the coroutine, or the end of an outer one, finds that it has ended.
local wrap = (loadstring or load)([[
	local push, leave = ...
	return function(hook, fn)
		return function(...)
			local call ]] .. (core.closes and "<close>" or "") .. [[

				= push(hook)
			return leave(call, fn(...))
		end
	end
]], "=[weft]")(push, leave)

local function check(value, kind, arg, what, optional)
	if type(value) == kind or optional and value == nil then
		return
	end
	error(("bad argument #%d to '%s' (%s expected, got %s)"):format(arg, what,
		kind, value == nil and "no value" or type(value)), 3)
end

-- Returns a function that does what fn does, and is recorded with all that it
-- calls. If recording is off, it is turned on, but only for what runs inside
-- such functions. on_call gets a table for each finished call: name, count
-- (which call this is, 1 for the first), total and self in seconds of the wall
-- clock, and children, which maps the names of the hooked functions that it
-- called to their count and total.
function weft.hook(fn, name, on_call)
	check(fn, "function", 1, "hook")
	check(name, "string", 2, "hook", true)
	check(on_call, "function", 3, "hook", true)
	local status = weft.status()
	if status.recorded and not status.on then
		core.only(true)
		weft.resume()
	end
	return wrap({ name = name or tostring(fn), is_named = name ~= nil,
		count = 0, on_call = on_call }, fn)
end

local function leave_zone(zone, ...)
	core.zone_end(zone)
	return ...
end

local closing_zone = { __close = function(zone)
	core.zone_end(zone[1])
end }

-- Calls fn with what follows, and returns what it returns; the call is recorded
-- as one of that name, which calls fn. From 5.4 on fn may be left out: the zone
-- then is in the function that calls this, and ends when the value that is
-- returned is closed.
function weft.zone(name, fn, ...)
	local is_closed = fn == nil and core.closes
	local zone = core.zone(name, is_closed and 2 or 1, fn)
	if not zone then
		check(name, "string", 1, "zone")
		check(fn, "function", 2, "zone")
	elseif is_closed then
		return setmetatable({ zone }, closing_zone)
	end
	return leave_zone(zone, fn(...))
end

return weft
