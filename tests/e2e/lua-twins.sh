#!/bin/bash
# Functions that begin and end on the same lines of one source are told apart,
# in each Lua: side by side, with bodies that are the same, one in another, in
# coroutines; in chunks that are loaded 100,000 times and come to lie where others
# lay; by several threads at once. Each counts its own calls.
# time: 200
# SPDX-License-Identifier: MIT
. tests/lib.sh
for v in ${LUAS:-lua5.1 lua5.2 lua5.3 lua5.4 luajit}; do
	gcc -O1 $(pkg-config --cflags $v) -o "$T/twins" \
		tests/prog/lua/twins.c $(pkg-config --libs $v) -lpthread ||
		fail "$v: the program is not built"
	record --on-full wait -- "$T/twins" tests/prog/lua/twins.lua \
		${ROUNDS:-100000 20011 20021} || fail "$v: weft record fails"
	report
	nothing_lost
	awk -v v=$v '
		FILENAME == ARGV[1] {
			if ($1 != "calls") { print v ": " $0; bad = 1; next }
			want[$3 " " $4] += $2
			next
		}
		FNR > 1 && $2 == "lua" { said[$1] += $6 }
		END {
			for (name in want) {
				names++
				if (said[name] == want[name]) continue
				print v ": " name ": " want[name] \
					" calls, but weft says " said[name] + 0
				bad = 1
			}
			# None but these has such a name.
			for (name in said)
				if (name ~ /<(same|again):|#/ &&
				    !(name in want) && name !~ /^main chunk/) {
					print v ": " name ": " said[name]
					bad = 1
				}
			exit bad || names != 18
		}' "$T/out" FS=, "$T/report.csv" || fail "$v: not as counted"
done
exit 0
