#!/bin/bash
# A program with Lua linked in statically, its source unchanged, linked with
# what pkg-config says for weft-lua-static: it says the same, recorded or not,
# its calls and coroutines are exact, and no switch is inferred. So it is where
# plugins, which were linked with nothing, use the program's Lua. Where Lua's own
# calls are not seen, counts are exact, and it is said that switches are inferred:
# interpreters whose modules make states, shared libraries that do not call their
# own functions by name, LuaJIT. All versions. A program that ran already is told
# what it must do.
# SPDX-License-Identifier: MIT
. tests/lib.sh

make --no-print-directory -s B="$B" PREFIX="$T/weft" install-record ||
	fail "it does not install"
export PKG_CONFIG_PATH=$T/weft/lib/pkgconfig
libs=$(pkg-config --libs weft-lua-static) || fail "no weft-lua-static"

# compile OUT VERSION SOURCE FLAGS...: for that version of Lua.
compile() {
	local out=$1 name=lua$2 source=$3
	shift 3
	# shellcheck disable=SC2046
	gcc -O1 -g -o "$T/$out" $(pkg-config --cflags "$name") \
		"tests/prog/lua/$source" "$@" || fail "$out is not built"
}
# link OUT VERSION SOURCE FLAGS...: with that version's archive.
link() {
	local name=liblua$2.a archive
	[ "$2" != jit ] || name=libluajit-5.1.a
	archive=$(find /usr/lib -name "$name" | head -n 1)
	[ -n "$archive" ] || fail "no static library of Lua $2"
	compile "$@" "$archive" -Wl,--no-whole-archive -lm -ldl
}
# host OUT VERSION FLAGS...: has all of Lua for the plugins that it opens.
host() {
	local out=$1 v=$2
	shift 2
	link "$out" "$v" hosts.c "$@" -Wl,-E -Wl,--whole-archive
}
# figures: calls of each function; coroutines, resumes, inferred switches.
figures() {
	report
	for f in leaf fails body handle task hooked nothing; do
		at=$(awk -v f=$f '/function '$f'\(|local function '$f'\(/ {
			print NR; exit }' <<<"$script")
		awk -F, -v line="$at" -v f=$f '$2 == "lua" && $5 == line {
			n += $6 } END { printf "%s %d ", f, n }' "$T/report.csv"
	done
	calls work
	"$WEFT" coroutines --csv "$T/trace" 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ n++; r += $at["resumes"]; x += $at["inferred"] }
		END { print n, r, x }'
}
# same WHAT PLAIN LINKED ARGUMENTS...: do the two programs say the same? The
# second is recorded.
same() {
	local what=$1 plain=$2 linked=$3
	shift 3
	"$T/$plain" "$@" >"$T/said" || fail "$what: the host fails by itself"
	"$T/$linked" "$@" | cmp - "$T/said" ||
		fail "$what: linked, it says other things"
	record "$T/$linked" "$@" || fail "$what: weft record fails"
	cmp "$T/out" "$T/said" || fail "$what: recorded, it says other things"
}
# exact WHAT FIGURES: these, and nothing is lost.
exact() {
	local got
	got=$(figures)
	[ "$got" = "$2" ] || fail "$1: $got"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$1: something is lost"
	nothing_lost
}
script=$(sed -n '/^static const char script/,/;$/p' tests/prog/lua/linked.c |
	sed 1d)

# handle: 100 times; body twice in each; fails: in both bodies and by pcall;
# leaf: in body, in handle, in fails, twice in task, thrice in hooked. nothing:
# by work, a C function that is called once, and after hooked. The plugin is
# opened, run and closed twice.
expected="leaf 803 fails 300 body 200 handle 100 task 100 hooked 1 nothing 2 1
300 600 0"
twice="leaf 1606 fails 600 body 400 handle 200 task 200 hooked 2 nothing 4 2
600 1200 0"
for v in 5.1 5.2 5.3 5.4; do
	link plain $v linked.c
	# shellcheck disable=SC2086
	link linked $v linked.c $libs
	same $v plain linked
	exact $v "$expected"
	"$WEFT" info "$T/trace" | grep 'found at the next event' &&
		fail "$v: some switches are not seen"

	# Functions that are in no table have names without symbols, too.
	strip "$T/linked"
	same "$v, stripped" plain linked
	report
	[ "$(calls 'return of ipairs')" = 300 ] ||
		fail "$v: $(calls 'return of ipairs') calls of what ipairs returns"

	compile plugin.so $v linked.c -shared -fPIC -Dmain=plugin_run
	host plain $v
	# shellcheck disable=SC2086
	host linked $v $libs
	same "a plugin of $v" plain linked "$T/plugin.so"
	exact "a plugin of $v" "$twice"
	"$WEFT" info "$T/trace" | grep 'found at the next event' &&
		fail "a plugin of $v: some switches are not seen"
done

# A library whose links were made at the start, and a program that has a mprotect
# of its own.
cp "$T/linked" "$T/early"
LD_PRELOAD=$T/plugin.so "$T/plain" "$T/plugin.so" >"$T/said"
# shellcheck disable=SC2016
record sh -c 'LD_PRELOAD=$LD_PRELOAD:$1 LD_BIND_NOW=1 exec "$0" "$1"' \
	"$T/early" "$T/plugin.so" || fail "linked early: weft record fails"
cmp "$T/out" "$T/said" || fail "linked early, it says other things"
report
exact "linked early" "$twice"
gcc -c -o "$T/denied.o" -x c - <<<'int mprotect(void) { return -1; }' ||
	fail "denied.o is not built"
# shellcheck disable=SC2086
host denied 5.4 $libs "$T/denied.o"
same "denied" plain denied "$T/plugin.so"
exact "denied" "$twice"

# Where Lua's own calls are not seen, its debug.sethook, in hooked, puts weft's
# hook away, until the host is back; that is told.
less="leaf 800 fails 300 body 200 handle 100 task 100 hooked 1 nothing 2 1
300 600"
hook_put_away() {
	grep -q "^weft: lost: not known (a script's debug.sethook put" \
		"$T/err" || fail "$1: calls are missing, and nobody says so"
	! grep -qx '# nothing was lost' "$T/report.err" ||
		fail "$1: nothing is said to be lost"
}
is_less() {
	got=$(figures)
	[ "${got% *}" = "$less" ] || fail "$1: $got"
	hook_put_away "$1"
	"$WEFT" info "$T/trace" | grep -q 'found at the next event' ||
		fail "$1: not said that switches are inferred"
}
for v in 5.1 5.2 5.3 5.4 jit; do
	compile plug.so $v linked.c -shared -fPIC -Dmain=luaopen_plug
	export LUA_CPATH="$T/?.so"
	"lua$v" -e 'require "plug"' >"$T/said" || fail "lua$v fails by itself"
	record --lua-init -- "lua$v" -e 'require "plug"' ||
		fail "lua$v: weft record fails"
	cmp "$T/out" "$T/said" || fail "lua$v: recorded, it says other things"
	is_less "a module of lua$v"
done

# LuaJIT is one object, whose own calls the linker does not see.
link plain jit linked.c
# shellcheck disable=SC2086
link linked jit linked.c $libs
same LuaJIT plain linked
is_less LuaJIT
compile plugin.so jit linked.c -shared -fPIC -Dmain=plugin_run
host plain jit
# shellcheck disable=SC2086
host linked jit $libs
same "a plugin of LuaJIT" plain linked "$T/plugin.so"
got=$(figures)
twice=${twice/leaf 1606/leaf 1600}
[ "${got% *}" = "${twice% *}" ] || fail "a plugin of LuaJIT: $got"
hook_put_away "a plugin of LuaJIT"

. tests/e2e/attach.inc
# shellcheck disable=SC2086
link attached 5.4 attached.c -I. $libs
begin env LD_PRELOAD="$B/lib/libweft.so" "$T/attached"
attach
ask 7
detach
must='no Lua state was seen .* call weft_lua_attach'
grep -q "$must" "$T/err" || fail "it is not told what to do: $(cat "$T/err")"
begin_recorder
await grep -q 'waiting for process' "$T/err" || fail "it does not wait"
detach
grep -q "$must" "$T/err" || fail "it is not told: $(cat "$T/err")"
! grep 'emptied the environment' "$T/err" || fail "what is not so is told"
end
