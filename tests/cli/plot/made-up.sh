#!/bin/bash
# weft plot: a valid SVG with the names, a PNG, and a clear word when gnuplot is
# missing.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
command -v gnuplot >/dev/null || { echo "gnuplot is not installed"; exit 77; }
make_trace t coroutines=1
cd "$T" || exit 1
"$W" plot -o hot.svg t 2>err || fail "plot fails: $(cat err)"
grep -q 'plot written to hot.svg' err || fail "does not say where"
if command -v xmllint >/dev/null; then
	xmllint --noout hot.svg || fail "no valid XML"
fi
for text in 'made-up+0x1000' 'body &lt;made-up.lua:20>' native Lua 'self time'; do
	grep -qF "$text" hot.svg || fail "the plot lacks $text"
done
"$W" plot t 2>err && [ -s t.svg ] || fail "no t.svg beside the trace"
"$W" plot --terminal png t 2>err || fail "no png: $(cat err)"
[ "$(head -c 4 t.png | tail -c 3)" = PNG ] || fail "t.png is no PNG"
mkdir bin
if PATH=$T/bin "$W" plot -o none.svg t 2>err; then
	fail "plots without gnuplot"
fi
grep -q 'gnuplot is not installed' err || fail "says: $(cat err)"
[ -e none.svg ] && fail "left a file"
"$W" plot -o no-such-folder/x.svg t 2>err && fail "writes nowhere"
grep -q 'no-such-folder' err || fail "does not say where it cannot write"
exit 0
