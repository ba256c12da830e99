#!/bin/bash
# libweft.so gives the program no names of functions that the program asks for,
# and sees all calls nevertheless: those of plugins in a scope (RTLD_DEEPBIND) or
# a namespace (dlmopen) of their own, and those before the first constructor. It
# allocates nothing with the program's malloc.
# SPDX-License-Identifier: MIT
. tests/lib.sh
extra=$(nm -D --defined-only "$B/lib/libweft.so" | awk '{ print $3 }' |
	grep -vE '^(weft_|__cyg_profile_func_(enter|exit)$)' |
	grep -vE '^__(tsan_.*_fiber(_name)?|sanitizer_.*_switch_fiber)$')
[ -z "$extra" ] || fail "libweft.so exports $extra"

gcc -O1 -finstrument-functions tests/prog/p_unseen.c -o "$T/unseen" -ldl ||
	fail "p_unseen.c is not built"
"$T/unseen" >"$T/alone" || fail "it fails by itself"
record "$T/unseen" || fail "weft record fails"
cmp "$T/alone" "$T/out" || fail "recorded, it says $(cat "$T/out")"
report
nothing_lost
[ "$(calls early) $(calls constructed) $(calls main) $(calls leaf)" = \
	"1 1 1 3" ] || fail "calls before main are missing"

gcc -O1 tests/prog/lua/hosts.c -o "$T/hosts" -ldl ||
	fail "the host is not built"
tried=0
for v in $LUAS; do
	pkg-config --exists "$v" || continue
	# shellcheck disable=SC2046
	gcc -O1 -shared -fPIC -finstrument-functions \
		$(pkg-config --cflags "$v") tests/prog/lua/plugin.c \
		-o "$T/$v.so" $(pkg-config --libs "$v") ||
		fail "the plugin of $v is not built"
	for how in -d -m; do
		"$T/hosts" $how "$T/$v.so" >"$T/alone" ||
			fail "$v $how: the host fails by itself"
		record "$T/hosts" $how "$T/$v.so" || fail "$v $how: weft record fails"
		cmp "$T/alone" "$T/out" || fail "$v $how: it says something else"
		report
		nothing_lost
		read -r _ value <"$T/out"
		name="f <${v/lua/Lua }:2>"
		[ "$v" != luajit ] || name="f <LuaJIT:2>"
		[ "$(calls "$name") $(calls plugin_run)" = \
			"$((2 * (value / 1000))) 2" ] ||
			fail "$v $how: $(calls "$name") calls, $value"
		tried=$((tried + 1))
	done
done
# What constructors called before is not known, and that is said; of a plugin that
# has none nothing is.
cat >"$T/made.c" <<'C'
static int n;
__attribute__((noinline)) static void leaf(void) { n++; }
__attribute__((constructor)) static void made(void) { leaf(); }
int plugin_run(int times);
int plugin_run(int times) { leaf(); return n + times; }
C
gcc -O1 -shared -fPIC -finstrument-functions "$T/made.c" -o "$T/made.so" ||
	fail "no plugin with a constructor"
for how in -d -m -k; do
	record "$T/hosts" $how "$T/made.so" || fail "made $how: weft record fails"
	report
	want=$([ $how = -k ] && echo "lost: 0" || echo "lost: not known (a library was opened")
	grep -q "$want" "$T/err" || fail "made $how: $(cat "$T/err")"
	"$WEFT" check "$T/trace" >"$T/check" 2>&1
	whole=$([ $? = 0 ] && echo -k)
	[ "${how/-[dm]/}" = "$whole" ] ||
		fail "made $how: check says $(cat "$T/check")"
done
[ $tried -gt 0 ] || { echo "no Lua library for programs"; exit 77; }
