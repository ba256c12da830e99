#!/bin/bash
# Three recorded sessions whose counts are known, added up: sums, means,
# deviations and ranks; on separate "machines" by GNU parallel, in any grouping,
# to the same bytes; and reported as if they had been one.
# SPDX-License-Identifier: MIT
. tests/lib.sh
unset COLUMNS DEBUGINFOD_URLS

i=0
for counts in "7000 6000 5000 4000" "7300 6320 4800 4500" \
	"7200 6300 5100 4500"; do
	i=$((i + 1))
	zone=$([ $i = 2 ] && echo west || echo east)
	record --label zone=$zone -- "$P/p_rounds" $counts || fail "session $i: weft record fails"
	mv "$T/trace" "$T/s$i"
done

# FUNCTION SUM MEAN MIN MAX DEVIATION, by calls, as a reference adds them up.
cat >"$T/truth" <<'END'
f1 21500 7166.7 7000 7300 152.8
f2 18620 6206.7 6000 6320 179.3
f3 14900 4966.7 4800 5100 152.8
f4 13000 4333.3 4000 4500 288.7
END
rows() {
	awk -F, 'NR > 1 && $1 ~ /^f[1-4]$/ { print $1, $7, $8, $9, $10, $11 }'
}
"$WEFT" merge --csv --sort calls "$T/s1" "$T/s2" "$T/s3" 2>"$T/err" |
	rows >"$T/merged" || fail "merge"
diff "$T/truth" "$T/merged" || fail "the sums are others"
grep -qx '# nothing was lost' "$T/err" || fail "$(cat "$T/err")"
"$WEFT" report --csv --sort calls "$T/s1" "$T/s2" "$T/s3" 2>/dev/null |
	awk -F, 'NR > 1 { print $1, $6 }' | head -n 2 >"$T/top"
printf 'f1 21500\nf2 18620\n' | diff - "$T/top" || fail "not the top two"

# Map: a profile for each; reduce: pairs, then all. The grouping is no matter.
cd "$T" || exit 1
if command -v parallel >/dev/null; then
	parallel --will-cite "$WEFT" export -o {}.pb {} ::: s1 s2 s3 \
		2>"$T/err" || fail "map"
	ls s?.pb | parallel --will-cite -N 2 "$WEFT" merge -o part{#}.pb {} \
		2>"$T/err" || fail "reduce"
	"$WEFT" merge -o sum.pb part*.pb || fail "reduce the rest"
else
	echo "note: no GNU parallel here: made one by one"
	for s in s1 s2 s3; do
		"$WEFT" export -o $s.pb $s 2>"$T/err" || fail "export"
	done
	"$WEFT" merge -o part1.pb s1.pb s2.pb || fail "merge"
	"$WEFT" merge -o sum.pb part1.pb s3.pb || fail "merge"
fi
"$WEFT" merge -o other.pb s3 s1.pb s2 || fail "merge"
cmp sum.pb other.pb || fail "grouped otherwise, the sum is another"
# A function that took little of the time is in no tree by default.
for c in "report --top 0" "report --csv" "tree --min-share 0" \
	"tree --min-share 0 --root coroutine" "merge --csv"; do
	"$WEFT" $c s1 s2 s3 >of-all 2>&1
	"$WEFT" $c sum.pb >of-sum 2>&1
	grep -q f1 of-all || fail "$c prints nothing"
	diff -u of-all of-sum || fail "$c of the sum differs from that of all"
done

# Labels stay with their sessions; Lua states are those of the same number.
cat >coros.lua <<'LUA'
for i = 1, tonumber(arg[1]) do
	coroutine.wrap(function() coroutine.yield(i) end)()
end
LUA
for n in 3 5; do
	timeout 300 "$WEFT" record --lua-init -o l$n -- lua5.4 coros.lua $n >out 2>err ||
		fail "Lua: weft record fails"
done
# sums BY FILE...: each group's calls, added up over the files.
sums() {
	local by=$1 f
	shift
	for f; do
		"$WEFT" report --csv --by $by $f 2>err || fail "by $by"
	done | awk -F, '$1 != "'$by'" { n[$1] += $2 }
		END { for (k in n) print k, n[k] }' | sort
}
"$WEFT" merge -o lua.pb l5 l3 || fail "merge"
for f in "label s1 s2 s3" "label s1.pb s2 s3.pb" "vm l3 l5"; do
	set -- $f
	by=$1
	shift
	sums $by "$@" >wanted
	for all in "$*" $([ $by = vm ] && echo lua.pb || echo sum.pb); do
		"$WEFT" report --csv --by $by $all 2>err |
			awk -F, 'NR > 1 { print $1, $2 }' | sort >have
		diff wanted have || fail "by $by of $all"
	done
done
grep -q '^Lua 5.4 state 1 ' wanted || fail "no Lua state: $(cat wanted)"
east=$("$WEFT" report --csv --by label sum.pb 2>err |
	awk -F, '$1 == "zone=east" { print $2 }')
[ "$east" -gt $((7000 + 6000 + 5000 + 4000 + 7200 + 6300 + 5100 + 4500)) ] ||
	fail "no label: $east"

# Each session's report is that of its profile.
for s in s1 s2 s3; do
	for c in report "report --csv" tree; do
		diff <("$WEFT" $c $s 2>&1) <("$WEFT" $c $s.pb 2>&1) ||
			fail "$c of a profile is another"
	done
done
exit 0
