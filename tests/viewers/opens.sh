#!/bin/bash
# A page of more than 100,000 distinct stacks is at most 20 MB, and holds them or
# says how many it has folded. How long a browser takes to open it is printed.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need chromium chromium

# Ten functions that call each other at random, seven deep, the same each time.
{
	echo '#define NO __attribute__((no_instrument_function))'
	echo 'static unsigned long seed = 7; static volatile unsigned sink;'
	echo 'NO static void call(int depth);'
	for i in 0 1 2 3 4 5 6 7 8 9; do
		echo "void function_$i(int depth) { sink++; call(depth); }"
	done
	echo 'static void (*const all[])(int) = {' function_{0..9}',' '};'
	cat <<'C'
NO static void call(int depth)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	if (depth > 0)
		all[(seed >> 40) % 10](depth - 1);
}
NO int main(void)
{
	for (int i = 0; i < 300000; i++)
		call(6);
	return 0;
}
C
} >"$T/calls.c"
gcc -O1 -fno-inline -finstrument-functions -o "$T/calls" "$T/calls.c" ||
	fail "no program"
"$WEFT" record -q --on-full wait -o "$T/t" "$T/calls" >"$T/e" 2>&1 ||
	fail "$(cat "$T/e")"
drive opens.js t
[ "$(told nodes)" -gt 100000 ] || fail "$(told nodes) nodes"
[ "$(wc -c <"$T/page.html")" -le 20000000 ] ||
	fail "$(wc -c <"$T/page.html") bytes"
echo "$(told nodes) nodes, $(wc -c <"$T/page.html") bytes, open after $(told ms)"
