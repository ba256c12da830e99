#!/bin/bash
# The random program whose calls are only counted: the account of each stack and
# weft's are the same, for both compilers and each Lua. So they are where some
# functions, chosen at random, are counted and others left out, and this changes
# while the program runs; where brief calls are counted, too.
# each: gcc-O2 clang-O0 gcc-O3 lua5.5 lua5.3 lua5.2 lua5.1 luajit gcc-O0
# time: 900
# SPDX-License-Identifier: MIT
set -u
. tests/oracle/share.inc
share "$1" 36 54
program=$B/tests/oracle/woven-$1
status=0
half=$(((to - from + 1) / 2))
# shellcheck disable=SC2046
BATCH=$half RECORD_OPTIONS="--count-only --on-full wait" \
	tests/oracle/seed "$program" $(seq $from $((from + half - 1))) ||
	status=1

# A function, and the patterns for it. None of them begins a coroutine.
choices="n_6 n_7 n_try i_0 n_deep b_enter x_risky b_choose s_in s_out b_before
	ci_native ci_call ci_pcall cu_native
	b_after n_lua n_resume vm_resume n_yield l_pcall=pcall|*.pcall|luaB_pcall|\
lj_ffh_pcall thrower=*thrower*"
for seed in $(seq $((from + half)) "$to"); do
	RANDOM=$seed
	counted='' skipped='' options="--on-full wait"
	[ $((RANDOM % 2)) = 0 ] ||
		options+=" --min-duration $((RANDOM % 50 + 1))us"
	for each in $choices; do
		case $((RANDOM % 4)) in
		0 | 1)
			counted+=" ${each%%=*}"
			options+=" --count ${each#*=}"
			;;
		2)
			skipped+=" ${each%%=*}"
			options+=" --skip ${each#*=}"
			;;
		esac
	done
	FLIP=$B/tests/prog/p_flip COUNTED=$counted SKIPPED=$skipped \
		RECORD_OPTIONS=$options tests/oracle/seed "$program" "$seed" ||
		status=1
done
exit $status
