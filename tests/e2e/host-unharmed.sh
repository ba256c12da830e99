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
record sh -c 'env | sort' || fail "env fails"
grep -vE '^(LD_PRELOAD|WEFT_[A-Z_]*|_|SHLVL|PWD|OLDPWD)=' "$T/env.plain" \
	>"$T/a"
grep -vE '^(LD_PRELOAD|WEFT_[A-Z_]*|_|SHLVL|PWD|OLDPWD)=' \
	"$T/out" >"$T/b"
diff "$T/a" "$T/b" || fail "the environment differs"
# The listing's own descriptor, and 0 to 2; weft's are far away.
sh -c 'ls /proc/self/fd' >"$T/a"
record sh -c 'ls /proc/self/fd' || fail "ls fails"
awk '$1 < 1000' "$T/out" | diff "$T/a" - || fail "other descriptors"
