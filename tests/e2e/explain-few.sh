#!/bin/bash
# Of a server's thousands of requests a few take 150 times as long as usual, each
# next to nothing of the whole time: weft explain tells them, whether they compute
# or sleep, with and without --waits; and nothing of the kind where requests only
# vary, and threads have nothing to do at times.
# alone
# SPDX-License-Identifier: MIT
. tests/lib.sh

# slow OPTION... -- ARGUMENT...: what weft explain says of slow calls.
slow() {
	record "$@" || fail "weft record fails: $*"
	no_switches && exit 0
	"$WEFT" explain --json "$T/trace" >"$T/said" 2>"$T/report.err" ||
		fail "weft explain"
	jq -r '.[] | select(.kind == "slow") |
		"\(.function) \(.slow_calls) \(.calls)"' "$T/said"
}

# told WHAT CALLS OPTION...: the few slow calls are WHAT's.
told() {
	local what=$1 calls=$2 got
	shift 2
	got=$(slow "$@")
	[ "$got" = "$what 4 $calls" ] || {
		echo "$*: \"$got\""
		return 1
	}
}
silent() {
	local got
	got=$(slow "$@")
	[ -z "$got" ] || {
		echo "$*: \"$got\""
		return 1
	}
}
one_of 4 told burn 4000 -- "$P/p_few" even 4000 burn 4
one_of 4 told burn 4000 -- "$P/p_few" varied 4000 burn 4
one_of 4 told serve 4000 -- "$P/p_few" even 4000 nap 4
one_of 4 told serve 4000 --waits -- "$P/p_few" varied 4000 nap 4
one_of 4 silent -- "$P/p_few" even 4000 burn 0
one_of 4 silent -- "$P/p_few" varied 4000 burn 0
one_of 4 silent --waits -- "$P/p_few" even 4000 burn 0
one_of 4 silent --waits -- "$P/p_few" varied 4000 burn 0
exit 0
