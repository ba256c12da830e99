#!/bin/bash
# The page in a browser that nobody looks at: a script beside it clicks, types
# and sorts, and tells what it reads; weft's other commands tell the same.
# SPDX-License-Identifier: MIT
. tests/viewers/viewers.inc
need chromium chromium

# one_space: cells as words between single spaces.
one_space() { sed 's/  */ /g; s/^ //; s/ $//' | cut -c1-200; }

# weft_rows COMMAND...: the rows of a table as words, without its head.
weft_rows() {
	"$W" "$@" 2>/dev/null | awk 'seen { print } /^ *self .*function *$/ \
		{ seen = 1 }' | one_space
}
same_lines() {
	diff "$2" "$3" >"$T/diff" || fail "$1: $(head -n 20 "$T/diff")"
}


drive_and_compare() {
	local trace=$1
	shift
	drive page.js "$@" "$trace"
	COLUMNS=3000 weft_rows report -n 0 --columns self,total,calls "$@" \
		"$T/$trace" | LC_ALL=C sort >"$T/want"
	[ -s "$T/want" ] || fail "$trace: no rows to compare with"
	told row | one_space | LC_ALL=C sort >"$T/got"
	same_lines "$trace: rows" "$T/want" "$T/got"
	told calls | LC_ALL=C sort -rn | cmp -s - <(told calls) ||
		fail "$trace: a click on the title does not sort by calls"
	# What the search finds of a single name is the function's total.
	told found >"$T/found"
	[ -s "$T/found" ] || fail "$trace: nothing was searched for"
	told total | diff - "$T/found" || fail "$trace: search finds others"
	told bad >"$T/bad"
	[ ! -s "$T/bad" ] || fail "$trace: $(cat "$T/bad")"
}

make_trace t coroutines=1 chunks=8 threads=2 cpus=1
made_sessions $(seq 1 5)
for trace in t $(seq 1 5); do
	drive_and_compare "$trace" --raw
done

# Of the last one: who calls the function that the page chose at first.
chosen=$(told chosen)
"$W" callers --raw --csv "$chosen" "$T/5" 2>/dev/null |
	awk -F, '$1 ~ /caller|resumer/ { n++ } END { print n + 0 }' >"$T/want"
told callers >"$T/got"
same_lines "callers of $chosen" "$T/want" "$T/got"
COLUMNS=3000 "$W" report --raw -n 0 --columns p50,p95,p99,max "$T/5" \
	2>/dev/null | one_space | awk -v name=" $chosen" \
	'p = index($0, name) { print substr($0, 1, p - 1) }' >"$T/want"
told spread >"$T/got"
same_lines "how calls of $chosen spread" "$T/want" "$T/got"
[ "$(told coroutines)" = "$("$W" coroutines --csv "$T/5" 2>/dev/null |
	tail -n +2 | wc -l)" ] || fail "coroutines: $(told coroutines)"
[ "$(told zoomed)" = "$(told widest)" ] ||
	fail "a click on \"$(told widest)\" zooms into \"$(told zoomed)\""
[ -z "$(told left)" ] || fail "Escape stays at \"$(told left)\""

# Everything is printed: all rows of a short table, and all parts.
[ "$(told printed)" = "$(told row | wc -l)" ] ||
	fail "$(told printed) rows are printed of $(told row | wc -l)"
[ "$(told 'on paper'), $(told canvases)" = "Flame graph, Functions, Coroutines, \
Time line, Latency, 3" ] || fail "printed: $(told 'on paper'), $(told canvases)"

# Single calls, and lanes.
"$W" slow --csv --top 0 '*' "$T/5" 2>/dev/null >"$T/slow.csv"
[ "$(told 'in cells')" = "$(tail -n +2 "$T/slow.csv" |
	grep -cE ',(returned|unwound|died)(,|$)')" ] ||
	fail "calls by time and duration: $(told 'in cells')"

# Two sides: the rows of weft diff, and of all stacks the time of both.
drive page.js 4 vs 5
"$W" diff --csv --top 0 --min-share 0 "$T/4" "$T/5" 2>"$T/e" |
	tail -n +2 | wc -l >"$T/want"
told changes >"$T/got"
same_lines "changes" "$T/want" "$T/got"
sed -n "s/^# a session's self time: \(.*\) before, \(.*\) after .*/\1, \2/p" \
	"$T/e" >"$T/want"
told sides >"$T/got"
[ -s "$T/want" ] || fail "weft diff: $(cat "$T/e")"
same_lines "time of both sides" "$T/want" "$T/got"

# The locks of weft locks, those in sight, each with those that waited, by how long.
"$WEFT" record --waits -o "$T/waits" -- "$B/tests/prog/p_waits" >"$T/out" 2>"$T/e" ||
	fail "weft record: $(cat "$T/e")"
drive page.js waits
"$W" locks --csv -n 0 --sort waiting "$T/waits" 2>/dev/null | awk -F, 'NR == 1 {
		for (i = 1; i <= NF; i++)
			at[$i] = i
		next
	}
	{ print $at["kind"], $at["symbol"] ? $at["symbol"] : $at["object"],
		$at["waits"], $at["most"] }' >"$T/want"
told lock | sed 's/ [1-9][0-9]*$//' >"$T/got"
[ "$(wc -l <"$T/got")" -ge 7 ] || fail "locks: $(cat "$T/got")"
head -n "$(wc -l <"$T/got")" "$T/want" >"$T/first" && mv "$T/first" "$T/want"
same_lines locks "$T/want" "$T/got"
[ "$(told wait)" = true ] || fail "no moment of a wait"

# Memory in use over time: at most what weft heap says, and at times that.
cat >"$T/steps.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void spin(void)
{
	for (volatile int i = 0; i < 100000000; i++)
		;
}
int main(void)
{
	void *volatile a = malloc(3000000), *volatile b;
	spin();
	b = malloc(4000000);
	spin();
	free(b);
	spin();
	free(a);
	return 0;
}
END
gcc -O1 -finstrument-functions -o "$T/steps" "$T/steps.c" || fail "no compiler"
"$WEFT" record --heap=exact -o "$T/memory" -- "$T/steps" >"$T/out" 2>"$T/e" ||
	fail "weft record: $(cat "$T/e")"
drive page.js memory
"$W" heap "$T/memory" 2>&1 | sed -n 's/^most in use.*: \(.* [kM]B\) .*/\1/p' >"$T/want"
told 'most in use' | sed 's/ in use: the most from .*//' >"$T/got"
[ -s "$T/want" ] || fail "weft heap says no most"
same_lines "most in use" "$T/want" "$T/got"
told memory | awk '{ n[$1] = $2; all += $2 }
	END { exit !(n[3000000] > 60 && n[7000000] > 40 &&
		     n[3000000] + n[7000000] == all) }' ||
	fail "memory over time: $(told memory)"

# Coroutines on several threads: their calls are in the lanes of these, too; all is
# in the range of all the time.
if [ -x "$B/tests/prog/p_path" ]; then
	"$WEFT" record --waits -o "$T/path" -- "$B/tests/prog/p_path" >"$T/out" \
		2>"$T/e" || fail "weft record: $(cat "$T/e")"
	drive page.js path
	told bad >"$T/bad"
	[ ! -s "$T/bad" ] || fail "path: $(cat "$T/bad")"
	[ "$(told active)" = 100 ] ||
		fail "path: $(told active)% of the coroutines' time in the range"
	[ "$(told stitched) $(told 'in range')" = "100 100" ] ||
		fail "path: $(told stitched)% of the coroutines' calls are in" \
			"their threads' lanes, $(told 'in range')% in the range"
	[ "$(told 'at first')" = 0 ] || fail "path: a coroutine ran at once"
	[ "$(told figures)" = false ] || fail "path: it has figures of more"
	[ "$(told held)" -gt 0 ] && [ "$(told steps)" -gt 0 ] ||
		fail "path: no holder, or no path"
	drive page.js path --from 1ms
	[ "$(told figures)" = true ] || fail "a part: whose figures, is not said"
fi

# Names that would like to be something else.
hostile_trace hostile
drive_and_compare hostile --debug-dir "$T/debug"
[ "$(told elements)" = "0 images, 3 scripts" ] ||
	fail "names made elements: $(told elements)"
grep -q '^row: .*</script><img src=x' "$T/told" || fail "no hostile name"
exit 0
