#!/bin/bash
# each: late-lua5.1 late-lua5.2 late-lua5.3 late-lua5.4 late-luajit lua5.4
# After a recording, and once a chunk is full after one whose recorder was killed, an
# attached program is as it was before: each word of its modules that leads
# anywhere, the rights of what is mapped, its threads, signals and descriptors, and
# the hook of its Lua; and a native call takes as many instructions, and so does a
# protected one, or hardly more if libweft.so was preloaded. While it is recorded, it
# has no other thread: unshare and setns may need that. late: the program was started
# without weft.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }
lua=${1#late-}
pkg-config --exists "$lua" || { echo "no $lua for programs"; exit 77; }
# How many instructions a protected call may take more.
preload= more=0
[ "$1" != "$lua" ] || preload=LD_PRELOAD=$B/lib/libweft.so more=60

# Its lines: "on" and "off" as in p_attach.c; "count": the instructions of 21
# native calls and of a protected one, and the hook; "alone": has it one thread? Its coroutine is older
# than any recording.
cat >"$T/same.c" <<'END'
#define _GNU_SOURCE
#include "tracer/host/weft.h"
#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#define UNSEEN __attribute__((no_instrument_function))
static const char script[] =
	"local function step(n) return n + 1 end\n"
	"local co = coroutine.wrap(function(n)\n"
	"  while true do n = coroutine.yield(step(n)) end\n"
	"end)\n"
	"function round(n)\n"
	"  for i = 1, 10 do n = co(n) end\n"
	"  return n\n"
	"end\n"
	"function state()\n"
	"  return (debug.gethook(co) and 'hooked' or 'not hooked') ..\n"
	"    (jit and jit.status() and ', compiles' or '')\n"
	"end\n";
static volatile sig_atomic_t instructions;
long churn(long n);
__attribute__((noinline)) long churn(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n > 0 ? churn(n - 1) + 1 : 0;
}
UNSEEN static void on_step(int s)
{
	(void)s;
	instructions++;
}
UNSEEN static void native(lua_State *L)
{
	(void)L;
	churn(20);
}
UNSEEN static int nothing(lua_State *L)
{
	(void)L;
	return 0;
}
/* Nothing is allocated: how long that takes depends on what is free. */
UNSEEN static void protected(lua_State *L)
{
	lua_pushvalue(L, -1);
	lua_pcall(L, 0, 0, 0);
}
/* The processor traps after each instruction. */
UNSEEN static int steps(void (*f)(lua_State *), lua_State *L)
{
	f(L);
	instructions = 0;
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $256, (%%rsp);"
			 "popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc");
	f(L);
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~256, (%%rsp);"
			 "popfq; lea 128(%%rsp), %%rsp" ::: "memory", "cc");
	return instructions;
}
/* Of a protected call; once weft knows L, it may look whether L is recorded. */
UNSEEN static int protected_steps(lua_State *L)
{
	static int first;
	int n;

	lua_pushcfunction(L, nothing);
	n = steps(protected, L);
	lua_pop(L, 1);
	if (first == 0)
		first = n;
	return n > first && n <= first + MORE ? first : n;
}
UNSEEN static int is_on(lua_State *L)
{
	void *const weft = dlopen("libweft.so", RTLD_LAZY | RTLD_NOLOAD);
	int (*status)(struct weft_status *) = !weft ? NULL :
		(int (*)(struct weft_status *))dlsym(weft, "weft_status");
	struct weft_status s = { .size = sizeof(s) };

	churn(1);
	lua_getglobal(L, "round");
	lua_pushinteger(L, 1);
	lua_pcall(L, 1, 1, 0);
	lua_settop(L, 0);
	if (status)
		status(&s);
	return s.on;
}
UNSEEN int main(void)
{
	lua_State *const L = luaL_newstate();
	char line[64];

	signal(SIGTRAP, on_step);
	setvbuf(stdout, NULL, _IOLBF, 0);
	luaL_openlibs(L);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=s") != 0 ||
	    lua_pcall(L, 0, 0, 0) != 0)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'c') {
			lua_getglobal(L, "state");
			lua_call(L, 0, 1);
			printf("%d instructions and %d, Lua is %s, %s\n",
			       steps(native, L), protected_steps(L),
			       lua_tostring(L, -1),
			       lua_gethook(L) ? "hooked" : "not hooked");
			lua_settop(L, 0);
			continue;
		}
		if (line[0] == 'a') {
			puts(unshare(CLONE_THREAD) == 0 ? "alone" : "not alone");
			continue;
		}
		int rounds = 0;

		while (is_on(L) != (line[1] == 'n') && rounds++ < 10000)
			usleep(100);
		puts(rounds > 10000 ? "never" : line[1] == 'n' ? "on" : "off");
	}
	puts("right");
	return 0;
}
END
gcc -O1 -finstrument-functions -I. -DMORE=$more $(pkg-config --cflags "$lua") "$T/same.c" \
	-o "$T/same" -ldl $(pkg-config --libs "$lua") ||
	fail "the program is not built"
# Else the links that it uses meanwhile would be others.
begin env LD_BIND_NOW=1 $preload "$T/same"

# look: all that must be the same, in $T/now.
look() {
	ask count
	{
		echo "$answer"
		grep -E '^(Threads|Seccomp|Sig(Blk|Ign|Cgt))' "/proc/$pid/status"
		(cd "/proc/$pid/fd" && echo descriptors *)
		"$P/p_image" "$pid" || fail "p_image"
	} >"$T/now"
}
look
mv "$T/now" "$T/before"
for how in ended killed again; do
	attach --pool-size 64M
	ask alone
	[ "$answer" = alone ] || fail "it has another thread"
	if [ $how = killed ]; then
		kill -KILL "$recorder"
		wait "$recorder"
		ask off
		[ "$answer" = off ] || fail "more than a chunk is recorded"
	else
		detach
		ask off
		await has_left || fail "it maps the pool"
	fi
	look
	diff "$T/before" "$T/now" || fail "$how: it is another program"
done
end
