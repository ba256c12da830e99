#!/bin/bash
# The Firefox Profiler's own code, in its command line: of collapsed stacks it
# tells the functions' self times of the report; of Chrome's form, their names.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need jq jq
npm_need @firefox-devtools/profiler-cli@0.10.0
export HOME=$T
cli=$NODE_PATH/@firefox-devtools/profiler-cli/dist/profiler-cli.js
make_trace t coroutines=1 chunks=4 threads=2
reported "$T/t" self_ns | sed 's/ \[lua\]	/	/' | grep -v '^\[' >"$T/want"
# ask FORMAT WHAT: what it says of the first thread of this format, in $T/told.
ask() {
	"$W" export -f "$1" -o "$T/t.$1" "$T/t" 2>"$T/e" || fail "$(cat "$T/e")"
	# On a busy machine it says that it may still be starting.
	timeout 120 node "$cli" load "$T/t.$1" --session weft >"$T/e" 2>&1
	timeout 60 node "$cli" thread "$2" --limit 0 --session weft --json \
		>"$T/told" 2>>"$T/e"
	timeout 60 node "$cli" stop weft >/dev/null 2>&1
	[ -s "$T/told" ] && return
	tail -n 8 "$T/e"
	echo "profiler-cli does not run here (it wants a newer node)"
	exit 77
}
ask collapsed functions
[ "$(wc -l <"$T/want")" -ge 5 ] || fail "functions are missing"
jq -r '.functions[] | "\(.name)\t\(.selfSamples)"' "$T/told" |
	grep -v '^weft' | sed 's/ \[lua\]	/	/' | LC_ALL=C sort |
	diff "$T/want" - || fail "it adds up otherwise"
ask chrome markers
jq -r '.byType[].markerName' "$T/told" | LC_ALL=C sort >"$T/names"
# The fifth runs in coroutines alone, which are other threads.
grep '^made-up+0x[1-4]' "$T/want" | cut -f 1 | LC_ALL=C sort |
	comm -23 - "$T/names" | grep . && fail "no markers of these"
exit 0
