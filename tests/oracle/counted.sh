#!/bin/bash
# The random program whose calls are only counted: the account of each stack and
# weft's are the same, for both compilers and each Lua.
# each: gcc-O2 clang-O0 gcc-O3 lua5.5 lua5.3 lua5.2 lua5.1 luajit
# time: 900
# SPDX-License-Identifier: MIT
set -u
. tests/oracle/share.inc
share "$1" 48
# shellcheck disable=SC2046
BATCH=6 RECORD_OPTIONS="--count-only --on-full wait" \
	exec tests/oracle/seed "$B/tests/oracle/woven-$1" $(seq $from $to)
