#!/bin/bash
# Debian's neovim, not rebuilt, without a screen: LuaJIT, whose compiler is off
# meanwhile; functions that the editor calls; counts as the script counts.
# SPDX-License-Identifier: MIT
. tests/e2e/stock.inc
has nvim neovim
export HOME=$T XDG_CONFIG_HOME=$T XDG_DATA_HOME=$T XDG_STATE_HOME=$T
script=tests/prog/lua/editor.lua
run=(nvim --headless -u NONE -i NONE -n -c "luafile $script" -c qa!)
timeout 300 "${run[@]}" >"$T/alone" 2>"$T/alone.err" </dev/null ||
	fail "nvim fails by itself: $(cat "$T/alone.err")"
record "${run[@]}" </dev/null || fail "recorded, nvim ends otherwise"
# How often a timer fires is the clock's.
diff <(grep -v ^editor "$T/alone") <(grep -v ^editor "$T/out") ||
	fail "recorded, nvim says other things"
same_lines tests/prog/lua/stock.lua "$T/out"
same_lines $script "$T/out" editor
grep -q "LuaJIT's compiler was off" "$T/report.err" ||
	fail "not said that the compiler was off: $(cat "$T/report.err")"
exit 0
