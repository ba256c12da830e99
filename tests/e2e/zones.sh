#!/bin/bash
# Zones in C++ (by both compilers; at every level with DEEP=1) and in five Luas:
# each is counted as often as the program counts it, wherever exceptions, jumps,
# errors and yields leave it; what is called in it stands under it; its times are
# those of the program's own clock. And where all calls are counted, or brief
# ones, or Lua is sampled.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# near COLUMN: the program's "times NS ZONE" are the zones' totals, within 3 %.
near() {
	awk -F, -v column="$1" 'NR == FNR {
		if (split($0, t, " ") == 3 && t[1] == "times")
			ns[t[3]] = t[2]
		next
	}
	$2 == "zone" && ($1 in ns) {
		off = ($column - ns[$1]) / ns[$1]
		if (off < -0.03 || off > 0.03) {
			printf "%s: %.0f ns, not %.0f\n", $1, $column, ns[$1]
			bad = 1
		}
		seen++
	}
	END { exit bad || seen != 2 }' "$T/out" "$T/report.csv"
}

# timed COLUMN COMMAND...: recorded, with the same counts and times.
timed() {
	local column=$1
	shift
	record "$@" || fail "weft record fails: $*"
	report --raw
	nothing_lost
	same_calls
	near "$column"
}

# stands NAME CALLER...: no other function calls it.
stands() {
	local name=$1
	shift
	"$WEFT" tree --csv --min 0 "$T/trace" 2>/dev/null |
		awk -F, -v name="$name" -v callers=" $* " '
		{ of[$1] = $4; gsub(/^"| <.*|\(.*/, "", of[$1]) }
		of[$1] == name {
			seen++
			if (!index(callers, " " of[$2] " ")) {
				print name " is said to be called by " of[$2]
				bad = 1
			}
		}
		END { exit bad || !seen }' || fail "a wrong caller of $name"
}

# leaves COUNT: so many calls of leaf, by the program's own account.
leaves() {
	grep -q "^leaf $1\b" "$T/out" || fail "$1 calls of leaf"
}

builds=${BUILDS:-gcc-O0 gcc-O2 clang-O0 clang-O2}
[ -z "${DEEP-}" ] || builds='gcc-O0 gcc-O1 gcc-O2 gcc-O3
	clang-O0 clang-O1 clang-O2 clang-O3'
for build in $builds; do
	one_of 5 timed 8 "$P/p_zones-$build"
	leaves "$(calls 'leaf()')"
	stands part whole
	stands whole timed
	stands jumped jumper
	stands thrown thrower outer thrown inner
	stands greedy outer
	stands flat inner outer
	stands open forgetful
	stands slept sleeper
done

record --count-only -- "$P/p_zones-gcc-O2" || fail "--count-only"
report
same_calls
record --min-duration 1ms -- "$P/p_zones-gcc-O2" || fail "--min-duration"
report
nothing_lost
same_calls
stands part whole
record -- "$P/p_zones-gcc-O2" || fail
report --skip part
[ "$(calls part) $(calls whole)" = '0 10' ] || fail "part was not left out"

for lua in $LUAS; do
	script=tests/prog/lua/zones.lua
	v=${lua#lua}
	[ $v != jit ] || v=5.1
	LUA_CPATH="$B/lib/lua/$v/?.so" $lua $script >/dev/null ||
		fail "$lua: the script fails when it is not recorded"
	one_of 5 timed 21 --lua-init -- $lua $script
	leaves "$(calls 'leaf <zones.lua:8>')"
	stands part zone
	stands whole zone whole
	stands nested zone nested outer
	stands between zone turns
	record --lua sampled --lua-init -- $lua $script || fail "$lua, sampled"
	report
	sed -i -n '1p; /^[^,]*,zone,/p' "$T/report.csv"
	same_calls
done
