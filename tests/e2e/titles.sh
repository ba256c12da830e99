#!/bin/bash
# Nothing turns recording on, or off, but what a program asks for: not another
# process that leaves its own native calls out, nor another thread or process
# whose title ends.
# SPDX-License-Identifier: MIT
. tests/lib.sh
for what in pause threads processes; do
	if [ $what = pause ]; then
		record --on-full wait -- "$P/p_titles" $what
	else
		record --on-full wait --paused -- "$P/p_titles" $what
	fi || fail "$what: weft record fails"
	grep -qx 'wrong 0' "$T/out" || fail "$what: $(tail -n 1 "$T/out")"
	report
	grep '^# lost: ' "$T/report.err" && fail "$what: something was lost"
	n=$(calls inside)
	[ "$n" = 10000 ] || fail "$what: $n calls of inside"
	[ "$(calls outside)" = 0 ] || fail "$what: calls while it was paused"
done
