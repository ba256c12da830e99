#!/bin/bash
# A program with Lua linked in statically, its source unchanged, linked with
# what pkg-config says for weft-lua-static: it says the same, recorded or not,
# its calls and coroutines are exact, and no switch is inferred. All versions.
# SPDX-License-Identifier: MIT
. tests/lib.sh

make --no-print-directory -s B="$B" PREFIX="$T/weft" install-record ||
	fail "it does not install"
export PKG_CONFIG_PATH=$T/weft/lib/pkgconfig
libs=$(pkg-config --libs weft-lua-static) || fail "no weft-lua-static"

# link OUT VERSION FLAGS...: linked.c with that version's archive.
link() {
	local out=$1 v=$2 name=lua$2
	shift 2
	[ "$v" != jit ] || name=luajit-5.1
	local archive
	archive=$(find /usr/lib -name "lib$name.a" | head -n 1)
	[ -n "$archive" ] || fail "no static library of Lua $v"
	[ "$v" != jit ] || name=luajit
	# shellcheck disable=SC2046
	gcc -O1 -g -o "$T/$out" $(pkg-config --cflags "${name%-*}") \
		tests/prog/lua/linked.c "$@" "$archive" -lm -ldl ||
		fail "$out does not link"
}
# figures: calls of each function; coroutines, resumes, inferred switches.
figures() {
	report
	nothing_lost
	for f in leaf fails body handle task hooked; do
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
script=$(sed -n '/^static const char script/,/;$/p' tests/prog/lua/linked.c |
	sed 1d)

# handle: 100 times; body twice in each; fails: in both bodies and by pcall;
# leaf: in body, in handle, in fails, twice in task, thrice in hooked. work, a
# C function: once.
expected="leaf 803 fails 300 body 200 handle 100 task 100 hooked 1 1
300 600 0"
for v in 5.1 5.2 5.3 5.4; do
	link plain $v
	# shellcheck disable=SC2086
	link linked $v $libs
	"$T/plain" >"$T/said" || fail "$v: the host fails by itself"
	"$T/linked" | cmp - "$T/said" || fail "$v: linked, it says other things"
	record "$T/linked" || fail "$v: weft record fails"
	cmp "$T/out" "$T/said" || fail "$v: recorded, it says other things"
	got=$(figures)
	[ "$got" = "$expected" ] || fail "$v: $got"
	"$WEFT" info "$T/trace" | grep 'found at the next event' &&
		fail "$v: some switches are not seen"
done

# LuaJIT is one object, whose own calls the linker does not see: that its switches
# are inferred is said. Its debug.sethook, in hooked, puts weft's hook away.
link jit jit
# shellcheck disable=SC2086
link jit-linked jit $libs
"$T/jit" >"$T/said" || fail "LuaJIT: the host fails by itself"
record "$T/jit-linked" || fail "LuaJIT: weft record fails"
cmp "$T/out" "$T/said" || fail "LuaJIT: recorded, it says other things"
got=$(figures | head -n 1)
less=${expected/leaf 803/leaf 800}
[ "$got" = "${less%%$'\n'*}" ] || fail "LuaJIT: $got"
"$WEFT" info "$T/trace" | grep -q 'found at the next event' ||
	fail "LuaJIT: not said that switches are inferred"
