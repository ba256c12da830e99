#!/bin/bash
# Threads that share Lua states, each of which has a lock; one state is slow. Its lock
# is named first, as the element of the array that it is, with what its holder ran
# meanwhile in C and in Lua. The same of a pool with one condition variable.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/pool.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdlib.h>
enum { VMS = 3, THREADS = 9, REQUESTS = 20 };
#define SEEN __attribute__((noinline))
static struct vm { pthread_mutex_t lock; lua_State *L; int busy; } vms[VMS];
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int shares;
SEEN static void run(lua_State *L)
{
	lua_getglobal(L, "handle");
	if (lua_pcall(L, 0, 0, 0) != 0)
		exit(1);
}
SEEN static struct vm *take(long i)
{
	if (!shares) {
		pthread_mutex_lock(&vms[i % VMS].lock);
		return &vms[i % VMS];
	}
	pthread_mutex_lock(&pool);
	while (vms[1].busy)
		pthread_cond_wait(&freed, &pool);
	vms[1].busy = 1;
	pthread_mutex_unlock(&pool);
	return &vms[1];
}
SEEN static void give(struct vm *vm)
{
	if (!shares) {
		pthread_mutex_unlock(&vm->lock);
		return;
	}
	pthread_mutex_lock(&pool);
	vm->busy = 0;
	pthread_cond_signal(&freed);
	pthread_mutex_unlock(&pool);
}
SEEN static void request(long i)
{
	struct vm *const vm = take(i);

	run(vm->L);
	give(vm);
}
static void *work(void *number)
{
	for (int n = 0; n < REQUESTS; n++)
		request((long)number);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	shares = argc > 2;
	for (int i = 0; i < VMS; i++) {
		pthread_mutex_init(&vms[i].lock, NULL);
		vms[i].L = luaL_newstate();
		luaL_openlibs(vms[i].L);
		lua_pushinteger(vms[i].L, i == 1 ? 800000 : 1000);
		lua_setglobal(vms[i].L, "amount");
		if (luaL_dofile(vms[i].L, argv[1]))
			return 1;
	}
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
cat >"$T/pool.lua" <<'END'
local function render(n)
	local sum = 0
	for i = 1, n do sum = sum + i % 7 end
	return sum
end
function handle() local s = render(amount) return s end
END

# named LUA SENTENCE PLACE [SHARED]: what weft explain begins with, and what ran.
named() {
	record --waits -- "$T/pool" "$T/pool.lua" $4 || fail "$1: weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$1: something was lost"
	"$WEFT" explain "$T/trace" >"$T/said" || fail "$1: weft explain"
	grep -q "$2 $3[, ].* because of give\|$2 $3[, ].* until give" "$T/said" &&
		{ [ -n "$4" ] || grep -q 'meanwhile: .*work > request > run > .*render' \
			"$T/said"; } || { cat "$T/said"; return 1; }
}
for lua in $LUAS; do
	pkg-config --exists "$lua" || continue
	gcc -O1 -finstrument-functions $(pkg-config --cflags "$lua") -o "$T/pool" \
		"$T/pool.c" $(pkg-config --libs "$lua") -lpthread ||
		fail "no program for $lua"
	one_of 5 named "$lua" '^1\. Threads wait for .* for the lock' \
		'vms+0x[0-9a-f]*' ''
	one_of 5 named "$lua" 'Threads wait for .* for the condition' freed shared
done
exit 0
