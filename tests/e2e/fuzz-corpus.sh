#!/bin/bash
# What the fuzzer found once, and the golden chunks, pass through view and replay
# under sanitizers. (make fuzz looks for more.)
# SPDX-License-Identifier: MIT
. tests/lib.sh
make --no-print-directory -s B="$T/build" "$T/build/tests/fuzz_chunk" \
	>"$T/out" 2>"$T/err" || fail "it is not built"
"$T/build/tests/fuzz_chunk" tests/fuzz/*.bin tests/golden/v1/*/*.bin \
	>"$T/out" 2>&1 || fail "$(grep -m 1 ERROR "$T/out")"
[ "$(grep -c '^Executed' "$T/out")" -ge 8 ] || fail "not all were read"
exit 0
