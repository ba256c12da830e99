#!/bin/bash
# weft record --lua-init changes nothing that a script can see, however the
# interpreter is started: output, errors and exit status are those without weft.
# Only the traceback of an error in a LUA_INIT of the user's shows weft's line.
# time: 900
# SPDX-License-Identifier: MIT
. tests/lib.sh
cd "$T" || exit 1

# same CALLS [VARIABLE=VALUE...] CASES: what CASES (a shell script) does; f is
# called that many times in it. Tracebacks are compared where none is of weft's.
same() {
	local calls=$1
	shift
	env "${@:1:$#-1}" sh "${!#}" >alone 2>alone.err
	rm -rf trace
	env "${@:1:$#-1}" timeout 300 "$WEFT" record --lua-init -o trace -- \
		sh "${!#}" >out 2>err || fail "$*: weft record fails"
	# LuaJIT says in its first lines that its compiler is off, and so it is.
	sed -i 's/^JIT: O[NF]*/JIT:/' alone out
	diff alone out || fail "$*: says other things"
	# LuaJIT's tracebacks hold addresses.
	sed '/^weft: /d; s/0x[0-9a-f]*/0x/' err >err.own
	sed -i 's/0x[0-9a-f]*/0x/' alone.err
	[ $# = 1 ] || sed -i '/^stack traceback:/d; /^\t/d' alone.err err.own
	diff alone.err err.own || fail "$*: other errors"
	[ "$calls" != none ] || return 0
	report
	nothing_lost
	awk -F, -v calls="$calls" '$2 == "lua" && $1 ~ /^"?f </ { n += $6 }
		END { exit n != calls }' report.csv ||
		fail "$*: not $calls calls of f"
}
cat >script.lua <<'LUA'
local function f() end
for _ = 1, 7 do f() end
local n = {}
for k in pairs(arg or {}) do n[#n + 1] = k end
table.sort(n)
for _, k in ipairs(n) do print(k, arg[k]) end
print(select("#", ...), ...)
print(package.path, package.cpath, #package.loaded)
for _, k in ipairs { "PATH", "LUA_PATH", "HOME" } do
	print(k, os.getenv(k))
end
local seen = {}
for k in pairs(_G) do seen[#seen + 1] = tostring(k) end
table.sort(seen)
print(table.concat(seen, " "))
seen = {}
for k in pairs(package.loaded) do seen[#seen + 1] = k end
table.sort(seen)
print(table.concat(seen, " "))
for _, t in ipairs { "coroutine", "debug" } do
	seen = {}
	for k, v in pairs(_G[t]) do
		local i = debug.getinfo(v, "S")
		seen[#seen + 1] = k .. i.what .. i.short_src
	end
	table.sort(seen)
	print(table.concat(seen, " "))
end
print(pcall(coroutine.resume), pcall(coroutine.wrap, 1))
print(pcall(debug.sethook, 1, 2, 3), debug.gethook())
print(pcall(coroutine.wrap(function() error("through") end)))
print(coroutine.resume(coroutine.create(function() error {} end)) == false)
io.write(io.read() or "nothing", "\n")
if arg and arg[1] == "fail" then
	local w = coroutine.wrap(function() error("in a coroutine") end)
	w()
end
LUA
echo 'a line' >in
echo 'print("init file", ...)' >init.lua
echo 'print(1) error("x")' >lines

# run FILE COMMAND...: with that as its input.
cat >head <<'SH'
run() {
	local from=$1
	shift
	echo "== $*"
	echo "== $*" >&2
	"$@" <"$from"
	echo "status $?"
}
SH
cat head - >cases <<'SH'
for lua in $LUAS; do
	run in $lua script.lua "" a 'b c' "d'\"e"
	run in $lua -e 'print(1)' -lstring script.lua fail
	LUA_PATH='./?.lua' run in $lua -lscript -e ''
	run script.lua $lua -
	run script.lua $lua - a b
	run script.lua $lua
	run in $lua none.lua
	run in $lua -e 'error()'
	run in $lua -e 'package.loadlib = nil require = nil error("x")'
	run in $lua -e 'package = nil print(pcall(require, "x")) os.exit(9)'
	run in $lua -e 'io.stdout:setvbuf("full") io.write("late") os.exit(3)'
	run in $lua -x
	run in $lua -v
	run lines $lua -i -e ''
done
SH
luas=($LUAS)
n=$((7 * ${#luas[@]})) # calls of f in one run with each
same $((6 * n)) cases
cat head - >one <<'SH'
for lua in $LUAS; do
	run in $lua script.lua
done
SH
for init in 'print("init", ...)' @init.lua 'x = "a\0b\"" print(#x)' \
	'local y = 1 return 2' '-- a remark' ''; do
	same $n "LUA_INIT=$init" one
done
for init in @none.lua 'x y' 'error("no")' '@'; do
	same 0 "LUA_INIT=$init" one
done
# The variable with a version goes first, where the version knows it.
same $n "LUA_INIT_5_2=print 'two'" LUA_INIT_5_3= "LUA_INIT_5_4=@init.lua" \
	"LUA_INIT=print 'all'" one
same $((n - 14)) "LUA_INIT_5_2=x y" "LUA_INIT_5_4=error 'four'" one
# Told to ignore it, it is not recorded, and ignores what is wrong with it.
cat head - >ignored <<'SH'
for lua in ${LUAS#lua5.1}; do
	run in $lua -E script.lua
done
SH
same none "LUA_INIT=error('no')" ignored
grep -q 'no Lua state was seen in .*lua5.*"' err || fail "-E: nobody is told"
exit 0
