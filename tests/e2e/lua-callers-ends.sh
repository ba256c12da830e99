#!/bin/bash
# Lua that is sampled calls native functions, after errors and jumps have ended
# what ran before, where recording begins in the middle, in forked processes and
# beside signals: each of their calls stands below the Lua functions that are
# open, by the program's own account.
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# SPDX-License-Identifier: MIT
. tests/lib.sh
v=$1
gcc -O1 -g -finstrument-functions -I. -o "$T/host" \
	tests/prog/lua/callers_ends.c $(pkg-config --cflags --libs $v) ||
	fail "the host is not built"

# stacks NAME [FEW]: of what is in $T/callers.lua. So FEW calls may stand beside
# Lua: a handler's call has come right before them.
stacks() {
	record --lua sampled -- "$T/host" "$T/callers.lua" ||
		fail "$1: no record"
	"$WEFT" check "$T/trace" >"$T/check" 2>&1 ||
		fail "$1: $(cat "$T/check")"
	"$WEFT" tree --csv --raw --min-share 0 "$T/trace" >"$T/tree.csv" \
		2>"$T/err" || fail "$1: no tree"
	awk -F, -f tests/e2e/lua-callers.awk "$T/out" "$T/tree.csv" \
		>"$T/compared" && return
	awk -v few="${2-0}" '
		/^is / { n += $3; next }
		$5 - $7 > few { n = few + 1 }
		END { exit n > few }' "$T/compared" ||
		fail "$1: other stacks: $(cat "$T/compared")"
}

# The first call of a process, and errors that end C functions which call Lua.
cat >"$T/callers.lua" <<'LUA'
local function leaf() work() end
leaf()
local function fails() work() error("on purpose") end
local function fails_too() again(fails) end
local function nested() again(fails_too) end
for _ = 1, 20 do
	pcall(again, fails)
	leaf()
	pcall(nested)
	work()
	again(function() pcall(nested) leaf() pcall(again, fails) work() end)
	local co = coroutine.wrap(function()
		pcall(again, fails)
		leaf()
		coroutine.yield()
		again(fails)
	end)
	co()
	pcall(co)
	leaf()
end
LUA
stacks errors

cat >"$T/callers.lua" <<'LUA'
local function leaf() work() end
for _ = 1, 20 do leaf() jumped() leaf() end
LUA
stacks jumps

# One call of Lua's, in which recording is turned off and on.
cat >"$T/callers.lua" <<'LUA'
local function leaf() work() end
local function body() leaf() again(leaf) end
local function inner() turn(false) body() turn(true) leaf() end
for _ = 1, 10 do
	body()
	turn(false)
	body()
	turn(true)
	body()
	local co = coroutine.wrap(function()
		leaf()
		coroutine.yield()
		leaf()
	end)
	co()
	inner()
	co()
end
LUA
stacks turns

cat >"$T/callers.lua" <<'LUA'
local function leaf() work() end
local function body() leaf() again(leaf) end
for _ = 1, 10 do
	body()
	if split() then body() leave() end
	leaf()
end
LUA
stacks forks

# Handlers call native functions wherever Lua is just then.
cat >"$T/callers.lua" <<'LUA'
local function leaf() work() end
local function numbers(n)
	local t, s = {}, 0
	for i = 1, n do
		t[#t + 1] = ("x"):rep(i % 40) .. i
		s = s + i % 7
		if i % 50 == 0 then leaf() end
	end
	table.sort(t, function(a, b) work() return a < b end)
	return table.concat(t)
end
alarms(150)
for _ = 1, 60 do numbers(1000) again(leaf) end
alarms(0)
LUA
stacks signals 5
exit 0
