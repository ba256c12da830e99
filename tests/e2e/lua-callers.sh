#!/bin/bash
# Lua that is sampled calls native functions: each of their calls stands below the
# Lua functions that are open, by the program's own account; so do waits, and
# memory that C functions and Lua itself take.
# each: lua5.1 lua5.2 lua5.3 lua5.4 luajit
# SPDX-License-Identifier: MIT
. tests/lib.sh
v=$1
gcc -O1 -g -finstrument-functions -I. -o "$T/host" tests/prog/lua/callers.c \
	$(pkg-config --cflags --libs $v) || fail "the host is not built"

# stacks OPTION...: the tree's counts are the program's.
stacks() {
	"$WEFT" tree --csv --raw --min-share 0 "$@" "$T/trace" >"$T/tree.csv" \
		2>"$T/err" || fail "no tree"
	awk -F, -f tests/e2e/lua-callers.awk "$T/out" \
		"$T/tree.csv" >"$T/compared" ||
		fail "other stacks $*: $(cat "$T/compared")"
}

record --waits --lua sampled -- "$T/host" tests/prog/lua/callers.lua ||
	fail "no record"
"$WEFT" check "$T/trace" >"$T/check" 2>&1 || fail "$(cat "$T/check")"
[ "$(grep -c ^is "$T/out")" -gt 15 ] || fail "the program counts no stacks"
stacks

# A part and the rest are all of it, on whatever side of the edge a call is.
"$WEFT" tree --csv --raw --min-share 0 --from 4ms "$T/trace" >"$T/late.csv" \
	2>"$T/err" || fail "no part"
"$WEFT" tree --csv --raw --min-share 0 --to 4ms "$T/trace" 2>>"$T/err" |
	tail -n +2 >"$T/early.csv"
[ -s "$T/early.csv" ] || fail "no other part"
awk -F, -f tests/e2e/lua-callers.awk "$T/out" "$T/late.csv" \
	"$T/early.csv" >"$T/compared" ||
	fail "two parts are not the whole: $(cat "$T/compared")"

# A VM whose memory functions with hooks give calls them within instructions.
record --waits --lua sampled -- "$T/host" tests/prog/lua/callers.lua 1 own ||
	fail "no record, with an allocator of its own"
stacks

# In a small pool, chunks end in the middle of all this.
record --waits --pool-size 1M --lua sampled -- "$T/host" \
	tests/prog/lua/callers.lua 40 || fail "no record"
stacks

# Which Lua function takes memory, through C and by itself.
record --waits --heap=exact --lua sampled -- "$T/host" tests/prog/lua/callers.lua ||
	fail "no record"
"$WEFT" check "$T/trace" >"$T/check" 2>&1 || fail "$(cat "$T/check")"
"$WEFT" heap "$T/trace" >"$T/heap" 2>"$T/err" || fail "no heap"
grep -Eq '100.0 kB +20 .* run > main chunk <callers.lua> > waits <[^>]*> > take' \
	"$T/heap" || fail "take's memory is not waits': $(cat "$T/heap")"
[ $v = luajit ] || grep -q '> sorted <callers.lua:[0-9]*> > liblua' \
	"$T/heap" || fail "the table of sorted is nobody's: $(cat "$T/heap")"
# As columns, beside its ticks: one node.
"$WEFT" tree --csv --min-share 0 "$T/trace" 2>"$T/err" >"$T/tree.csv"
[ "$(grep -c ',waits <callers.lua' "$T/tree.csv")" = 1 ] ||
	fail "waits stands twice: $(grep waits "$T/tree.csv")"
exit 0
