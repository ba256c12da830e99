#!/bin/bash
# A Lua library that was itself built with -finstrument-functions gives the same
# calls, callers and coroutines as one that was not, and the script's own
# counts: none of Lua's native calls, nor of what weft asks of it, are in the
# way. Where Lua is part of an instrumented program, its symbols shown or not, the
# counts are exact, too, and no stack is lost. Lua's source is Debian's. 5.4, and
# 5.1 with DEEP=1.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset DEBUGINFOD_URLS

tests/source.sh "$T" lua5.4 lua5.1 >"$T/apt" 2>&1 || {
	cat "$T/apt"
	exit 77
}

# lua VERSION: its sources, in $src.
lua() {
	mkdir "$T/$1"
	tar xf "$T"/lua"$1"_*.orig.tar.* -C "$T/$1" --strip-components 1 ||
		fail "no source of $1"
	src=$T/$1/src
	rm -f "$src"/lua.c "$src"/luac.c "$src"/print.c
}
flags="-O2 -g -w -DLUA_USE_LINUX -DLUA_COMPAT_5_3"

# library FOLDER VERSION FLAG...
library() {
	local to=$T/$2/$1 v=$2
	shift 2
	mkdir "$to"
	# shellcheck disable=SC2086
	gcc $flags -fPIC -shared "$@" -Wl,-soname,liblua"$v".so.0 \
		-o "$to/liblua$v.so.0" "$src"/*.c -lm -ldl ||
		fail "Lua $v does not build"
}

# Each node of the tree as its path and calls, then coroutines by body.
shape() {
	"$WEFT" tree --csv --min-share 0 --recursion none "$T/trace" 2>/dev/null |
		lua5.4 -e '
		local at, lines = {}, {}
		io.read()
		for line in io.lines() do
			local n, p, name, calls = line:match(
				"^(%d+),(%d+),%d+,(.-),.-,.-,.-,%d*,%d,([%d]+),")
			at[n] = (at[p] and at[p] .. " > " or "") .. name
			lines[#lines + 1] = at[n] .. " " .. calls
		end
		table.sort(lines)
		print(table.concat(lines, "\n"))'
	"$WEFT" coroutines --csv "$T/trace" 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ print $at["function"], $at["resumes"] }' | sort
}
# own_counts: the script's, printed by the program, are the report's.
own_counts() {
	report
	nothing_lost
	local name line n said
	while read -r name line n; do
		said=$(awk -F, -v line="$line" '$2 == "lua" && $5 == line {
			n += $6 } END { print n + 0 }' "$T/report.csv")
		[ "$said" = "$n" ] ||
			fail "$1: $name ran $n times, weft says $said"
	done <"$T/out"
	[ "$(wc -l <"$T/out")" = 11 ] || fail "$1 says: $(cat "$T/out")"
	[ "$(calls back)" = 200 ] || fail "$1: back $(calls back)"
	[ "$(calls inner)" = 200 ] || fail "$1: inner $(calls inner)"
}

# A library that allows a smaller stack, and so has its registry elsewhere, and
# that checks how it is called.
other_limits() {
	cat >"$T/limits.h" <<-'H'
	#undef LUAI_MAXSTACK
	#define LUAI_MAXSTACK 50000
	#include <assert.h>
	#undef luai_apicheck
	#define luai_apicheck(l, e) assert(e)
	H
	library limits $v -O0 -DLUA_USER_H="\"$T/limits.h\"" -DLUA_USE_APICHECK
	gcc -O1 -g -finstrument-functions -DLUA_USER_H="\"$T/limits.h\"" \
		-I"$src" -o "$T/$v/limited" tests/prog/lua/built.c \
		"$T/$v/limits/liblua$v.so.0" || fail "the program does not link"
	LD_LIBRARY_PATH=$T/$v/limits record "$T/$v/limited" \
		tests/prog/lua/built.lua || fail "$v, limits, ends with $?"
	own_counts "$v, limits"
	shape | diff "$T/$v.plain" - ||
		fail "$v: other calls with other limits"
}

for v in 5.4 ${DEEP:+5.1}; do
	lua $v
	library plain $v -O0
	library hooked $v -finstrument-functions
	readelf -Ws "$T/$v/hooked/liblua$v.so.0" | grep -q 'UND __cyg_prof' ||
		fail "the library of $v calls no hooks"
	gcc -O1 -g -finstrument-functions -I"$src" -o "$T/$v/built" \
		tests/prog/lua/built.c "$T/$v/plain/liblua$v.so.0" ||
		fail "the program does not link"
	for kind in plain hooked; do
		export LD_LIBRARY_PATH=$T/$v/$kind
		record "$T/$v/built" tests/prog/lua/built.lua ||
			fail "$v $kind ends with $?"
		own_counts "$v $kind"
		shape >"$T/$v.$kind"
		"$WEFT" info "$T/trace" >"$T/info"
		left_out=$(grep -c 'calls of its own left out' "$T/info")
		[ "$left_out" = $([ $kind = plain ] && echo 0 || echo 1) ] ||
			fail "$v $kind: info says $(grep 'Lua 5' "$T/info")"
		unset LD_LIBRARY_PATH
	done
	if [ $v = 5.4 ]; then
		other_limits
	fi
	[ "$(wc -l <"$T/$v.plain")" -gt 100 ] || fail "$v: too small a tree"
	diff "$T/$v.plain" "$T/$v.hooked" ||
		fail "$v: other calls with the instrumented library"

	# Lua's own files as part of the program, with the program's flags.
	for shown in default hidden; do
		# shellcheck disable=SC2086
		gcc $flags -finstrument-functions -fvisibility=$shown -fPIC -DATTACH \
			-I. -I"$src" -o "$T/$v/$shown" \
			tests/prog/lua/built.c "$src"/*.c -L"$B/lib" -lweft \
			-Wl,-rpath,"$PWD/$B/lib" -lm -ldl ||
			fail "the program with Lua in it does not link"
		record "$T/$v/$shown" tests/prog/lua/built.lua ||
			fail "$v $shown ends with $?"
		own_counts "$v $shown"
		"$WEFT" info "$T/trace" | grep -q 'of its own left out' ||
			fail "$v $shown: nothing was left out"
	done
done
