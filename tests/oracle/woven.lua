-- woven.lua: the Lua half of the random program. Every function says itself to
-- the account that it begins and ends, and what it calls of the library. The
-- parts between marks are pasted in where a line names them.
-- SPDX-License-Identifier: MIT

local b = ...
local A, F, S = b.A, b.F, b.S
local enter, leave, before, after = b.b_enter, b.b_leave, b.b_before, b.b_after
local made, alive, resuming = b.b_made, b.b_alive, b.b_resuming
local yielding, yielded, closed = b.b_yielding, b.b_yielded, b.b_closed
local take, put, pick, choose = b.b_take, b.b_put, b.b_pick, b.b_choose
local count = b.b_count
enter(F.chunk)

local create, wrap, resume = coroutine.create, coroutine.wrap, coroutine.resume
local yield, close = coroutine.yield, coroutine.close
local pcall, xpcall, error = pcall, xpcall, error
local sort, gsub = table.sort, string.gsub
local NF = 10
local f = {}
local cfuncs = { b.ci_call, b.cu_call, b.ci_pcall, b.cu_pcall, b.ci_native,
	b.cu_native, b.ci_native, b.cu_native }
local cyields = { b.ci_yield, b.cu_yield, b.ci_yield_deep, b.cu_yield_deep }
local ctails = { b.ci_tail, b.cu_tail }
local ci_snap, cu_snap, ci_raise, cu_raise = b.ci_snap, b.cu_snap,
	b.ci_raise, b.cu_raise

local function deep(n, how)
	enter(F.deep)
	if n > 0 then
		deep(n - 1, how)
	elseif how == 1 then
		ci_snap()
	elseif how == 2 then
		before(F.l_error)
		error("from the depth")
	elseif how == 3 then
		yielding()
		yield()
		yielded()
	end
	leave()
end

local function thrower(n)
	enter(F.thrower)
	if n > 0 then
		thrower(n - 1)
	else
		local k = pick(5)
		if k == 1 then
			count(S.error_string)
			before(F.l_error)
			error("an error")
		elseif k == 2 then
			count(S.error_table)
			before(F.l_error)
			error({})
		elseif k == 3 then
			count(S.error_runtime)
			local none = nil
			none.x = 1
		elseif k == 4 then
			ci_raise()
		else
			cu_raise()
		end
	end
	leave()
end

local function handler(e)
	enter(F.handler)
	if pick(3) == 1 then
		f[10](12)
	end
	leave()
	return e
end

local function cmp(x, y)
	enter(F.cmp)
	count(S.callback)
	leave()
	return x < y
end

local function repl(x)
	enter(F.repl)
	count(S.callback)
	if pick(4) == 1 then
		f[10](13)
	end
	leave()
	return "b"
end

local function iter(limit, i)
	enter(F.iter)
	count(S.iterator)
	leave()
	if i < limit then
		return i + 1
	end
end

local obj = b.object
local meta = b.meta
function meta.__index(o, k)
	enter(F.mm_index)
	count(S.metamethod)
	if pick(4) == 1 then
		f[9](12)
	end
	leave()
	return 1
end
function meta.__add(x, y)
	enter(F.mm_add)
	count(S.metamethod)
	leave()
	return 2
end
function meta.__call(o, d)
	enter(F.mm_call)
	count(S.metamethod)
	f[8](d)
	leave()
end

--[[body
	for _ = 1, pick(3) do
		local a = choose(d)
		if a == A.call then
			local g = f[pick(NF)]
			count(S.lua_call)
			g(d + 1)
		elseif a == A.meta then
			local k = pick(3)
			if k == 1 then
				local x = obj.thing
			elseif k == 2 then
				local x = obj + 1
			else
				obj(d + 1)
			end
		elseif a == A.pcall then
			local g = f[pick(NF)]
			count(S.pcall)
			local m = before(F.l_pcall)
			local ok = pcall(g, d + 1)
			after(m)
			if not ok then
				count(S.error_caught)
			end
		elseif a == A.xpcall then
			local g, n = f[pick(NF)], d + 1
			if pick(2) == 1 then
				g, n = thrower, pick(4)
			end
			count(S.xpcall)
			local m = before(F.l_xpcall)
			local ok = xpcall(g, handler, n)
			after(m)
			if not ok then
				count(S.error_caught)
			end
		elseif a == A.throw then
			if pick(2) == 1 then
				count(S.error_string)
				before(F.l_error)
				error("an error")
			else
				ci_raise()
			end
		elseif a == A.thrower then
			local n = pick(5)
			local m = before(F.l_pcall)
			local ok = pcall(thrower, n)
			after(m)
			if not ok then
				count(S.error_caught)
			end
		elseif a == A.co then
			local i = pick(NF)
			count(S.create)
			local m = before(F.l_create)
			local co = create(f[i])
			after(m)
			made(co, F.f + i - 1)
			for _ = 1, pick(4) do
				if alive(co) then
					local m = resuming(co, F.l_resume)
					local ok = resume(co, d + 1)
					after(m)
					if not ok then
						count(S.error_in_coroutine)
					end
				end
			end
			put(co)
		elseif a == A.wrap then
			local i = pick(NF)
			count(S.wrap)
			local m = before(F.l_wrap)
			local co = wrap(f[i])
			after(m)
			made(co, F.f + i - 1)
			for _ = 1, pick(3) do
				if alive(co) then
					local m = resuming(co, F.l_wrapped)
					co(d + 1)
					after(m)
				end
			end
		elseif a == A.take then
			local co = take()
			if co then
				local m = resuming(co, F.l_resume)
				local ok = resume(co, d + 1)
				after(m)
				if not ok then
					count(S.error_in_coroutine)
				end
				put(co)
			end
		elseif a == A.yield then
			local k = pick(6)
			if k <= 4 then
				local cyield = cyields[k]
				cyield()
			else
				yielding()
				yield()
			end
			yielded()
		elseif a == A.cfunc then
			local g, c = f[pick(NF)], cfuncs[pick(8)]
			c(d + 1, g)
		elseif a == A.sort then
			local t = { pick(9), pick(9), pick(9) }
			local m = before(F.l_sort)
			sort(t, cmp)
			after(m)
		elseif a == A.gsub then
			local m = before(F.l_gsub)
			gsub("aa", "a", repl)
			after(m)
		elseif a == A.snap then
			if pick(2) == 1 then
				ci_snap()
			else
				cu_snap()
			end
		elseif a == A.deep then
			local n = pick(20) == 1 and 1200 or pick(50)
			local how = pick(2)
			count(S.lua_recursion)
			local m = before(F.l_pcall)
			local ok = pcall(deep, n, how)
			after(m)
			if not ok then
				count(S.error_caught)
			end
		elseif a == A.iter then
			local n = pick(3)
			for i in iter, n, 0 do
				if i == 2 then
					count(S.iterator)
				end
			end
		elseif a == A.close then
			local co = take()
			if co then
				local m = before(F.l_close)
				close(co)
				after(m)
				closed(co)
			end
		end
	end
body]]

-- The way out: a tail call to Lua, one to C, or a plain return.
--[[exit
	local k = pick(8)
	if k == 1 then
		local g, n = f[pick(NF)], d + 1
		if n < 14 then
			count(S.lua_tail_call)
			leave(true)
			return g(n)
		end
	elseif k == 2 then
		local c = ctails[pick(2)]
		return c(d + 1)
	end
	leave()
exit]]
-- All these on one line.
--@together
f[1] = function(d)
	enter(F.f + 0)
	--@body
	--@exit
end
f[2] = function(d, ...)
	enter(F.f + 1)
	local x = ...
	--@body
	--@exit
end
f[3] = function(d, x, y, z)
	enter(F.f + 2)
	--@body
	--@body
	--@exit
end
local up = 0
f[4] = function(d)
	enter(F.f + 3)
	up = up + 1
	--@body
	--@exit
end
f[5] = function(...)
	enter(F.f + 4)
	local d = ...
	local x = up
	--@body
	--@exit
end
f[6] = function(d)
	enter(F.f + 5)
	--@body
	leave()
	return d, d
end
f[7] = function(d)
	enter(F.f + 6)
	--@body
	leave()
end
--@apart
-- A long coroutine: it goes on being resumed.
f[8] = function(d)
	enter(F.f + 7)
	for _ = 1, 4 do
		--@body
	end
	leave()
end
-- One that recurses far, and yields from there.
f[9] = function(d)
	enter(F.f + 8)
	if choose(d, A.yield) == A.yield then
		deep(pick(25) == 1 and 1200 or pick(20), 3)
	end
	leave()
end
-- A yield across pcall.
f[10] = function(d)
	enter(F.f + 9)
	if choose(d, A.yield) == A.yield then
		local n = pick(3)
		local m = before(F.l_pcall)
		pcall(deep, n, b.no_yield and 1 or 3)
		after(m)
		count(S.yield_across_pcall)
	end
	leave()
end
b.f, b.deep, b.thrower, b.handler, b.cmp = f, deep, thrower, handler, cmp
b.repl, b.iter, b.mm_index, b.mm_add = repl, iter, meta.__index, meta.__add
b.mm_call = meta.__call
leave()
