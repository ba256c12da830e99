#!/bin/bash
# weft record --lua-init changes nothing that a script can see, however the
# interpreter is started: output, errors and exit status are those without weft.
# Only the traceback of an error in a LUA_INIT of the user's shows weft's line.
# time: 300
# SPDX-License-Identifier: MIT
. tests/lib.sh
cd "$T" || exit 1

# same [VARIABLE=VALUE...] -- COMMAND...: with $T/in as its input. Counts calls
# of f, which each script makes seven times.
f=7
same() {
	local variables=() status
	while [ "$1" != -- ]; do
		variables+=("$1")
		shift
	done
	shift
	env "${variables[@]}" "$@" <in >alone 2>alone.err
	status=$?
	rm -rf trace
	env "${variables[@]}" timeout 100 "$WEFT" record --lua-init \
		-o trace -- "$@" <in >out 2>err
	[ $? = $status ] || fail "$*: status $?, alone $status"
	cmp alone out || fail "$*: says other things"
	# LuaJIT's tracebacks hold addresses.
	grep -v '^weft: ' err | sed 's/0x[0-9a-f]*/0x/' >err.own
	sed -i 's/0x[0-9a-f]*/0x/' alone.err
	if [ "$f" != init ]; then
		diff alone.err err.own || fail "$*: other errors"
	else
		diff <(head -n 1 alone.err) <(head -n 1 err.own) ||
			fail "$*: other errors"
	fi
	if [ "$f" -gt 0 ] 2>/dev/null; then
		report
		nothing_lost
		awk -F, -v f="$f" '$2 == "lua" && $1 ~ /^"?f </ { n += $6 }
			END { exit n != f }' report.csv ||
			fail "$*: not $f calls of f"
	fi
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
for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	same -- $lua script.lua "" a 'b c' "d'\"e"
	same -- $lua -e 'print(1)' -lstring script.lua fail
	f=init
	for init in 'print("init", ...)' @init.lua @none.lua 'x y' 'error("no")'; do
		same "LUA_INIT=$init" -- $lua script.lua
	done
	f=7
	mv in keep
	cp script.lua in
	same -- $lua -
	mv keep in
	f=any
	same -- $lua none.lua
	same -- $lua -e 'package.loadlib = nil require = nil error("x")'
	same -- $lua -e 'package = nil print(pcall(require, "x")) os.exit(9)'
	f=7
done
# What is the same in all of them: in one.
for init in 'x = "a\0b\"" print(#x)' 'local y = 1 return 2' '-- a remark' ''; do
	same "LUA_INIT=$init" -- lua5.4 script.lua
done
same "LUA_PATH=./?.lua" -- lua5.4 -lscript -e ''
f=any
cp script.lua in
same -- lua5.4 - a b
same -- lua5.4
same -- lua5.4 -e 'error()'
same -- lua5.4 -e 'io.stdout:setvbuf("full") io.write("late") os.exit(3)'
same -- lua5.4 -x
same -- lua5.4 -v
echo 'print(1) error("x")' >in
same -- lua5.4 -i -e ''
f=7
for v in 2 3 4; do
	same "LUA_INIT_5_$v=print('own')" "LUA_INIT=print('general')" -- \
		lua5.$v script.lua
	same "LUA_INIT_5_$v=" -- lua5.$v script.lua
	f=init
	same "LUA_INIT_5_$v=x y" -- lua5.$v script.lua
	f=any
	same "LUA_INIT=error('no')" -- lua5.$v -E script.lua
	f=7
done
exit 0
