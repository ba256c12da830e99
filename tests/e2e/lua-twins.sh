#!/bin/bash
# Functions that begin and end on the same lines of one source are told apart,
# in each Lua: side by side, with bodies that are the same, one in another, in
# coroutines; in chunks that are loaded 100,000 times and come to lie where others
# lay; by several threads at once; and where recording begins in the middle. Each
# counts its own calls. So are those of scripts that all have one name, and of
# stripped files in LuaJIT, which have no lines.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# as_counted NAMES: what the script said of that many functions, and no other on
# the same lines.
as_counted() {
	report
	nothing_lost
	awk -v lua="$lua" -v names="$1" '
		FILENAME == ARGV[1] {
			if ($1 != "calls") { print lua ": " $0; bad = 1; next }
			want[$3 " " $4] += $2
			next
		}
		FNR > 1 && $2 == "lua" { said[$1] += $6 }
		END {
			for (name in want) {
				names--
				if (name in said && said[name] == want[name])
					continue
				print lua ": " name ": " want[name] \
					" calls, but weft says " said[name] + 0
				bad = 1
			}
			for (name in said) {
				if (name !~ /#|<(same|again|gone):/ ||
				    name in want || name ~ /^main chunk/)
					continue
				print lua ": " name ": " said[name]
				bad = 1
			}
			exit bad || names != 0
		}' "$T/out" FS=, "$T/report.csv" || fail "$lua: not as counted"
}

for lua in $LUAS; do
	gcc -O1 $(pkg-config --cflags $lua) -o "$T/twins" \
		tests/prog/lua/twins.c $(pkg-config --libs $lua) -lpthread ||
		fail "$lua: the program is not built"
	record --on-full wait -- "$T/twins" tests/prog/lua/twins.lua \
		${ROUNDS:-100000 20011 20021} || fail "$lua: weft record fails"
	as_counted 18
	record --paused --lua-init -- $lua tests/prog/lua/late.lua ||
		fail "$lua: weft record fails"
	as_counted 6
	v=${lua#lua}
	export LUA_CPATH="$B/lib/lua/${v/jit/5.1}/?.so"
	record --paused -- "$T/twins" tests/prog/lua/late.lua 1 ||
		fail "$lua: weft record fails"
	unset LUA_CPATH
	as_counted 4
	record --lua-init -- $lua tests/prog/lua/scripts.lua ||
		fail "$lua: weft record fails"
	report
	nothing_lost
	for file in user_script '(load)' '[string ""?""]' \
		'[string ""a job""]' s.luac; do
		line=1
		[ "$file" != s.luac ] || line=0
		[ "$file" != s.luac ] || [ "$lua" = luajit ] || continue
		awk -F, -v file="$file" '$4 == file || $4 == "\"" file "\"" {
			print $5, $6 }' \
			"$T/report.csv" | sort -k1n -k2n | diff - <({
			yes '0 3' | head -n 20
			seq 3 3 60 | sed "s/^/$line /"
		} | sort -k1n -k2n) ||
			fail "$lua: scripts named $file are not told apart"
		[ "$(cut -d, -f1 "$T/report.csv" | grep -F "<$file" |
			sort -u | wc -l)" = 40 ] || fail "$lua: names are equal"
	done
	[ "$(awk -F, '$4 == "many" { n++; calls += $6 }
		END { print n, calls }' "$T/report.csv")" = "1025 3000" ] ||
		fail "$lua: scripts without end are all told apart"
done
exit 0
