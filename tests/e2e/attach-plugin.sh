#!/bin/bash
# each: before during
# A program without weft opens plugins before or during a recording. One has
# functions of Lua's names itself, one in a library of its own: they call these,
# and the loader does not bind them to weft. One takes its Lua from a library that
# is opened for all (RTLD_GLOBAL): once closed, it is gone. Afterwards nothing
# leads to weft. (A Lua without lua_sethook cannot be recorded at all.)
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }

cat >"$T/own.c" <<'END'
long lua_pcallk(long n);
long lua_newstate(long n);
long lua_pcallk(long n) { return n + NUMBER; }
long lua_newstate(long n) { return n + 10 * NUMBER; }
#ifdef WHOLE
long lua_sethook(void);
long lua_sethook(void) { return 0; }
#endif
END
cat >"$T/user.c" <<'END'
long lua_pcallk(long n);
long lua_newstate(long n);
long answer(void);
long answer(void) { return lua_pcallk(0) + lua_newstate(0); }
END
cat >"$T/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#define UNSEEN __attribute__((no_instrument_function))
static void *open_now[10];
long work(long n);
long work(long n) { return n + 1; }
UNSEEN static void open_as(char how, void **slot, const char *path)
{
	*slot = dlopen(path, (how == 'l' ? RTLD_LAZY : RTLD_NOW) |
			     (how == 'g' ? RTLD_GLOBAL : RTLD_LOCAL));
	puts(*slot ? "open" : dlerror());
}
UNSEEN int main(void)
{
	char line[512];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		void **const slot = &open_now[(line[1] - '0') % 10u];

		line[strcspn(line, "\n")] = '\0';
		work(1);
		if (strcmp(line, "on") == 0) {
			puts("on");
		} else if (strchr("lng", line[0])) {
			open_as(line[0], slot, line + 3);
		} else if (line[0] == 'c') {
			puts(dlclose(*slot) == 0 ? "closed" : dlerror());
		} else {
			long (*const f)(void) =
				(long (*)(void))dlsym(*slot, "answer");

			printf("%ld\n", f());
		}
	}
	puts("right");
	return 0;
}
END
library() {
	gcc -O1 -fPIC -shared "$@" || fail "a library is not built"
}
library -DNUMBER=1 "$T/own.c" "$T/user.c" -o "$T/inside.so"
library -DNUMBER=1 "$T/own.c" "$T/user.c" -o "$T/lazy.so" -Wl,-z,lazy
library -DNUMBER=2 "$T/own.c" -o "$T/libbelow.so"
library "$T/user.c" -o "$T/below.so" "$T/libbelow.so" -Wl,-rpath,"$T"
library -DNUMBER=3 -DWHOLE "$T/own.c" -o "$T/libwhole.so"
library "$T/user.c" -o "$T/user.so" -Wl,-z,lazy
gcc -O1 -finstrument-functions "$T/host.c" -o "$T/host" -ldl ||
	fail "the program is not built"

says() {
	ask "$1"
	[ "$answer" = "$2" ] || fail "it says \"$answer\" to \"$1\", not \"$2\""
}
open_all() {
	says "n1 $T/inside.so" open
	says "l2 $T/lazy.so" open
	says a2 11 # later, it would find the whole Lua
	says "n3 $T/below.so" open
	says "g4 $T/libwhole.so" open
	says "l5 $T/user.so" open
}
call_own() {
	says a1 11
	says a2 11
	says a3 22
}
leads() {
	[ "$("$P/p_links" "$pid" "$1")" -gt 0 ]
}

# It joins with its next call, once it is led.
has_joined() {
	ask on
	[ -s "$T/trace/pool" ] &&
		grep -qF "$(cat "$T/trace/pool")" "/proc/$pid/maps"
}

begin "$T/host"
ask on
[ "$1" = during ] || open_all
attach
[ "$1" = before ] || open_all
# It was opened last, and its Lua is a whole one.
await leads /user.so || fail "calls of a whole Lua are not led"
for f in inside lazy below; do
	leads "/$f.so" && fail "calls of $f.so are led"
done
call_own
says a5 33
says c5 closed
says c4 closed
grep -q '/user.so\|/libwhole.so' "/proc/$pid/maps" &&
	fail "a library that was closed is there still"
call_own
detach
ask on
await leads_nowhere || fail "words of it lead to libweft.so"
call_own
end
