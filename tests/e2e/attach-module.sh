#!/bin/bash
# each: lua5.1 lua5.2 lua5.3 lua5.4 lua5.5 luajit
# A script of an interpreter whose Lua is its own: where it required weft and is
# attached to, weft.mark is where weft meets it. Each call from there on is
# counted, also in a coroutine that is older, and the hook is gone afterwards. A
# mark does not put back a hook that weft.pause took off, as it does in LuaJIT.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
v=${1#lua}
case " $LUAS " in
*" $1 "*) ;;
*) echo "Lua ${1#lua} is not installed"; exit 77 ;;
esac

begin env LUA_CPATH="$B/lib/lua/${v/jit/5.1}/?.so" "$1" \
	tests/prog/lua/late_module.lua
ask off
for i in 1 2 3; do
	attach
	ask 700
	[ "$answer" = "done $((i * 1400 - 700))" ] || fail "time $i: \"$answer\""
	[ "$1" != luajit ] || ask pause
	[ "$1" != luajit ] || [ "$answer" = "hook nil" ] || fail "it has a hook"
	detach
	report
	nothing_lost
	n=$(sed 's/ <[^,]*>//' "$T/report.csv" | awk -F, \
		'$1 == "step" { n += $6 } END { print n + 0 }')
	[ "$n" = 700 ] || fail "time $i: $n calls of step, not 700"
	ask off
	await has_left || fail "it maps the pool"
	ask 700 # the older coroutine's hook goes when that runs
	ask hook
	[ "$answer" = "hook nil" ] || fail "time $i: \"$answer\""
done
end
