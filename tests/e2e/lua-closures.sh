#!/bin/bash
# A C function that is several, by its upvalues, has the name of none of them, in
# each Lua, but what their names have in common, or none. One that is the same in
# several places has one name, which does not depend on the order of a table. One
# that is called first, and then put into a library, has its name. So has one in
# a table of a library, or of the registry. One that handles errors is not called
# as what failed.
# SPDX-License-Identifier: MIT
. tests/lib.sh
export LUA_CPATH="$T/?.so"
cp tests/prog/lua/closures.lua "$T/"
for v in $LUAS; do
	gcc -O1 -s -fPIC -shared $(pkg-config --cflags $v) \
		-o "$T/closures.so" tests/prog/lua/closures.c ||
		fail "$v: the library is not built"
	buffers=0
	case $v in lua5.[45]) buffers=35 ;; esac
	for _ in 1 2 3; do # tables have another order in each process
		record --lua-init -- $v "$T/closures.lua" ||
			fail "$v: weft record fails"
		report
		nothing_lost
		awk -F, -v OFS=, '$2 == "native" && $1 !~ /^(luaopen_|tostring|pcall|assert)/ {
			sub(/^closures.so\+0x.*/, "nameless", $1)
			print $1, $6 }' "$T/report.csv" |
			grep -Ev '^(math|string)\.|BOX' | grep -E ',[0-9]{2,}$' |
			sort | diff - <(sort <<-'END'
			Handle.close,50
			closures.*,150
			closures.*,100
			configured,100
			closures.single,100
			closures.plain,100
			nameless,100
			nameless,100
			Object.__index,100
			__tostring,100
			late.late,60
			closures.protect,60
			member,40
			nameless,60
			closures.inner.deep,29
			mine.more.other,29
			END
			) || fail "$v: not as counted"
		for f in math.fmod string.gmatch; do
			[ "$(calls $f)" = 70 ] || fail "$v: no name $f"
		done
		[ $buffers = 0 ] || [ "$(calls '_UBOX*.__gc')" = $buffers ] ||
			fail "$v: Lua's buffers have no name"
	done
done
exit 0
