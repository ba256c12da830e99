#!/bin/bash
# truth.sh [SEEDS] - how near to the truth weft's times are: records programs
# that know their own times (truth.c by both compilers, with and without
# optimisation, for SECONDS (60); with other lengths for each of SEEDS, 4;
# truth.lua on each Lua; and server.c, in C and Lua) and prints a table for each, then how many functions
# of all are inside 2 standard errors. Nothing else should run meanwhile.
# TRUTH_DIR is the folder that traces go to, RECORD has options of weft record.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${B:=build}" "${SECONDS_EACH:=60}" "${RECORD:=}"
case $B in
/*) ;;
*) B=$PWD/$B ;;
esac
export LC_ALL=C
WEFT=$B/bin/weft
seeds=${1:-4}
T=$(mktemp -d "${TRUTH_DIR:-/var/tmp}/weft-truth-XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 130' INT TERM
# About 4 of them are a second.
rounds=$((SECONDS_EACH * 4))

# table NAME: of $T/trace and $T/truth; again if records were lost.
table() {
	echo
	echo "== $1"
	grep -h '^weft: lost: *[1-9]' "$T/err"
	"$WEFT" report --csv --top 0 "$T/trace" >"$T/csv" 2>/dev/null &&
		lua5.4 tests/bench/truth_table.lua "$T/csv" "$T/truth" |
		tee -a "$T/all"
}

# With a reference of the build without hooks; the truth is the mean of runs before
# and after, which nothing samples.
referenced() {
	gcc -O2 -g -D_GNU_SOURCE -o "$T/plain" tests/bench/truth.c || exit 1
	for run in 1 2 3 4; do
		rm -f "$T/plan"
		"$T/plain" "$rounds" 0 "$T/plan" >"$T/before"
		recorded --sample-rate 4000 --reference="$T/plain" -- \
			"$T/truth-gcc-O2" "$rounds" 0 "$T/plan"
		"$T/plain" "$rounds" 0 "$T/plan" >"$T/after"
		paste -d ' ' "$T/before" "$T/after" | awk '{
			printf "true %.0f %d %s\n", ($2 + $6) / 2, $3, $4
		}' >"$T/truth"
		echo
		echo "== gcc -O2 with --reference=PLAIN, run $run"
		"$WEFT" report --csv --top 0 "$T/trace" >"$T/csv" 2>/dev/null &&
			lua5.4 tests/bench/truth_table.lua "$T/csv" "$T/truth" \
				reference
	done
}

# recorded PROGRAM...: into $T/trace.
recorded() {
	rm -rf "$T/trace"
	# shellcheck disable=SC2086 # one word each
	"$WEFT" record $RECORD -o "$T/trace" "$@" >"$T/out" 2>"$T/err" ||
		{ cat "$T/err"; exit 1; }
}

sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1
for c in gcc clang; do
	for o in O0 O2; do
		$c -$o -g -D_GNU_SOURCE -finstrument-functions \
			-o "$T/truth-$c-$o" tests/bench/truth.c || exit 1
		for seed in $(seq 0 "$seeds"); do
			recorded -- "$T/truth-$c-$o" \
				$((seed == 0 ? rounds : rounds / 4)) "$seed"
			cp "$T/out" "$T/truth"
			table "$c -$o, seed $seed"
		done
	done
done
referenced
for l in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
	command -v $l >/dev/null || continue
	$l tests/bench/truth.lua $((rounds * 2)) true >"$T/truth"
	recorded --lua-init -- $l tests/bench/truth.lua $((rounds * 2))
	table "$l"
done
if pkg-config --exists lua5.4; then
	# shellcheck disable=SC2046 # one word each
	gcc -O2 -g -D_GNU_SOURCE -finstrument-functions -o "$T/server" \
		tests/bench/server.c $(pkg-config --cflags --libs lua5.4) ||
		exit 1
	"$T/server" $((rounds * 20)) true >"$T/truth"
	recorded -- "$T/server" $((rounds * 20))
	table "server in C and Lua"
fi
echo
sed -n 's/.*; \([0-9]*\) of \([0-9]*\) functions with.*/\1 \2/p' "$T/all" |
	awk '{ a += $1; b += $2 } END { if (b) printf "all programs: %d of " \
		"%d functions (%.1f%%) are inside 2 standard errors\n", a, b,
		a / b * 100 }'
