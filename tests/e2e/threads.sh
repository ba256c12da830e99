#!/bin/bash
# 500 threads at once and 2,000 short-lived ones: no call is lost.
# SPDX-License-Identifier: MIT
. tests/lib.sh
for what in "at-once 500" "in-turn 2000"; do
	# shellcheck disable=SC2086
	record "$P/p_threads" $what || fail "$what: weft record fails"
	report
	nothing_lost
	same_calls
	n=$("$WEFT" info "$T/trace" | awk '$1 == "threads" { print $2 }')
	[ "$n" = $((${what#* } + 1)) ] || fail "$what: $n threads"
done
