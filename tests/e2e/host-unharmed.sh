#!/bin/bash
# The program behaves as without weft: input, output, status, arguments, and
# the files it opens.
# SPDX-License-Identifier: MIT
. tests/lib.sh
head -c 300000 /dev/urandom | base64 >"$T/in"
"$P/p_echo" 42 "a b" '*' '' <"$T/in" >"$T/plain.out" 2>"$T/plain.err"
plain=$?
"$WEFT" record -o "$T/trace" -- "$P/p_echo" 42 "a b" '*' '' <"$T/in" \
	>"$T/out" 2>"$T/err"
status=$?
[ $status = $plain ] || fail "status $status, not $plain"
cmp "$T/out" "$T/plain.out" || fail "another output"
grep -qx "a line to stderr" "$T/err" || fail "stderr is not the program's"
report
nothing_lost
[ "$(calls next)" = $(($(stat -c %s "$T/in") + 1)) ] || fail "calls of next"
# What it inherits: descriptors and variables, but for weft's own.
env | sort >"$T/env.plain"
record sh -c 'env | sort; ls -l /proc/self/fd | wc -l' ||
	true
grep -vE '^(LD_PRELOAD|WEFT_[A-Z_]*|_|SHLVL|PWD|OLDPWD)=' "$T/env.plain" \
	>"$T/a"
sed '$d' "$T/out" | grep -vE '^(LD_PRELOAD|WEFT_[A-Z_]*|_|SHLVL|PWD|OLDPWD)=' \
	>"$T/b"
diff "$T/a" "$T/b" || fail "the environment differs"
