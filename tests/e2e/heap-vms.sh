#!/bin/bash
# What each Lua state has in use is what Lua itself counts, in all versions, for two
# states side by side; and where one grew at once is known.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/two.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
static const char text[] =
	"kept = {}\n"
	"function add(n) for i = 1, n do kept[#kept + 1] = { i, i .. '' } end end\n"
	"function work() for i = 1, 300 do tostring(i) end end\n";
static void call(lua_State *L, const char *name, int n)
{
	lua_getglobal(L, name);
	lua_pushinteger(L, n);
	lua_call(L, 1, 0);
}
static long has(lua_State *L)
{
	lua_gc(L, LUA_GCCOLLECT, 0);
	lua_gc(L, LUA_GCSTOP, 0);
	return lua_gc(L, LUA_GCCOUNT, 0) * 1024L + lua_gc(L, LUA_GCCOUNTB, 0);
}
int main(void)
{
	lua_State *const a = luaL_newstate(), *const b = luaL_newstate();

	luaL_openlibs(a);
	luaL_openlibs(b);
	if (luaL_dostring(a, text) || luaL_dostring(b, text))
		return 1;
	for (int i = 0; i < 300; i++) {
		call(a, "work", 0);
		call(b, "work", 0);
		call(b, "add", 100);
		if (i == 100 && luaL_dostring(a, "s = ('x'):rep(5000000)"))
			return 1;
	}
	printf("%ld %ld\n", has(a), has(b));
	for (int i = 0; i < 100; i++) {
		call(a, "work", 0);
		call(b, "work", 0);
	}
	lua_close(a);
	lua_close(b);
	return 0;
}
END
for lua in $LUAS; do
	pkg-config --exists "$lua" || continue
	# shellcheck disable=SC2046
	gcc -O1 -o "$T/two" "$T/two.c" $(pkg-config --cflags --libs "$lua") ||
		fail "no program for $lua"
	record --heap -- "$T/two" || fail "$lua: weft record fails"
	"$WEFT" heap --by vm --csv "$T/trace" >"$T/o" 2>"$T/report.err" ||
		fail "$lua: weft heap --by vm"
	# Work makes numbers into texts, and nothing is collected any more.
	awk -F, -v own="$(tail -n 1 "$T/out")" 'BEGIN { split(own, want, " ") }
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		match($0, /state [12]/) {
			k = substr($0, RSTART + 6, 1)
			b = $at["in_use_bytes"]; j[k] = $at["jump_bytes"]
			good += b >= want[k] * 0.99 && b < want[k] * 1.01 + 3e6
			read += $at["readings"] >= 5
			most += $at["most_bytes"] >= b
		}
		END { exit !(good == 2 && read == 2 && most == 2 &&
			     j[1] > 4900000 && j[2] < 4900000) }' "$T/o" ||
		fail "$lua: not $(tail -n 1 "$T/out"): $(cat "$T/o")"
done
"$WEFT" heap --by vm --at 0.001ms --csv "$T/trace" >"$T/o" 2>/dev/null
awk -F, 'NR > 1 && $1 > 1000000 { exit 1 }' "$T/o" || fail "at first: $(cat "$T/o")"
"$WEFT" heap --by vm --columns in-use "$T/trace" >"$T/o" 2>&1 && fail "--columns"
record -- "$T/two" || fail "weft record fails"
"$WEFT" heap --by vm "$T/trace" >"$T/o" 2>&1 || fail "of a trace without memory"
grep -q 'no Lua state was read' "$T/o" || fail "not said: $(cat "$T/o")"
pkg-config --exists lua5.4 || exit 0
# A thread that uses another's state late tells of it in a chunk that began long
# before; the number is of the time at which it was read.
cat >"$T/late.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <unistd.h>
static void *grow(void *unused)
{
	lua_State *const L = luaL_newstate();

	(void)unused;
	luaL_openlibs(L);
	usleep(500000);
	return luaL_dostring(L, "s = ('x'):rep(5000000)") ? NULL : L;
}
int main(void)
{
	lua_State *const mine = luaL_newstate();
	pthread_t t;
	void *L;

	if (luaL_dostring(mine, "local function f() end f()") ||
	    pthread_create(&t, NULL, grow, NULL) || pthread_join(t, &L) || !L)
		return 1;
	return luaL_dostring(L, "coroutine.wrap(function() end)()");
}
END
# shellcheck disable=SC2046
gcc -O1 -o "$T/late" "$T/late.c" $(pkg-config --cflags --libs lua5.4) -pthread ||
	fail "no program"
record --heap=exact -- "$T/late" || fail "weft record fails"
"$WEFT" heap --by vm --csv "$T/trace" >"$T/o" 2>"$T/report.err" || fail "weft heap"
awk -F, 'NR > 1 && $4 > 5000000 { seen = 1; early = $5 < 400000000 }
	END { exit !seen || early }' "$T/o" || fail "read too early: $(cat "$T/o")"
# A state's memory that comes from no malloc is not seen, and that is said.
cat >"$T/pool.c" <<'END'
#include <lauxlib.h>
#include <string.h>
static _Alignas(16) char room[64 << 20];
static size_t used;
static void *take(void *ctx, void *old, size_t old_size, size_t size)
{
	char *const at = room + used;

	(void)ctx;
	if (size <= old_size && old)
		return size > 0 ? old : NULL;
	used += (size + 15) / 16 * 16;
	return old ? memcpy(at, old, old_size) : at;
}
int main(void)
{
	lua_State *const L = lua_newstate(take, NULL);

	return !L || luaL_dostring(L, "k = {}"
		" local function f(i) return { i } end"
		" for i = 1, 100000 do k[i] = f(i) end");
}
END
# shellcheck disable=SC2046
gcc -O1 -o "$T/pool" "$T/pool.c" $(pkg-config --cflags --libs lua5.4) ||
	fail "no program"
record --heap=exact -- "$T/pool" || fail "weft record fails"
for command in heap explain; do
	"$WEFT" $command "$T/trace" >"$T/o" 2>&1 || fail "weft $command"
	grep -qE 'memory of Lua 5[.]4 state 1 [(].* MB, .*--by vm' "$T/o" ||
		fail "$command: not said: $(cat "$T/o")"
done
record --heap=exact -- "$T/two" || fail "weft record fails"
"$WEFT" heap "$T/trace" 2>&1 | grep 'as Lua counts it' && fail "all is seen"
exit 0
