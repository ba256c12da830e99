#!/bin/bash
# weft report of groups and parts of made-up traces: rows of every grouping add
# up to the same, the two sides of any moment to the whole, a coroutine's self
# times to the time it was active; a name that nobody has is refused.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace t coroutines=1 chunks=6
make_trace many threads=5 chunks=9 coroutines=1 partials=2
same module 0 "$W" report --by module t
same columns 0 "$W" report --columns calls,p50,max --sort name t
same under 0 "$W" report --under "made-up+0x2000" t
same range 0 "$W" report --from 2us --to 4us t
same only 0 "$W" report --only "module=made-up" --top 2 t
same no-under 2 "$W" report --under nobody t
same no-column 1 "$W" report --columns self,nothing t
same no-range 1 "$W" report --from 2s --to 1s t
same no-switches 2 "$W" report --sort cpu t

# Columns have two names: that of tables, and that of CSV.
for c in self_ns,calls,p50_ns self,calls,p50; do
	[ "$("$W" report --csv --columns $c "$T/t" 2>"$T/e" | head -n 1)" = \
		self_ns,calls,p50_ns ] || fail "--columns $c: $(cat "$T/e")"
done

# What rows are sorted by is seen.
for c in p99 wall max; do
	"$W" report --sort $c "$T/t" | grep -q " $c " || fail "no column $c"
done

# sum COLUMN ARGUMENT...: of the rows of a report.
sum() {
	local column=$1
	shift
	"$W" report --csv "$@" 2>/dev/null | awk -F, -v column="$column" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ n += $at[column] }
		END { print n + 0 }'
}

for t in t many; do
	for by in module file language body vm; do
		for c in calls self_ns; do
			[ "$(sum $c --by $by "$T/$t")" = "$(sum $c "$T/$t")" ] ||
				fail "$t: $c by $by"
		done
	done
	# These hold the time in no function, too.
	whole=$(sum self_ns --by thread "$T/$t")
	for by in process label; do
		[ "$(sum self_ns --by $by "$T/$t")" = "$whole" ] ||
			fail "$t: by $by"
	done
	for by in function module thread; do
		sum share --by $by "$T/$t" | awk '{ exit $1 < 99.99 ||
			$1 > 100.01 }' || fail "$t: shares by $by"
	done
	for at in 1ns 777ns 3us 4.001us 5us; do
		for c in calls self_ns suspended_ns; do
			a=$(sum $c --by thread --to $at "$T/$t")
			b=$(sum $c --by thread --from $at "$T/$t")
			[ $((a + b)) = "$(sum $c --by thread "$T/$t")" ] ||
				fail "$t: $c on the sides of $at: $a, $b"
		done
	done
done

# Each coroutine alone. From its first resume to its body's entry, 7 ns in such
# a trace, it has no frame yet.
"$W" coroutines --csv "$T/many" 2>/dev/null | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ print $at["id"], $at["active_ns"] }' >"$T/ids"
[ -s "$T/ids" ] || fail "no coroutines"
while read -r id active; do
	have=$(sum self_ns --coroutine "$id" "$T/many")
	[ $((have + 7)) = "$active" ] || fail "coroutine $id: $have, not $active"
done <"$T/ids"
