#!/bin/bash
# What the fuzzer found once, and the golden chunks, pass through view and replay
# under sanitizers; so do sources of each Lua, and what random changes make of
# them, through the reader of names. (make fuzz looks for more.)
# SPDX-License-Identifier: MIT
. tests/lib.sh
make --no-print-directory -s B="$B" "$B/tests/fuzz_chunk" \
	>"$T/out" 2>"$T/err" || fail "it is not built"
"$B/tests/fuzz_chunk" tests/fuzz/*.bin tests/golden/*/*/*.bin \
	>"$T/out" 2>&1 || fail "$(grep -m 1 ERROR "$T/out")"
[ "$(grep -c '^Executed' "$T/out")" -ge 45 ] || fail "not all were read"
make --no-print-directory -s B="$B" "$B/tests/fuzz_outline" \
	>"$T/out" 2>"$T/err" || fail "the reader of sources is not built"
mkdir "$T/lua"
"$B/tests/fuzz_outline" -seed=1 -runs=20000 -max_len=1024 \
	-artifact_prefix="$T/" "$T/lua" tests/fuzz >"$T/out" 2>&1 ||
	fail "$(grep -m 1 ERROR "$T/out")"
grep -q '^Done 20000 runs' "$T/out" || fail "not all were run"
exit 0
