#!/bin/bash
# Debian's busted on lua5.4, not rebuilt, by weft record --lua-init: the same
# results, and the calls of the tests and of what they test, as they count them.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
has lua5.4 lua5.4
has busted lua-busted
spec=tests/prog/lua/stock_spec.lua
run=(lua5.4 "$(command -v busted)" -o TAP "$spec")
"${run[@]}" >"$T/alone" || fail "busted fails by itself: $(cat "$T/alone")"
record --lua-init -- "${run[@]}" || fail "recorded, busted ends otherwise"
diff <(sort "$T/alone") <(sort "$T/out") || fail "busted says other things"
same_lines tests/prog/lua/stock.lua "$T/out"
