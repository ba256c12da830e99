#!/bin/bash
# The random program, of which some functions are left out: what is recorded is
# its account without them, whoever calls them and whatever ends them, also where
# they begin coroutines, catch errors or handle signals. The recorder meets the
# first program of each recording only once it runs, and so each Lua function:
# what was recorded by then makes no difference.
# each: gcc-O0 gcc-O2 lua5.5 lua5.3 lua5.2 lua5.1 luajit
# time: 900
# SPDX-License-Identifier: MIT
set -u
. tests/oracle/share.inc
share "$1" 28 56
program=$B/tests/oracle/woven-$1
status=0

# try BATCH NAMES OPTIONS: the account's names, and the same for weft.
try() {
	BATCH=$1 SKIPPED=$2 RECORD_OPTIONS=$3 tests/oracle/seed "$program" \
		$seeds || status=1
}
# shellcheck disable=SC2046
seeds=$(echo $(seq $from 2 $to))
try 1 "n_6 n_7 n_try i_0 n_deep b_enter x_risky b_choose s_in s_out thrower f_8 \
	mm_add handler cmp" "--skip n_6|n_7|n_try|i_0|n_deep|b_enter|x_risky|\
b_choose|s_in --skip s_out|*thrower*|*:461>|*:118>|*:72>|*:81>"
# shellcheck disable=SC2046
seeds=$(echo $(seq $((from + 1)) 2 $to))
try 4 "f_body f_0 n_lua n_resume n_yield n_fiber vm_resume l_pcall b_before \
	b_after" "--skip n_lua|n_resume|n_yield|n_fiber|vm_resume|b_before|\
b_after|f_body|*:302>|pcall|*.pcall|luaB_pcall|lj_ffh_pcall"
exit $status
