#!/bin/bash
# The random program where Lua's layout is not to be trusted, on each Lua: by
# the public API alone its account and weft's are the same, too. (But for 5.1,
# which does not tell of tail calls: there they are calls. How often each
# function was called, and the coroutines, must be right all the same.) Functions
# on the same lines are one there: they stand apart.
# each: gcc-O2 lua5.5 lua5.3 lua5.2 lua5.1 luajit
# time: 900
# SPDX-License-Identifier: MIT
set -u
. tests/oracle/share.inc
share "$1" 24 40
prefix=$T/asked
mkdir "$prefix"
cp -r "$B/bin" "$B/lib" "$B/libexec" "$prefix/"
cp "$B/breaks/lib/libweft.so" "$prefix/lib/libweft.so"
export WEFT=$prefix/bin/weft WEFT_TEST_BREAK=layout APART=1
[ "$1" != lua5.1 ] || export TAILS=calls
program=$B/tests/oracle/woven-$1

"$WEFT" record -o "$T/one" -- "$program" 1 "$T/account" \
	tests/oracle/woven.lua >"$T/out" 2>&1 &&
"$WEFT" info "$T/one" >"$T/info" || {
	cat "$T/out"
	exit 1
}
if ! grep -q 'read by the API' "$T/info" || grep -q peek "$T/info"; then
	echo "not by the public API"
	grep -i lua "$T/info"
	exit 1
fi
half() {
	mkdir "$T/$1"
	# shellcheck disable=SC2046
	BATCH=10 T=$T/$1 tests/oracle/seed "$program" $(seq "$1" 2 $to)
}
status=0
half $from &
half $((from + 1)) || status=1
wait $! || status=1
exit $status
