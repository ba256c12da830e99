#!/bin/sh
# run.sh - records the demo, shows what weft makes of the recording, and checks
# weft's figures against the program's own account. Everything it makes lies in
# $B/demo. Set ROUNDS for more or less work.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/../../.."
: "${B:=build}" "${WEFT:=$B/bin/weft}" "${ROUNDS:=12}"
out=${OUT:-$B/demo}
trace=$out/trace
mkdir -p "$out"
rm -rf "$trace" "$out"/*.csv "$out"/hot.*

# What is indexed: the project's own pages and sources.
files=$(find README.md LICENSE Makefile docs tracepoints tracer analyzer tests \
	-type f \( -name '*.md' -o -name '*.[ch]' -o -name '*.lua' \
	-o -name '*.sh' -o -name '*.mk' -o -name Makefile -o -name LICENSE \) |
	LC_ALL=C sort)

say() {
	printf '\n\033[1m$ %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else
		sed 's/\x1b\[[0-9;]*m//g'; fi
}

run() {
	say "weft $*"
	"$WEFT" "$@"
}

# On a slow disk the program shall rather wait than lose a record: every figure
# is compared below.
say "weft record --on-full wait -o $trace -- $B/demo/search README.md ..."
# shellcheck disable=SC2086
"$WEFT" record --on-full wait -o "$trace" -- "$B/demo/search" \
	--rounds "$ROUNDS" --account "$out/account.csv" $files

run report -n 15 "$trace"
say "weft tree $trace"
"$WEFT" tree "$trace" >"$out/tree.txt"
head -n 40 "$out/tree.txt"
run coroutines -n 5 "$trace"
run plot -o "$out/hot.svg" "$trace"

"$WEFT" report --csv "$trace" >"$out/report.csv" 2>"$out/losses"
"$WEFT" coroutines --csv "$trace" >"$out/coroutines.csv" 2>>"$out/losses"
sort -u "$out/losses"
awk -f tests/prog/demo/check.awk "$out/account.csv" "$out/report.csv" \
	"$out/coroutines.csv" "$out/hot.svg"
echo "demo: weft is $WEFT; try  weft html -o page.html $trace  and docs/tutorial.md"
