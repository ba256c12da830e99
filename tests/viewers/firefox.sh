#!/bin/bash
# The Firefox Profiler's own code, in its command line: of each thread it tells
# the functions' self times of the report.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need jq jq
npm_need @firefox-devtools/profiler-cli@0.10.0
export HOME=$T
cli=$NODE_PATH/@firefox-devtools/profiler-cli/dist/profiler-cli.js
make_trace t coroutines=1 chunks=4 threads=2
reported "$T/t" self_ns | sed 's/ \[lua\]	/	/' | grep -v '^\[' >"$T/want"
"$W" export -f firefox -o "$T/t.json" "$T/t" 2>"$T/e" || fail "$(cat "$T/e")"
timeout 120 node "$cli" load "$T/t.json" --session weft >"$T/loaded" 2>&1 || {
	tail -n 8 "$T/loaded"
	echo "profiler-cli does not run here (it wants a newer node)"
	exit 77
}
for thread in t-0 t-1; do
	timeout 60 node "$cli" thread functions --limit 0 --thread $thread \
		--session weft --json >"$T/$thread.json" 2>"$T/e" || break
done
timeout 60 node "$cli" stop weft >/dev/null 2>&1
[ -s "$T/t-1.json" ] || fail "it does not list functions: $(cat "$T/e")"
jq -r '.functions[] | "\(.name)\t\(.selfSamples)"' "$T/t-0.json" "$T/t-1.json" |
	awk -F'\t' '{ sub(/ \[lua\]$/, "", $1); ms[$1] += $2 }
		END { for (n in ms) printf "%s\t%.0f\n", n, ms[n] * 1e6 }' |
	LC_ALL=C sort >"$T/told"
[ "$(wc -l <"$T/want")" -ge 5 ] || fail "functions are missing"
diff "$T/want" "$T/told" || fail "it adds up otherwise"
exit 0
