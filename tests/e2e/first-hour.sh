#!/bin/bash
# The first hour: whatever keeps a program from being recorded, in part or as a
# whole, weft record names it and the way out; and the program runs as ever.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# says WHAT STATUS PATTERN [OPTIONS --] PROGRAM...
says() {
	local what=$1 status=$2 pattern=$3
	shift 3
	record "$@"
	local got=$?
	[ $got = "$status" ] || fail "$what: status $got, not $status"
	grep -qE "$pattern" "$T/err" || fail "$what: no word of $pattern"
}
silent() {
	grep -E "$2" "$T/err" && fail "$1: says what is not so"
	return 0
}
cat >"$T/c.c" <<'END'
int f(int x) { return x + 1; }
int main(void) { return f(4); }
END
cat >"$T/own.c" <<'END'
void __cyg_profile_func_enter(void *f, void *c) { (void)f; (void)c; }
void __cyg_profile_func_exit(void *f, void *c) { (void)f; (void)c; }
END
compile() {
	local out=$1
	shift
	cc -o "$T/$out" "$@" 2>"$T/cc.err"
}

# Not built with the flag: the line to type.
compile plain "$T/c.c" || fail "no compiler"
says plain 5 'not built with -finstrument-functions: compile it with' "$T/plain"
grep -q 'nothing was recorded' "$T/err" || fail "plain: nothing"
! grep 'next: weft report' "$T/err" || fail "plain: a report of nothing"
says plain 5 'no Lua state was seen' "$T/plain"
# A script's interpreter is what counts.
printf '#!%s/plain\n' "$T" >"$T/script"
chmod +x "$T/script"
says script 5 "plain\" is not built with -finstrument" "$T/script"
# It called functions, but had turned that off.
compile off -finstrument-functions "$T/c.c" -x c - <<'END'
extern int weft_native(int on) __attribute__((weak));
__attribute__((constructor, no_instrument_function)) static void off(void)
{
	if (weft_native)
		weft_native(0);
}
END
says off 5 'called no function while its native calls were recorded' "$T/off"
"$WEFT" report "$T/trace" 2>"$T/report.err" && fail "off: a report"
grep -q 'none built with .* while native calls were recorded' "$T/report.err" ||
	fail "off: the report blames the build"

# Hooks of its own.
compile own.o -c "$T/own.c"
compile own -finstrument-functions "$T/c.c" "$T/own.o"
says own 5 'defines __cyg_profile_func_enter itself.*leave that' "$T/own"

# Static, static-pie: no loader.
for how in static static-pie; do
	compile $how -$how -finstrument-functions "$T/c.c" || continue
	says $how 5 'linked statically.*link it dynamically$' "$T/$how"
	grep -q 'nothing was recorded' "$T/err" || fail "$how: nothing"
done

# Another C library, whose loader would give up over libweft.so.
if musl-gcc -o "$T/musl" "$T/c.c" 2>/dev/null; then
	says musl 5 'runs on musl' "$T/musl"
	silent musl 'Error (loading|relocating)'
else
	compile musl -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 "$T/c.c"
	record "$T/musl"
	grep -q 'runs on musl' "$T/err" || fail "musl: no word"
fi

# Another word size.
cat >"$T/start.s" <<'END'
.globl _start
_start:	mov $1, %eax
	mov $5, %ebx
	int $0x80
END
if gcc -m32 -nostdlib -static -o "$T/narrow" "$T/start.s" 2>/dev/null; then
	"$T/narrow" 2>/dev/null
	status=$?
	# Some kernels run no such program at all.
	[ $status = 126 ] ||
		says 32-bit $status 'another machine or word size' "$T/narrow"
fi

# The environment was emptied on the way: who lost it.
says env 4 'p_exit" was not recorded' \
	env -i "$P/p_exit" exit
not='now runs .*/p_slow", which is not recorded'
says env 9 "$not" env -i "$P/p_slow" 1.5
grep -q 'LD_PRELOAD and WEFT_POOL were taken' "$T/err" || fail "env: no reason"
silent env 'env" is not built'
# Part of a recording that is not empty otherwise.
says part 9 "$not" \
	sh -c '"$0" exit; env -i "$1" 1.5' "$P/p_exit" "$P/p_slow"
report
[ "$(calls leaf)" = 1001 ] && [ "$(calls tick)" = 0 ] || fail "part: calls"
grep -q 'not recorded' "$T/report.err" || fail "part: not in the report"
# The pool becomes one of another version, which the library must not touch.
says version 4 'its libweft.so is of another version of weft' \
	sh -c 'printf "\1\0\0\0" | dd bs=1 seek=8 conv=notrunc \
		of="/proc/self/fd/${WEFT_POOL%%:*}" 2>/dev/null
		exec "$0" exit' "$P/p_exit"
silent version '[1-9][0-9]* records'
# Paused, and left so; told not to.
says paused 4 'was paused' --paused -- "$P/p_exit" exit
"$WEFT" report "$T/trace" 2>"$T/report.err" && fail "paused: a report"
grep -q 'was off at first; if it was turned on, .*/p_exit exit" called no Lua' \
	"$T/report.err" ||
	fail "paused: the report blames the build"
says no-native 4 'nothing was recorded' --no-native -- "$P/p_exit" exit

# Lua: linked statically, stripped or not; shared, and no state; without flag.
lua=$(pkg-config --variable=includedir lua5.4 2>/dev/null)/lua5.4
cat >"$T/lua.c" <<'END'
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	(void)argv;
	lua_State *L = argc > 1 ? NULL : luaL_newstate();
	if (!L)
		return 5;
	luaL_openlibs(L);
	int bad = luaL_dostring(L, "local function f() end for i=1,9 do f() end");
	lua_close(L);
	return bad ? 1 : 5;
}
END
archive=$(ls /usr/lib/*/liblua5.4.a 2>/dev/null | head -n 1)
if [ -n "$archive" ]; then
	compile own-lua -I"$lua" -finstrument-functions "$T/lua.c" "$archive" \
		-lm -ldl || fail "static Lua does not link"
	says own-lua 5 'Lua of its own linked in.*weft_lua_attach' "$T/own-lua"
	strip "$T/own-lua"
	says stripped 5 'Lua of its own linked in' "$T/own-lua"
fi
compile shared-lua -I"$lua" -finstrument-functions "$T/lua.c" -llua5.4
says state 5 '1 Lua state,' "$T/shared-lua"
silent state 'record:'
compile half -I"$lua" "$T/lua.c" -llua5.4
# Who records Lua need not want native calls.
says half 5 '1 Lua state,' "$T/half"
silent half 'record:'
report
grep -q '^"f <.*,1,9,' "$T/report.csv" || fail "half: Lua is not recorded"

# weft record counts what the report does: of two states one is called, and a
# child of fork goes on with it.
cat >"$T/fork.c" <<'END'
#include <lauxlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	lua_State *L = luaL_newstate();
	int status = luaL_newstate() ? 0 : 1;

	status |= luaL_dostring(L, "function f() end f()");
	if (fork() == 0)
		_exit(luaL_dostring(L, "f()"));
	wait(NULL);
	if (fork() == 0)
		_exit(0);
	wait(NULL);
	return status;
}
END
compile fork -I"$lua" "$T/fork.c" -llua5.4 || fail "does not compile"
record "$T/fork" || fail "fork: status $?"
of='[0-9]* processes, [0-9]* threads, [0-9]* Lua states'
told=$(grep -o "$of" "$T/err")
[ -n "$told" ] && "$WEFT" report "$T/trace" | grep "$of" | grep -q "$told" ||
	fail "weft record tells $told, weft report: $("$WEFT" report "$T/trace" |
		head -n 1)"

# What lies in a trace's folder is read as one, and the report says so.
mkdir -p "$T/all/ctf"
cp -r "$T/trace" "$T/all/ctf/a"
record "$T/fork" || fail "again: status $?"
mv "$T/trace" "$T/all/ctf/b"
"$WEFT" report "$T/all" | grep -q 'note: 2 recordings were found there' ||
	fail "two recordings are one without a word"
exit 0
