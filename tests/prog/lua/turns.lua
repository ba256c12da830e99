-- turns.lua WAY ON OFF STATUS PLACE... - recording is turned on at each place
-- in turn, and off again. WAY: title, resume, hook: by the script itself; C: by
-- a function of C; outside: by the commands ON and OFF; together: by somebody
-- else, once for all scripts that are at a place then ("ready", "done"). There,
-- ON is "go" if the coroutine's place calls go() for it, and OFF how many seconds
-- recording is sure to last, or "away" if the program leaves it then.
-- STATUS: a command that prints what recording has not reached of THREAD, or
-- nothing. Prints "calls N NAME" for each function that it calls while recording is on; "waits
-- NAME" where STATUS says so; "late": recording may have ended too soon; "wrong:
-- TEXT".
-- SPDX-License-Identifier: MIT
local way, on, off, status = arg[1], arg[2], arg[3], arg[4]
local C = require "turns"
local weft = (way == "title" or way == "resume" or
	way == "hook") and require "weft"
local create, resume = coroutine.create, coroutine.resume
local wrap, yield = coroutine.wrap, coroutine.yield
local N = 7
local told = {}

local function tell(line) told[#told + 1] = line end

local function is_compiling() return jit and jit.status() end

-- Does weft say that it has not reached this state?
local function waits()
	local f = io.popen((status:gsub("THREAD", C.thread())))
	local text = f:read("*a")
	f:close()
	return text:find("waits") ~= nil
end

local unreached = false

-- Functions are made before recording is turned on: "there" runs right after
-- that, "mid", "back" and "again" where control goes next. Of each there is one
-- for every place, so that a missing call names its place.
local functions, place = {}, nil
local function make(name)
	functions[name] = (loadstring or load)("local function " .. name ..
		"() end return " .. name, "=" .. name)()
end
local function calls(what, expected)
	local name = place .. "_" .. what
	for _ = 1, N do functions[name]() end
	C.step()
	tell(("calls %d %s"):format(expected or N, name))
	if not unreached or status == "" then return end
	unreached = waits()
	if unreached then
		tell("waits " .. name)
	elseif is_compiling() then
		tell("wrong: " .. name .. ": the compiler is on")
	end
end

local function go() end
local began

local function turn()
	if way == "together" then
		local starts = on == "go" and place:find("coroutine") ~= nil
		began = C.turn(starts)
		if starts then go() end
	elseif way == "title" then
		weft.start("t")
	elseif way == "resume" then
		weft.resume()
	elseif way == "C" then
		C.start("t")
	elseif way == "hook" then
		return
	else
		os.execute(on)
		C.await(true)
	end
end

-- Right after the turn: exact if the script made it, or else weft may say that
-- nothing has told it yet.
local function there()
	unreached = true
	calls("there")
end

local places = {}

-- In a function of the main state, from where the next call goes through C.
function places.main()
	turn() there()
	C.call(function() end)
	calls("again")
end

function places.called()
	C.call(function() turn() there() end)
	calls("again")
end

function places.protected()
	pcall(function() turn() there() error("") end)
	calls("again")
end

local function runs(starts)
	return function()
		local co = create(function()
			turn() there()
			yield()
			calls("again")
		end)
		starts(co)
		calls("mid")
		resume(co)
		calls("back")
	end
end
places.coroutine = runs(resume)

function places.wrapped()
	local co = wrap(function()
		turn() there()
		yield()
		calls("again")
	end)
	co()
	calls("mid")
	co()
	calls("back")
end

function places.dies()
	resume(create(function() turn() there() error("") end))
	calls("again")
end

-- In a coroutine that goes on by resuming another one.
function places.resumes()
	local co = wrap(function()
		turn() there()
		resume(create(function() end))
		calls("mid")
		yield()
		calls("again")
	end)
	co()
	calls("back")
	co()
end

-- A coroutine that is not the main state's own affair.
function places.nested()
	local outer = wrap(function()
		local inner = wrap(function()
			turn() there()
			yield()
			calls("again")
		end)
		inner()
		calls("mid")
		yield()
		inner()
	end)
	outer()
	calls("back")
	outer()
end

function places.caught()
	local co = wrap(function()
		pcall(function() turn() there() error("") end)
		calls("mid")
		yield()
		calls("again")
	end)
	co()
	calls("back")
	co()
end

-- A function of C resumes a coroutine, and does not say for whom.
function places.unsaid()
	C.resume(function() turn() there() end)
	calls("again")
end

-- The same, in a coroutine, and on a lua_State that nobody resumes.
function places.spawned()
	local co = wrap(function()
		C.resume(function() turn() there() end)
		calls("mid")
		yield()
		calls("again")
	end)
	co()
	calls("back")
	co()
end

function places.apart()
	C.apart(function()
		C.resume(function() turn() there() end)
		calls("mid")
	end)
	calls("again")
end

function places.suspended()
	local co = wrap(function() yield() calls("again") end)
	co()
	turn() there()
	co()
	calls("mid")
end

-- Nothing of Lua runs: the host turns it on, and then calls this.
function places.native()
	calls("again")
end

local function turn_off()
	if way == "together" then
		local on_for = C.since(began)
		if not on_for or on_for > (tonumber(off) or 1e9) then
			tell("late")
		end
		io.write("done\n")
		io.flush()
		C.await(false, off == "away")
	elseif way == "title" then
		weft.stop("t")
	elseif way == "resume" then
		weft.pause()
	elseif way == "C" then
		C.stop("t")
	elseif way == "outside" then
		os.execute(off)
		C.await(false)
	end
	unreached = false
	calls("off", 0)
	if jit and not is_compiling() and os.getenv("COMPILES") == "yes" then
		tell("wrong: " .. place .. ": the compiler stays off")
	end
end

-- Of the hosts that run it, each has functions of its own.
local host = os.getenv("HOST") or ""

local function at(name)
	place = host .. name
	local run = places[name]
	if way == "hook" then run = weft.hook(run) end
	run()
	turn_off()
end

for i = 5, #arg do
	for _, what in ipairs { "there", "mid", "back", "again", "off" } do
		make(host .. arg[i] .. "_" .. what)
	end
end
-- At once: others may say something, too.
local function say() io.write(table.concat(told, "\n") .. "\n") end
for i = 5, #arg do
	if arg[i] == "native" then
		turn_on = on
		from_native = function() at("native") say() end
	else
		at(arg[i])
	end
end
if not from_native then say() end
