#!/bin/bash
# A million chunks, loaded and forgotten, in Lua 5.4, and in the other versions
# with DEEP=1 (150,000 without): functions that come to live where others were are not taken for them, and what weft keeps of
# them does not grow without bound. (Of more functions than weft tells apart,
# the last ones count as one, which says so.)
# time: 900
# SPDX-License-Identifier: MIT
. tests/lib.sh
for v in $LUAS; do
	n=1000000
	[ $v = lua5.4 ] || [ -n "${DEEP-}" ] || n=150000
	gcc -O1 $(pkg-config --cflags $v) -o "$T/loads" \
		tests/prog/lua/loads.c $(pkg-config --libs $v) ||
		fail "$v: the program is not built"
	"$T/loads" 20000 >"$T/alone" 2>"$T/alone.err" ||
		fail "$v: the program fails by itself"
	record --on-full wait -- "$T/loads" $n || fail "$v: weft record fails"
	report
	nothing_lost
	# Each name's main function and its f; each other once, or lumped.
	awk -v v=$v '
		FILENAME == ARGV[1] { want[$1] = $2; next }
		FNR == 1 || $2 != "lua" { next }
		match($1, /<c[0-9]+\.lua[:>]/) {
			name = substr($1, RSTART + 1, RLENGTH - 6)
			if ($1 ~ /^main chunk/) main[name] += $6
			else if ($1 ~ /:1>$/) f[name] += $6
			next
		}
		$1 ~ /too many functions/ { lumped += $6; next }
		$1 ~ /return [0-9]+/ {
			others += $6
			if ($6 != 1) { print v ": " $0; bad = 1 }
		}
		END {
			for (name in want) {
				if (name == "others") continue
				names++
				if (main[name] == want[name] &&
				    f[name] == want[name]) continue
				print v ": " name ": " want[name] \
					" times, but weft says " main[name] \
					" and " f[name]
				bad = 1
			}
			if (names != 997 || lumped + others != want["others"] ||
			    others < want["others"] / 10) {
				print v ": " names " names; others: " others \
					" and " lumped
				bad = 1
			}
			exit bad
		}' "$T/out" FS=, "$T/report.csv" | head -n 20
	[ "${PIPESTATUS[0]}" = 0 ] || exit 1
	more=$(awk '/^memory/ { m[NR == FNR] = $2 } END { print m[0] - m[1] }' \
		"$T/alone.err" "$T/err")
	[ "$more" -lt 65536 ] || fail "$v: $more kB of memory more"
	said="${said-}$v $((more / 1024)) MB, "
done
echo "note: memory that the chunks cost: ${said%, }"
