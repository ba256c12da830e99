#!/bin/bash
# weft diff --heap: the function that keeps more or takes more is found, by the
# bytes that the program asks for; where nothing changed, no function is; a
# difference of samples that may be chance is none. weft plot memory has what is in
# use over time.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/mem.c" <<'END'
#include <stdlib.h>
static void *volatile kept[200000];
static int count;
void keep(int n)
{
	for (int i = 0; i < n; i++)
		kept[count++] = malloc(1000);
}
void churn(int n)
{
	for (int i = 0; i < n; i++) {
		kept[count] = malloc(300);
		free(kept[count]);
	}
}
int main(int argc, char **argv)
{
	keep(argc > 2 ? atoi(argv[1]) : 0);
	churn(argc > 2 ? atoi(argv[2]) : 0);
	return 0;
}
END
cc -O1 -g -finstrument-functions -o "$T/mem" "$T/mem.c" || fail "does not build"
# made NAME OPTION KEEP CHURN
made() {
	"$WEFT" record -q "$2" -o "$T/$1" -- "$T/mem" "$3" "$4" ||
		fail "$1: not recorded"
}
# differs SIDE...: rows of CSV, "function in-use was is allocated was is".
differs() {
	(cd "$T" && "$WEFT" diff --heap --csv "$@") 2>"$T/err" |
		awk -F, 'NR > 1 { print $11, $1, $3, $4, $5, $7, $8 }' >"$T/rows"
}
is() {
	[ "$(cat "$T/rows")" = "$1" ] || fail "not $1: $(cat "$T/rows" "$T/err")"
}
made few --heap=exact 100 50
made many --heap=exact 300 50
made more --heap=exact 100 500
differs few many
is "keep 200000.0 100000 300000 200000.0 100000 300000"
differs few more
is "churn 0.0 0 0 135000.0 15000 150000"
differs many few
is "keep -200000.0 300000 100000 -200000.0 300000 100000"
differs few few
is ""
# A side is the mean of its sessions.
differs few many vs more
is "keep -100000.0 200000 100000 -100000.0 200000 100000
churn 0.0 0 0 135000.0 15000 150000"
(cd "$T" && "$WEFT" diff --heap few many) >"$T/out" || fail "no table"
grep -Eq '^\+200.0 kB +100.0 kB +300.0 kB .* keep$' "$T/out" ||
	fail "the table: $(cat "$T/out")"
grep -q '^in use at the end: 100.0 kB before, 300.0 kB after (+200%)$' \
	"$T/out" || fail "the sums: $(cat "$T/out")"

# judge STATUS LIMIT SIDE...
judge() {
	local wanted=$1 status=0
	(cd "$T" && "$WEFT" diff --heap --fail-over "${@:2}") >"$T/out" \
		2>"$T/err" || status=$?
	[ $status = "$wanted" ] || fail "$*: $status: $(cat "$T/out" "$T/err")"
}
judge 4 100% few many
grep -q '"keep" takes 200.0% more' "$T/err" || fail "keep is not named"
judge 0 250% few many
judge 4 50% few more
judge 0 0% few few
judge 0 0% many few

# In use over time: at the end, what weft heap says; the first area is keep's, and
# no memory that was given back is in it.
plotted() {
	"$WEFT" plot memory --keep "$T/kept" -o "$T/plot.svg" "$@" "$T/more" \
		2>"$T/err" || fail "no plot"
	awk '/^\$layer0 /, /^EOD/ { if (NF > 2 && $1 + 0 == $1) { n++; last = $3 } }
		END { print n, last }' "$T/kept"
}
[ "$(plotted)" = "241 100" ] || fail "the plot: $(plotted): $(cat "$T/kept")"
grep -q "'in use, kB'" "$T/kept" || fail "the plot has another unit"
grep -q "title 'keep'" "$T/kept" || fail "the plot does not name keep"

# The most that is in use is among the moments, however short it lasts.
cat >"$T/peak.c" <<'END'
#include <stdlib.h>
void *volatile p;
void churn(int n, size_t size)
{
	for (int i = 0; i < n; i++) {
		p = malloc(size);
		free(p);
	}
}
int main(void)
{
	churn(30000, 100);
	churn(1, 7000000);
	churn(30000, 100);
	return 0;
}
END
cc -O1 -g -finstrument-functions -o "$T/peak" "$T/peak.c" || fail "does not build"
"$WEFT" record -q --heap=exact -o "$T/short" -- "$T/peak" || fail "not recorded"
"$WEFT" plot memory --keep "$T/kept" -o "$T/plot.svg" "$T/short" 2>"$T/err" ||
	fail "no plot"
[ "$(awk '/^\$layer0 /, /^EOD/ { if (NF == 3 && $3 + 0 > most) most = $3 } END { print most }' \
	"$T/kept")" = 7 ] || fail "the peak is not drawn: $(cat "$T/kept")"
grep -q 'at most 7.0 MB' "$T/kept" || fail "the peak is not said"

# Samples: what changed is beyond twice its error, what did not is not, but for
# one in 20 by chance: 3 of 8 would be one in 200.
for n in 1 2 3 4 5 6 7 8; do
	made same$n --heap=16k 20000 3000
done
made grown --heap=16k 24000 3000
alarms=0
for n in 1 3 5 7; do
	for other in $((n + 1)) grown; do
		side=$other
		[ $other = grown ] || side=same$other
		(cd "$T" && "$WEFT" diff --heap same$n $side) >"$T/out" ||
			fail "no table"
		found=$(grep -c ' keep$' "$T/out")
		[ $other = grown ] || alarms=$((alarms + found))
		[ $other != grown ] || [ "$found" = 1 ] ||
			fail "growth is not found: $(cat "$T/out")"
	done
done
[ $alarms -lt 3 ] || fail "$alarms alarms where nothing changed"

# Without memory there is nothing to compare.
"$WEFT" record -q -o "$T/none" -- "$T/mem" 1 1 || fail "not recorded"
for other in none profile; do
	[ $other = none ] || "$WEFT" merge -o "$T/profile" "$T/many" ||
		fail "no profile"
	status=0
	(cd "$T" && "$WEFT" diff --heap few $other) >"$T/out" 2>"$T/err" ||
		status=$?
	[ $status = 2 ] && grep -q 'the side after has no memory' "$T/err" ||
		fail "$other: $status: $(cat "$T/err")"
	"$WEFT" plot memory -o "$T/none.svg" "$T/$other" >"$T/out" \
		2>"$T/err" && fail "a plot of $other is drawn"
done
exit 0
