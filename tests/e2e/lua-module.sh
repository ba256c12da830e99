#!/bin/bash
# require "weft" in the stock interpreters, which nobody rebuilt: the script says
# the same with and without a recording, every call is counted, each recording
# with a title can be shown alone, and weft.hook records what is inside only.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# at LINE: calls of the function that begins there.
at() {
	awk -F, -v line="$1" '$2 == "lua" && $5 == line { n += $6 }
		END { print n + 0 }' "$T/report.csv"
}
# counts F G H: f, g, h of module.lua.
counts() {
	[ "$(at 7) $(at 8) $(at 9)" = "$1 $2 $3" ] ||
		fail "$lua: f, g, h: $(at 7) $(at 8) $(at 9), not $*"
}

for lua in $LUAS; do
	command -v $lua >/dev/null || fail "$lua is not installed"
	v=${lua#lua}
	[ "$v" != jit ] || v=5.1
	script=tests/prog/lua/module.lua
	LUA_CPATH="$B/lib/lua/$v/?.so" $lua $script >"$T/alone" ||
		fail "$lua: the script fails when it is not recorded"
	record --lua-init -- $lua $script || fail "$lua: weft record fails"
	diff <(grep -v '^\*' "$T/alone") <(grep -v '^\*' "$T/out") ||
		fail "$lua: the script says something else when recorded"
	grep -q "^\*	started	already started	true	false	too many$" "$T/out" ||
		fail "$lua: $(grep '^\*' "$T/out")"
	grep -q "^\*	true	true	[1-9]" "$T/out" ||
		fail "$lua: $(grep '^\*' "$T/out")"
	# A wrap that is not Lua's own gives what it gave before.
	LUA_CPATH="$B/lib/lua/$v/?.so" $lua -e '
		coroutine.wrap = string.gmatch
		require "weft"
		assert(type(coroutine.wrap("ab", ".")) == "function")
	' || fail "$lua: the function of another wrap is not returned"
	report
	nothing_lost
	g=37
	[ $lua = lua5.1 ] || g=38
	counts $((30 + g)) $g 90
	grep weft.so "$T/report.csv" && fail "$lua: weft shows itself"
	report --recording a
	counts 50 30 0
	report --recording b
	counts 30 30 40
	[ "$("$WEFT" info "$T/trace" | grep -c "service.*test")" = 1 ] ||
		fail "$lua: the label is not there"
done

# g: 7 hooked, 3 + 2 * 2 asleep, 2 more. f: below each, and in what fails.
for lua in ${LUAS%luajit}; do
	record --paused --lua-init -- $lua tests/prog/lua/inside.lua ||
		fail "$lua: weft record fails"
	report
	nothing_lost
	[ "$(at 6) $(at 5) $(at 7)" = "16 18 3" ] ||
		fail "$lua: g, f, body: $(at 6) $(at 5) $(at 7)"
done

# Native calls off and on again: Lua's calls go on in their place, and native
# ones are those between.
cat >"$T/native.lua" <<'END'
local weft = require "weft"
local back = back or function(f) return f() end
local function f() end
local function g()
	back(f)
	weft.native(false)
	for _ = 1, 20 do back(f) end
	weft.native(true)
	back(f)
end
for _ = 1, 3 do g() end
return "done"
END
for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	v=${lua#lua}
	export LUA_CPATH="$B/lib/lua/${v/jit/5.1}/?.so"
	record --lua-init -- $lua "$T/native.lua" || fail "$lua: weft record fails"
	report
	nothing_lost
	"$WEFT" tree --csv "$T/trace" 2>/dev/null |
		awk -F, '$8 == 3 { n++; calls = $10 } END { exit n != 1 || calls != 66 }' ||
		fail "$lua: weft.native moves Lua's calls"
	pkg-config --exists $lua || continue
	gcc -O1 -finstrument-functions $(pkg-config --cflags $lua) \
		tests/prog/lua/built.c -o "$T/built" $(pkg-config --libs $lua) ||
		fail "$lua: the program is not built"
	record "$T/built" "$T/native.lua" || fail "$lua: weft record fails"
	report
	nothing_lost
	[ "$(at 3) $(at 4) $(calls inner)" = "66 3 6" ] ||
		fail "$lua: f, g, inner: $(at 3) $(at 4) $(calls inner)"
	grep -E 'code at|open before' "$T/report.csv" &&
		fail "$lua: weft.native ends what it does not concern"
done
unset LUA_CPATH

# A second copy of the module, which another weft brings, stands back.
cat >"$T/second.lua" <<'END'
local first = require "weft"
package.loaded.weft, package.preload.weft = nil
local function f() coroutine.yield() end
local second = require "weft"
for _ = 1, 4 do
	local co = coroutine.create(f)
	coroutine.resume(co)
	coroutine.wrap(f)()
end
print(first == second)
END
for lua in $LUAS; do
	v=${lua#lua}
	mkdir -p "$T/$v"
	cp "$B/lib/lua/${v/jit/5.1}/weft.so" "$T/$v" || fail "no module"
	LUA_CPATH="$T/$v/?.so" record --lua-init -- $lua "$T/second.lua" ||
		fail "$lua: a second copy breaks the script"
	grep -q "^true" "$T/out" || fail "$lua: it is used: $(cat "$T/out")"
	report
	nothing_lost
	[ "$(at 3) $(calls coroutine.create)" = "8 4" ] ||
		fail "$lua: f, create: $(at 3) $(calls coroutine.create)"
done

# LUA_INIT of one's own, as a text and as a file, runs too; so does one that
# fails, and says so as it would.
echo 'print("from a file")' >"$T/init.lua"
for init in 'print("from a text \"quoted\"\n")' "@$T/init.lua" 'error("no")'; do
	LUA_INIT=$init lua5.4 -e 'print(2)' >"$T/alone" 2>"$T/alone.err"
	status=$?
	LUA_INIT=$init record --lua-init -- lua5.4 -e 'print(2)'
	[ $? = $status ] || fail "another exit status with LUA_INIT=$init"
	cmp "$T/alone" "$T/out" || fail "something else with LUA_INIT=$init"
done

# Where nobody wants to hear of children that end.
rm -rf "$T/trace"
timeout 100 env --ignore-signal=CHLD "$WEFT" record --lua-init -o "$T/trace" \
	-- lua5.4 -e 'print(2)' >"$T/out" 2>"$T/err" ||
	fail "without SIGCHLD: weft record fails"
env --ignore-signal=CHLD "$WEFT" report "$T/trace" >"$T/report.csv" \
	2>"$T/report.err" || fail "without SIGCHLD: weft report fails"
