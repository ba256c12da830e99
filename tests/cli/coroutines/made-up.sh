#!/bin/bash
# weft coroutines of a made-up trace, with and without coroutines.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6 threads=3
make_trace none
same table 0 "$W" coroutines t
same top 0 "$W" coroutines --sort id --top 1 t
same by-body 0 "$W" coroutines --by body t
same csv 0 "$W" coroutines --sort id --csv t
same none 0 "$W" coroutines none
same refused 1 "$W" coroutines --under body t
same refused-sort 1 "$W" coroutines --by body --sort id t
[ "$("$W" coroutines --csv --columns +lua "$T/t" 2>/dev/null |
	head -n 1 | grep -o '[^,]*$')" = lua_ns ] || fail "no column lua_ns"
