#!/bin/bash
# weft record --archive: what naming takes lies beside the trace. The program
# and its debug file, a plugin that is removed while it runs, and a Lua source
# are had; a plugin that was removed before its first call is said to be missing.
# With the production machine's files all gone, everything else is named, weft
# coverage reads the code, and damaged files in the archive do no harm.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS
mkdir -p "$T/there"
cat >"$T/main.c" <<'C'
#include <dlfcn.h>
#include <unistd.h>
static __attribute__((noinline)) int in_main(int x) { return x + 1; }
__attribute__((noinline, no_instrument_function))
static int (*load(const char *path, const char *name))(int)
{
	void *library = dlopen(path, RTLD_NOW);

	return library ? (int (*)(int))dlsym(library, name) : NULL;
}
int main(int count, char **words)
{
	int (*kept)(int) = load(words[1], "in_kept");
	int (*gone)(int) = load(words[2], "in_gone");

	if (count < 3 || !kept || !gone)
		return 1;
	unlink(words[2]);
	for (int i = 0; i < 3; i++) {
		kept(in_main(i));
		usleep(900000);
	}
	unlink(words[1]);
	gone(1);
	return 0;
}
C
cat >"$T/plugin.c" <<'C'
static __attribute__((noinline)) int NAME_static(int x) { return x * 2; }
int NAME(int x) { return NAME_static(x) + 1; }
C
(cd "$T/there" && gcc -O1 -g -finstrument-functions ../main.c -o prog -ldl &&
for f in in_kept in_gone; do
	sed "s/NAME/$f/g" ../plugin.c >../$f.c
	gcc -O1 -g -fPIC -shared -finstrument-functions ../$f.c -o $f.so ||
		exit 1
done) || fail "gcc fails"
(cd "$T/there" && objcopy --only-keep-debug prog prog.debug && strip prog &&
	objcopy --add-gnu-debuglink=prog.debug prog) || fail "objcopy fails"
record --archive -- "$T/there/prog" "$T/there/in_kept.so" \
	"$T/there/in_gone.so" || fail "weft record fails"
grep -q '^weft: archived 3 files' "$T/err" ||
	fail "not archived: $(cat "$T/err" "$T/trace/archive/contents")"
grep -q 'not archived: 1, the first of them .*/in_gone.so: No such file' \
	"$T/err" || fail "nobody says what is missing: $(cat "$T/err")"
grep -q 'missing .*/in_gone.so: ' "$T/trace/archive/contents" ||
	fail "the list does not say what is missing"

rm -r "$T/there"
mkdir "$T/elsewhere"
mv "$T/trace" "$T/elsewhere/moved"
named() {
	"$WEFT" report --csv "$T/elsewhere/moved" >"$T/report.csv" \
		2>"$T/report.err" || fail "weft report fails"
	for f in in_main in_kept in_kept_static; do
		[ "$(calls $f)" = 3 ] || fail "$f: $(cat "$T/report.csv")"
	done
	grep -Eq '^in_main,native,[^,]*,[^,]*main.c,3,3,' "$T/report.csv" ||
		fail "in_main has no line: $(cat "$T/report.csv")"
}
named
grep -Eq '^in_gone\.so\+0x' "$T/report.csv" || fail "$(cat "$T/report.csv")"
"$WEFT" coverage --csv "$T/elsewhere/moved" 2>"$T/coverage.err" >"$T/coverage.csv" ||
	fail "weft coverage fails"
grep -q '^load,.*,no_instrument_function or exclude list' "$T/coverage.csv" ||
	fail "coverage does not read the archive: $(cat "$T/coverage.csv")"
"$WEFT" info "$T/elsewhere/moved" >"$T/info" || fail "weft info fails"
grep -q '^archive .*1 missing' "$T/info" || fail "info: $(cat "$T/info")"

# Damage: cut short, and bytes changed. Names may go; nothing else may.
for f in "$T"/elsewhere/moved/archive/.build-id/*/*; do
	cp "$f" "$T/good"
	size=$(stat -c %s "$f")
	for seed in 1 2 3 4 5 6 7 8; do
		cp "$T/good" "$f"
		if [ $seed -gt 6 ]; then
			truncate -s $((size * seed / 17)) "$f"
		else
			for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
				printf '\377\001\200\177' | dd of="$f" bs=1 \
					seek=$(((seed * 7919 + i * 104729 *
					seed + i * i * 31) % size)) \
					conv=notrunc 2>/dev/null
			done
		fi
		for command in report coverage; do
			timeout 300 "$WEFT" $command "$T/elsewhere/moved" \
				>"$T/out" 2>"$T/err" ||
				fail "$command of a damaged $f (seed $seed)" \
					"gives $?: $(cat "$T/err")"
		done
	done
	cp "$T/good" "$f"
done
named

# A Lua source, by a path that counts from where the program stood.
mkdir "$T/lua"
cat >"$T/host.c" <<'C'
#include <lauxlib.h>
#include <lualib.h>
int main(void)
{
	lua_State *L = luaL_newstate();

	luaL_openlibs(L);
	return luaL_dofile(L, "work.lua");
}
C
# shellcheck disable=SC2046
gcc "$T/host.c" -o "$T/lua/host" $(pkg-config --cflags --libs lua5.4) ||
	fail "no Lua host"
echo 'local function f(x) return x end
for i = 1, 5 do f(i) end' >"$T/lua/work.lua"
(cd "$T/lua" && record --archive -- ./host) || fail "weft record fails"
cmp "$T/lua/work.lua" "$T/trace/archive/lua/$(realpath "$T")/lua/work.lua" ||
	fail "the Lua source is not there: $(cat "$T/trace/archive/contents")"
