#!/bin/bash
# weft plot KIND: what each kind draws is what the tables say; the kept script
# draws the same plot again; options that a kind does not follow are refused.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
. tests/cli/export/figures.inc
command -v gnuplot >/dev/null || { echo "gnuplot is not installed"; exit 77; }
make_trace t coroutines=1 chunks=6 threads=3
cd "$T" || exit 1
"$W" report --csv --top 0 t >report.csv 2>err || fail "$(cat err)"
"$W" coroutines --csv t >coroutines.csv 2>err || fail "$(cat err)"
"$W" slow '*' --csv --top 0 t >slow.csv 2>err || fail "$(cat err)"

# data KIND OPTION...: draw it; the numbers of the kept data, each line behind
# its layer's title and a tab.
data() {
	local kind=$1
	shift
	"$W" plot "$kind" -o "$kind.svg" --keep "$kind.gp" "$@" t 2>err ||
		fail "$kind: $(cat err)"
	awk '
	NR == FNR {
		if (match($0, /^\$layer[0-9]+ using/)) {
			split($1, name, "$")
			title[name[2]] = /title / ? $0 : ""
			sub(/.* title /, "", title[name[2]])
			gsub(/[\x27]|, \\$/, "", title[name[2]])
		}
		next
	}
	/^\$layer[0-9]+ <</ { layer = substr($1, 2); next }
	/^EOD/ { layer = ""; next }
	layer != "" { print title[layer] "\t" $0 }' "$kind.gp" "$kind.gp"
}

# near FILE NS: is the number on stdin that of the file, or up to NS more?
near() { awk -v want="$(cat "$1")" -v most="$2" '{ print
	exit $1 < want - 2 || $1 > want + most ? 1 : 0 }'; }

# Bars are as long as self times, the longest first.
data hot | awk '{ printf "%.0f\n", $(NF - 2) * 1000 }' | sort -rn >hot
awk -F, 'NR > 1 { print $7 }' report.csv | sort -rn | cmp - hot ||
	fail "hot draws other times: $(cat hot)"
gnuplot -d hot.gp >again.svg 2>err || fail "the kept script fails: $(cat err)"
cmp again.svg hot.svg || fail "the kept script draws another plot"

# Native and Lua functions have the colours that they have in the page.
"$W" html -o page.html t 2>err || fail "$(cat err)"
for kind in native Lua; do
	colour=$(grep -o -m 1 -e "--${kind,}: #[0-9a-f]*" page.html |
		sed -n '1s/.*#//p')
	grep -q "rgb '#${colour^^}' title '$kind'" hot.gp ||
		fail "$kind has another colour in the page: $colour"
done

# What each area covers is the function's self time, as recorded.
data shares --raw | awk -F'\t' '
{ split($2, p, " ")
  if (n[$1]++ % 2) area[$1] += (p[1] - x[$1]) * (p[3] - p[2]) * 1000
  x[$1] = p[1] }
END { for (f in area) printf "%s %.0f\n", f, area[f] }' |
	grep -v 'in no function' | sort >shares
awk -F, 'NR > 1 { print $1, $7 }' report.csv | sort | cmp - shares ||
	fail "shares draws others: $(cat shares)"

# The share of calls in each power of two.
data latency --only '*0x2000' | awk -F'\t' '
{ split($2, p, " ")
  if (++n % 2 && p[2] > 1e-6) printf "%g %.3f\n", p[1], p[2] }' >latency
awk -F, 'NR > 1 && $4 ~ /0x2000/ {
	for (b = 8; 2 * b <= $11; b *= 2) ;
	all++; count[$11 < 8 ? 1 : b]++ }
END { for (b in count) printf "%g %.3f\n", b, 100 * count[b] / all }' \
	slow.csv | sort -n | cmp - latency ||
	fail "latency draws others: $(cat latency)"

# Cells: a column in 240 of the whole, a power of two, a power of ten calls.
data lanes >lanes
whole=$(awk '/^set xrange/ { gsub(/.*:|\]/, ""); print $0 * 1000 }' lanes.gp)
data heat | awk -F'\t' -v whole="$whole" '{ split($2, p, " ")
	printf "%.0f %g %s\n", p[1] * 240000 / whole, p[3], $1 }' | sort >heat
awk -F, -v whole="$whole" 'NR > 1 && ($19 == "returned" || $19 == "unwound") {
	for (b = 8; 2 * b <= $11; b *= 2) ;
	count[int($10 * 240 / whole) " " ($11 < 8 ? 1 : b)]++ }
END { for (c in count)
	print c, (count[c] < 10 ? "1 to 9 calls" : "10 to 99 calls") }' slow.csv | sort | cmp - heat ||
	fail "heat draws others"

# A row for each thread and coroutine: how often it ran, and for how long. Of
# the coroutines with equal sums, each is there.
awk -F'\t' '$1 ~ /^body/ { split($2, p, " ")
	if (p[4] - p[3] < 15) next
	runs[p[3]]++
	active[p[3]] += (p[2] - p[1]) * 1000 }
END { for (y in runs)
	printf "%d %.0f\n", runs[y], active[y] }' lanes | sort >rows
awk -F, 'NR > 1 { print $12, $13 }' coroutines.csv | sort | cmp - rows ||
	fail "lanes draws other runs: $(cat rows)"
[ "$(grep -c $'^\t' lanes)" = 105 ] || fail "lanes lacks arrows"
"$W" plot lanes --top 1 -o one.svg t 2>err || fail "$(cat err)"
grep -q '2 coroutines have no row (--top): active for 1.484 us' one.svg ||
	fail "lanes does not say what has no row"
"$W" plot lanes --coroutine 101 --keep one.gp -o one.svg t 2>err ||
	fail "$(cat err)"
grep -q "101 body" one.gp && ! grep -q "100 body" one.gp ||
	fail "--coroutine draws others"

# What waits is told from what runs, where that is known: areas without a title
# are paler, and threads' rows have boxes of their own. Those have also what was
# waited in no function: all that the thread waited.
made_sessions 1 5 8 16
for seed in 8 16; do
	"$W" report --csv --raw --top 0 --columns off-cpu $seed 2>err |
		awk -F, 'NR > 1 { ns += $NF } END { printf "%.0f\n", ns }' >off
	[ "$(cat off)" -gt 0 ] || fail "$seed: nothing waits: $(cat err)"
	"$W" plot shares --raw -o s.svg --keep s.gp $seed 2>err ||
		fail "$seed: $(cat err)"
	grep -q 'paler: waiting' s.svg || fail "$seed: shares does not say it"
	awk '/^\$layer[0-9]+ <</ { layer = substr($1, 2); next }
	/^EOD/ { layer = ""; next }
	layer != "" { if (n[layer]++ % 2)
		area[layer] += ($1 - x[layer]) * ($3 - $2)
		x[layer] = $1 }
	/^\$layer[0-9]+ using.* notitle/ { split($1, a, "$"); ms += area[a[2]] }
	END { printf "%.0f\n", ms * 1e6 }' s.gp | near off 2000 ||
		fail "$seed: shares draws other waiting"
	# Four digits for each thread, of which none waits for 10 ms.
	"$W" info --top 0 $seed 2>err | awk '/ off CPU / {
		ns += $(NF - 1) * ($NF == "ns" ? 1 : $NF == "us" ? 1e3 : 1e6) }
	END { printf "%.0f\n", ns - 2000 }' >off
	"$W" plot lanes --top 0 -o l.svg --keep l.gp $seed 2>err ||
		fail "$seed: $(cat err)"
	awk '/^\$layer[0-9]+ <</ { layer = substr($1, 2); next }
	/^EOD/ { layer = ""; next }
	layer != "" { sum[layer] += $2 - $1 }
	/^\$layer[0-9]+ using.*waiting, off/ { split($1, a, "$")
		printf "%.0f\n", sum[a[2]] * 1e6 }' l.gp | near off 4000 ||
		fail "$seed: lanes draws other waiting"
done
"$W" plot lanes -o l.svg 1 2>err || fail "$(cat err)"
grep -q 'running and waiting are not told apart' l.svg ||
	fail "lanes does not say that waiting is not known"

# Two sides; in characters; nothing of it goes elsewhere.
make_trace u coroutines=1 chunks=9 threads=3
"$W" plot diff -o diff.svg t u 2>err || fail "diff: $(cat err)"
grep -q 'more time' diff.svg || fail "diff draws nothing"
for kind in hot latency shares heat lanes; do
	"$W" plot $kind --term t >term 2>err || fail "--term: $(cat err)"
	[ "$(grep -c . term)" -gt 20 ] && [ ! -s err ] || fail "$kind: $(cat err)"
	tr -d '\n\f' <term | LC_ALL=C grep -q '[^ -~]' && fail "$kind is no text"
done
# A line has one bar, or a part of the next one would be read as its waiting.
"$W" plot hot --term -n 20 5 >term 2>err || fail "--term: $(cat err)"
[ "$(grep -c '[^ ] |[#$%@]' term)" -gt 8 ] || fail "few bars: $(cat term)"
grep '^ *[|+][#$%@]' term && fail "a bar without a name"
# Nor does an arrow cross the rows.
"$W" plot lanes --term --keep k.gp t >term 2>err || fail "--term: $(cat err)"
grep -q 'with vectors' k.gp && fail "arrows in characters"
"$W" plot lanes --keep k.gp -o l.svg t 2>err && grep -q 'with vectors' k.gp ||
	fail "no arrows: $(cat err)"
[ -e t.lanes.svg ] && fail "--term writes a file"
"$W" plot lanes t 2>err && [ -s t.lanes.svg ] || fail "no t.lanes.svg"

# refuse PATTERN ARGUMENT...
refuse() {
	local pattern=$1
	shift
	"$W" plot "$@" 2>err && fail "takes $*"
	grep -q -e "$pattern" err || fail "$*: says $(cat err)"
}
refuse 'no function that ran' latency --only nosuch t
refuse 'only has no meaning for hot' --only x t
refuse 'sort has no meaning for lanes' lanes --sort self t
refuse 'waiting has no meaning for heat' heat --waiting t
refuse 'single records are drawn' shares --under x t
refuse 'weft plot lanes shows one' heat --coroutine 101 t
refuse 'two traces or profiles are needed' diff t
refuse 'is given after vs' diff t vs
make_trace empty chunks=0
refuse 'the trace holds no calls' diff t empty
refuse 'leave one of them out' --term --format png t
"$W" merge -o m.weft t u 2>err && refuse 'no single calls' heat m.weft
exit 0
