#!/bin/bash
# A coroutine takes a lock and yields; meanwhile another thread waits for the lock,
# until the coroutine goes on and lets it go. Who held it is told by its stack in
# Lua, in each interpreter.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/shared.c" <<'END'
#include <lauxlib.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_t other;
static void *ask(void *unused)
{
	pthread_mutex_lock(&pool);
	pthread_mutex_unlock(&pool);
	return unused;
}
static int take(lua_State *L)
{
	(void)L;
	pthread_mutex_lock(&pool);
	return 0;
}
static int give(lua_State *L)
{
	(void)L;
	pthread_mutex_unlock(&pool);
	return 0;
}
static int begin(lua_State *L)
{
	(void)L;
	pthread_create(&other, NULL, ask, NULL);
	while (__atomic_load_n(&pool.__data.__lock, __ATOMIC_RELAXED) != 2)
		usleep(100);
	usleep(20000);
	return 0;
}
static int join(lua_State *L)
{
	(void)L;
	pthread_join(other, NULL);
	return 0;
}
int luaopen_shared(lua_State *L)
{
	lua_register(L, "take", take);
	lua_register(L, "give", give);
	lua_register(L, "begin", begin);
	lua_register(L, "join", join);
	return 0;
}
END
cat >"$T/yields.lua" <<'END'
package.cpath = arg[1]
require "shared"
local function release() give() end
local co = coroutine.wrap(function()
	take()
	coroutine.yield()
	release()
end)
co()
begin()
co()
join()
END
for lua in $LUAS; do
	pkg-config --exists "$lua" || continue
	gcc -O1 -shared -fPIC $(pkg-config --cflags "$lua") -o "$T/shared.so" \
		"$T/shared.c" || fail "no module for $lua"
	record --waits --lua-init -- "$lua" "$T/yields.lua" "$T/?.so" ||
		fail "$lua: weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$lua: something was lost"
	"$WEFT" locks --csv "$T/trace" >"$T/locks" 2>"$T/report.err" ||
		fail "$lua: weft locks"
	at=$(awk -F, '$3 == "mutex" && $5 > 20000000 { print $2 }' "$T/locks")
	[ -n "$at" ] || fail "$lua: nobody waited: $(cat "$T/locks")"
	"$WEFT" locks --csv --object "$at" "$T/trace" >"$T/stacks" ||
		fail "$lua: weft locks --object"
	awk -F, '$1 != "holds" { next }
		/release.*pthread_mutex_unlock/ { its += $2; next }
		{ others += $2 }
		END { exit !(its > 20000000 && others == 0) }' \
		"$T/stacks" || fail "$lua: not release: $(cat "$T/stacks")"
	"$WEFT" explain "$T/trace" >"$T/said" || fail "$lua: weft explain"
	grep -q 'for the lock .* because of give,' "$T/said" ||
		fail "$lua: not said: $(cat "$T/said")"
	# Meanwhile the coroutine that held it was suspended.
	"$WEFT" path --csv --call '*pthread_mutex_lock' "$T/trace" \
		>"$T/path" 2>"$T/report.err" || fail "$lua: weft path"
	awk -F, '$2 == 0 && $5 == "waits" && $4 > 20000000 {
			held += $13 != 0 && $14 ~ /release/
		}
		$2 == 1 && $5 == "suspended" && $4 > 20000000 { slept = 1 }
		END { exit !(held && slept) }' "$T/path" ||
		fail "$lua: not the path: $(cat "$T/path")"
done
exit 0
