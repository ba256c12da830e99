#!/bin/bash
# Programs that know how long their functions take: every call is counted, and
# net times are nearer to the truth than raw ones, or as near as their errors
# say. tests/bench/truth.sh says how near, at full length. Without samples,
# constants that the recorder has measured are taken off: at a user's wish, and
# where the kernel refuses samples. With a reference, all are inside their errors.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# compare PROGRAM: $T/trace with $T/truth.
compare() {
	lua5.4 tests/bench/truth_table.lua "$T/report.csv" "$T/truth" test \
		>"$T/table" || fail "$1: $(cat "$T/table")"
	echo "note: $1: $(tail -n 2 "$T/table" | paste -sd ';')"
}

# Are net times made of samples, or can they not be, since the kernel takes none?
is_sampled() {
	no_switches >/dev/null ||
		"$WEFT" report "$T/trace" 2>&1 | grep -q 'net, estimated from'
}

# A sample costs more on a slow machine, so that there are fewer in a second. On
# one that switches between threads all the time, most of the time has none.
longer() {
	local rounds

	for rounds in "$2" $(($2 * 4)) $(($2 * 16)); do
		"$1" "$3" "$rounds"
		report
		nothing_lost
		! is_sampled || break
	done
	is_sampled || echo "note: $3: too little of the time has samples here"
	compare "$3"
}

native() {
	$1 -D_GNU_SOURCE -finstrument-functions -o "$T/truth-program" \
		tests/bench/truth.c || fail "$1: no program"
	record "${@:3}" -- "$T/truth-program" "$2" ||
		fail "$1: weft record fails"
	cp "$T/out" "$T/truth"
}

in_lua() {
	$1 tests/bench/truth.lua "$2" true >"$T/truth" || fail "no $1"
	record --lua-init "${@:3}" -- $1 tests/bench/truth.lua "$2" ||
		fail "$1: weft record fails"
}

# self_of TRACE: of each function.
self_of() {
	"$WEFT" report --csv --top 0 --columns name,self "$1" 2>/dev/null | sort
}

# calibrated HOW: a trace without samples, whose program has told the truth.
calibrated() {
	report
	lua5.4 tests/bench/truth_table.lua "$T/report.csv" "$T/truth" test \
		>"$T/table" || fail "$1: $(cat "$T/table")"
	"$WEFT" report "$T/trace" >"$T/text" 2>&1
	grep -q 'calibrated cost of [1-9][0-9.]* ± [1-9][0-9.]* ns a call' \
		"$T/text" || fail "$1: $(head -n 5 "$T/text")"
	"$WEFT" report --raw "$T/trace" 2>&1 | grep -q calibrated &&
		fail "$1: --raw is not raw"
	"$WEFT" export -o "$T/one.pb" "$T/trace" >"$T/log" 2>&1 ||
		fail "$1: $(cat "$T/log")"
	cmp -s <(self_of "$T/trace") <(self_of "$T/one.pb") ||
		fail "$1: a profile has other times"
	echo "note: $1: $(tail -n 2 "$T/table" | paste -sd ';')"
}

# A server in C and Lua: how near its times are, tests/bench/truth.sh says.
server() {
	local calls name

	# shellcheck disable=SC2046 # one word each
	gcc -O2 -D_GNU_SOURCE -finstrument-functions -o "$T/server" \
		tests/bench/server.c $(pkg-config --cflags --libs lua5.4) ||
		fail "no server"
	"$T/server" 20 true >"$T/truth" || fail "the server fails"
	record -- "$T/server" 20 || fail "weft record fails: $(cat "$T/err")"
	report
	nothing_lost
	while read -r _ _ calls name; do
		case $name in
		lua_0_handle) name="handle <lua_0.lua:6>" ;;
		lua_0_check) name="check <lua_0.lua:2>" ;;
		esac
		[ "$(calls "$name")" = "$calls" ] ||
			fail "$name: $(calls "$name") calls of $calls"
	done <"$T/truth"
}

server
for build in "gcc -O2" "clang -O0"; do
	longer native 5 "$build"
done
for l in lua5.4 luajit; do
	longer in_lua 50 $l
done

# The reference is of the build without hooks, as the truth is. It is the mean of
# runs before and after, which nothing samples: a sample costs a tenth here.
referenced() {
	rm -f "$T/plan"
	"$T/plain" 20 0 "$T/plan" >"$T/before" || fail "no truth"
	record --sample-rate 4000 --reference="$T/plain" -- \
		"$T/truth-program" 20 0 "$T/plan" || fail "reference: $(cat "$T/err")"
	"$T/plain" 20 0 "$T/plan" >"$T/after" || fail "no truth"
	paste -d ' ' "$T/before" "$T/after" | awk '{
		printf "true %.0f %d %s\n", ($2 + $6) / 2, $3, $4 }' >"$T/truth"
	report
	nothing_lost
	lua5.4 tests/bench/truth_table.lua "$T/report.csv" "$T/truth" reference \
		>"$T/table" || fail "with a reference: $(cat "$T/table")"
	echo "note: with a reference: $(tail -n 2 "$T/table" | paste -sd ';')"
}
if ! no_switches >/dev/null; then
	gcc -O2 -g -D_GNU_SOURCE -o "$T/plain" tests/bench/truth.c &&
		gcc -O2 -g -D_GNU_SOURCE -finstrument-functions \
			-o "$T/truth-program" tests/bench/truth.c ||
		fail "no program with a plain build"
	one_of 3 referenced
fi

native "gcc -O2" 5 --sample-rate 0
calibrated "without samples"
in_lua lua5.4 50 --sample-rate 0
calibrated "Lua without samples"
native "gcc -O2" 1
"$P/p_no_perf" "$WEFT" record -o "$T/no" -- "$T/truth-program" 5 >"$T/truth" \
	2>"$T/err"
[ $? = 77 ] && exit 0
rm -rf "$T/trace" && mv "$T/no" "$T/trace"
calibrated "where the kernel refuses"
