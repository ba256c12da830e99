#!/bin/bash
# Any half of a trace's chunks gives the same stacks as the whole: each chunk can
# be read by itself. Native code, Lua, coroutines that wander between threads or
# whose bodies are replaced, handlers.
# time: 900
# SPDX-License-Identifier: MIT
. tests/lib.sh
# shellcheck disable=SC2046,SC2086
cc -std=c11 -D_GNU_SOURCE -I. -O1 -g -o "$T/half_compare" \
	tests/e2e/half_compare.c "$B/lib-test/analyzer.a" \
	$(pkg-config --libs babeltrace2 libdw libelf zlib \
		liblz4 libzstd sqlite3) \
	-lm ||
	fail "half_compare cannot be built"

halves() {
	"$T/half_compare" "$T/trace" 20 >"$T/said" 2>&1 ||
		fail "$1: $(cat "$T/said")"
	echo "note: $1: $(tail -n 1 "$T/said")"
}

# Each makes three to ten chunks a thread or so.
for seed in 3 401 402 403 404 405 406 407 408 409; do
	record -q -- "$B/tests/oracle/woven-gcc-O2" $seed "$T/account" \
		tests/oracle/woven.lua || fail "woven: weft record fails"
	halves "woven $seed"
done
record -q --min-duration 2us -- "$B/tests/oracle/woven-gcc-O2" 402 \
	"$T/account" tests/oracle/woven.lua || fail "woven: weft record fails"
halves "woven 402, --min-duration"
record -q -- "$P/p_handlers" 5000 0.2 || fail "p_handlers: weft record fails"
halves p_handlers
for lua in $LUAS; do
	record -q --lua-init -- "$lua" tests/prog/lua/tails.lua ||
		fail "$lua: weft record fails"
	halves "tails.lua, $lua"
done
