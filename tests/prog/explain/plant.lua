-- plant.lua - "plant.lua SEED DIR": writes a random program, DIR/plant.c or
-- DIR/plant.lua, and DIR/truth: the kind of the problem that is planted in it,
-- and the function that has it. The program has it if its argument is 1; else
-- all of its functions do equal work.
-- SPDX-License-Identifier: MIT
local seed, dir = tonumber(arg[1]), arg[2]
math.randomseed(seed)
local random = math.random
local kinds = { "hot", "slow", "often", "wait", "sleep" }
local kind = kinds[seed % #kinds + 1]

local words = { "parse", "load", "check", "store", "merge", "scan", "visit",
	"route", "pack", "hash", "match", "fold", "trim", "sort", "bind", "copy" }
local nouns = { "row", "page", "node", "user", "key", "item", "path", "lock" }
local taken = {}
local function name()
	local text
	repeat
		text = words[random(#words)] .. "_" .. nouns[random(#nouns)]
	until not taken[text]
	taken[text] = true
	return text
end

local function write(file, text)
	local to = assert(io.open(dir .. "/" .. file, "w"))
	to:write(text)
	to:close()
end

local leaves, stages = {}, {}
for i = 1, random(10, 14) do
	leaves[i] = name()
end
for i = 1, random(2, 4) do
	stages[i] = name()
end
local bad = random(#leaves)
local truth = kind .. " " .. leaves[bad]

-- ---- Lua: coroutines that take turns, one of which is left out for a while

local function lua_program()
	local waits = name()
	local out = { "local planted = arg[1] == '1'\nlocal sink = 0" }
	for _, leaf in ipairs(leaves) do
		out[#out + 1] = ("local function %s()\n\tfor i = 1, 2500 do " ..
			"sink = sink + i %% 7 end\nend"):format(leaf)
	end
	out[#out + 1] = ("local function %s() coroutine.yield() end"):format(
		waits)
	out[#out + 1] = ("local function pause() coroutine.yield() end\n" ..
		"local function %s(i)\n\twhile true do"):format(stages[1])
	for _, leaf in ipairs(leaves) do
		out[#out + 1] = "\t\t" .. leaf .. "()"
	end
	local n, rounds = random(4, 7), 150
	out[#out + 1] = ([[
		if i == %d then %s() else pause() end
	end
end
local tasks = {}
for i = 1, %d do tasks[i] = coroutine.create(%s) end
for r = 1, %d do
	for i, co in ipairs(tasks) do
		if not (planted and i == %d and r > %d and r < %d) then
			assert(coroutine.resume(co, i))
		end
	end
end]]):format(random(n), waits, n, stages[1], rounds, 0, random(20, 30),
		random(100, 130)):gsub("i == 0 and", "i == slow and")
	local text = table.concat(out, "\n") .. "\n"
	local slow = text:match("if i == (%d+) then")
	write("plant.lua", (text:gsub("i == slow and", "i == " .. slow .. " and")))
	truth = "sleep " .. waits
end

-- ---- C: stages call leaves in rounds

local head = [[
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define PLAIN __attribute__((no_instrument_function))
#define SEEN __attribute__((noinline))
static int planted;
static volatile unsigned sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
PLAIN static void turn(unsigned n) { while (n-- > 0) sink++; }
]]

-- What is planted into the leaf; two kinds of waiting.
local function planted_code(tiny)
	local by_lock = random(2) == 1
	return ({
		hot = "if (planted) turn(12 * TURNS);",
		slow = ("static int n;\n\tif (++n == %d && planted) " ..
			"turn(ROUNDS * LEAVES * (TURNS / 2));"):format(
			random(30, 180)),
		often = ("for (int i = 0; i < (planted ? %d : 2); i++) " ..
			"%s();"):format(random(200, 500), tiny),
		wait = by_lock and "pthread_mutex_lock(&lock);\n\t" ..
			"pthread_mutex_unlock(&lock);" or
			"if (planted) usleep(2500);",
	})[kind]
end

-- Holds the lock for most of the time, if there is something to plant.
local tail = [[
PLAIN static void *hold(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS && planted; i++) {
		pthread_mutex_lock(&lock);
		usleep(5000);
		pthread_mutex_unlock(&lock);
		usleep(300);
	}
	return NULL;
}
PLAIN int main(int argc, char **argv)
{
	pthread_t t;
	planted = argc > 1 && atoi(argv[1]);
	pthread_create(&t, NULL, hold, NULL);
	for (int i = 0; i < ROUNDS; i++) {
]]

local function c_program()
	local tiny = name()
	local out = { head, ("enum { ROUNDS = 200, LEAVES = %d, TURNS = %d };")
		:format(#leaves, 600000 // #leaves),
		-- Short, and some percent of the time if it is called often.
		("SEEN static void %s(void) { turn(TURNS / 1000); }")
			:format(tiny) }
	for i, leaf in ipairs(leaves) do
		out[#out + 1] = ("SEEN static void %s(void)\n{\n\tturn(TURNS);\n\t%s\n}")
			:format(leaf, i == bad and planted_code(tiny) or "")
	end
	for i, stage in ipairs(stages) do
		out[#out + 1] = ("SEEN static void %s(void)\n{"):format(stage)
		for k = i, #leaves, #stages do
			out[#out + 1] = "\t" .. leaves[k] .. "();"
		end
		out[#out + 1] = "}"
	end
	out[#out + 1] = tail
	for _, stage in ipairs(stages) do
		out[#out + 1] = "\t\t" .. stage .. "();"
	end
	out[#out + 1] = "\t}\n\tpthread_join(t, NULL);\n\treturn 0;\n}"
	write("plant.c", table.concat(out, "\n") .. "\n")
	truth = kind .. " " .. (kind == "often" and tiny or leaves[bad])
end

if kind == "sleep" then
	lua_program()
else
	c_program()
end
write("truth", truth .. "\n")
