#!/bin/bash
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# A leak is named first, though the garbage of Lua goes up and down by more: in C that
# Lua calls, in Lua's registry, in a coroutine that is never resumed, in a cache in C
# for each state, and a list that grows by 1 % of what is in use. weft heap shows it
# by its stack, weft explain by its function: with each block, and by samples. Where
# nothing leaks, nothing is said. That the program's name begins with lua makes it no
# part of Lua.
# SPDX-License-Identifier: MIT
. tests/lib.sh
lua=$1
pkg-config --exists "$lua" || { echo "no $lua for programs"; exit 77; }
# shellcheck disable=SC2046
gcc -O1 -g -finstrument-functions tests/prog/lua/leaks.c -o "$T/lua_leaks" \
	$(pkg-config --cflags --libs "$lua") || fail "the program is not built"
times=${ROUNDS-1} # ROUNDS=20, say, to see how often

# half: of the time, in ms.
half() {
	"$WEFT" info "$T/trace" | awk '$1 == "duration" {
		print $2 * ($3 == "s" ? 1000 : 1) / 2 "ms" }'
}
# first STACK [ROWS]: of all stacks, that one grows most; or it is one of so many.
first() {
	"$WEFT" heap --from "$(half)" --csv "$T/trace" 2>"$T/report.err" \
		>"$T/heap" || fail "weft heap"
	sed -n "2,$((${2-1} + 1))p" "$T/heap" | grep -q "$1"
}
# explained CASE FUNCTION
explained() {
	"$WEFT" explain "$T/trace" >"$T/said" || fail "$1: weft explain"
	grep -qE "Memory in use grows: .* ($2)( <[^ ]*)? took .* what stays" "$T/said"
}
sampled() {
	record --heap=2k -- "$T/lua_leaks" "$1" || fail "$1: weft record"
	first "$2" "$3" || fail "$1, by samples: $(head -n 4 "$T/heap")"
}
again() {
	record --heap=exact -- "$T/lua_leaks" "$1" && explained "$@"
}
# names CASE STACK FUNCTION [ROWS]: each time; by samples, in so many rows, as a few
# samples of what Lua itself keeps may be more than those of a small leak. A test that
# runs once may try again, as others may use the machine.
names() {
	local i said=0
	for i in $(seq "$times"); do
		[ "$times$lua" = 1lua5.4 ] || [ "$times" -gt 1 ] &&
			sampled "$1" "$2" "${4-1}"
		record --heap=exact -- "$T/lua_leaks" "$1" || fail "$1: weft record"
		grep -qx 'weft: lost: 0' "$T/err" || fail "$1: something was lost"
		first "$2" || fail "$1, run $i: $(head -n 4 "$T/heap")"
		explained "$1" "$3" && said=$((said + 1))
	done
	echo "$1: weft explain names it $said times of $times"
	if [ "$times" = 1 ]; then
		[ $said = 1 ] || one_of 6 again "$1" "$3"
	else
		[ $said = "$times" ] || fail "$1: weft explain: $(cat "$T/said")"
	fi
}
in='on_request <server.lua:[0-9]*>;'
at='<server.lua:[0-9]*>;'
names c "$in*upload_part $at*l_upload" l_upload
names registry "$in*subscribe_to $at" 'subscribe_to|l_subscribe'
names coroutine "$in*ask $at" 'ask|wait_for_reply' 3
names cache "$in*look_up $at*l_remember" l_remember
names slow "$in*note $at" note
# Also where the start took half of the time, and the leak all of the rest.
late() {
	record --heap=exact -- "$T/lua_leaks" slow 12000 900 && explained slow note
}
one_of 6 late
record --heap=exact -- "$T/lua_leaks" none || fail "none: weft record"
"$WEFT" explain "$T/trace" | grep 'Memory in use' && fail "none: it is said to grow"
exit 0
