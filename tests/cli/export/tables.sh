#!/bin/bash
# weft export --format json and csv: what another reader adds up from them is
# what weft report says of each function.
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
. tests/cli/export/figures.inc
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }

# rows TABLE: a table of $T/json as CSV.
rows() {
	jq -r ".$1 | .columns, .rows[] | map(. // \"\") | @csv" "$T/json"
}
# same_figures WHAT KEY: stdin is what the report says.
same_figures() {
	reported "$T/$t" "$2" >"$T/want"
	diff "$T/want" - || fail "$t: $1 has other $2"
}
# Of each node of the tree its function's name and language, as CSV.
cat >"$T/nodes.jq" <<'JQ'
def rows($t): .[$t].columns as $c
	| .[$t].rows[] | [$c, .] | transpose | map({(.[0]): .[1]}) | add;
(reduce rows("functions") as $f ({}; .[$f.id | tostring] = $f)) as $of
| ["name", "language", "calls", "self_ns", "total_ns", "suspended_ns",
   "is_outermost"],
  (rows("nodes") | select(.function) | $of[.function | tostring] as $f
	| [$f.name, $f.language, .calls, .self_ns, .total_ns, .suspended_ns,
	   .is_outermost])
| @csv
JQ
make_trace t coroutines=1 chunks=8 threads=2
seeds=$(seq 11 16)
made_sessions $seeds
for t in t $seeds; do
	for f in json csv; do
		"$W" export -f $f --raw -o "$T/$f" "$T/$t" 2>"$T/e" ||
			fail "$t: $f: $(cat "$T/e")"
	done
	[ "$(jq -c '[.format, .version]' "$T/json")" = '["weft",1]' ] ||
		fail "$t: $(head -c 100 "$T/json")"
	jq -r -f "$T/nodes.jq" "$T/json" >"$T/nodes" || fail "$t: json"
	for key in calls self_ns total_ns suspended_ns min_ns p99_ns max_ns; do
		rows functions | summed $key | same_figures json $key
	done
	for key in calls self_ns; do
		summed $key <"$T/nodes" | same_figures "json's tree" $key
		summed $key <"$T/csv" | same_figures csv $key
	done
	summed total_ns is_outermost <"$T/nodes" |
		same_figures "json's tree" total_ns
	summed total_ns is_outermost <"$T/csv" | same_figures csv total_ns
done
[ "$(wc -l <"$T/want")" -ge 5 ] || fail "functions are missing"

# A profile has the same figures, but no single calls.
"$W" export -o "$T/t.pb" "$T/t" 2>/dev/null || fail "no profile"
for trace in t t.pb; do
	"$W" export -f json "$T/$trace" 2>/dev/null |
		jq -c '[.functions.rows[][1:]] | sort' >"$T/$trace.functions"
done
diff "$T/t.functions" "$T/t.pb.functions" || fail "a profile has others"
"$W" export -f json "$T/t.pb" 2>/dev/null | jq -c '.slow_calls.rows' |
	grep -qx '\[\]' || fail "a profile has slow calls"

# The page has each column of each table, and no other.
jq -r 'to_entries[] | select(.value | type == "object") | .key as $t |
	.value.columns[] | "\($t) \(.)"' "$T/json" | sort >"$T/have"
awk -F '|' '
	/^\| [a-z_, ]* \|/ { n = split($2, table, /[, ]+/) }
	/^\| `/ {
		while (match($2, /`[a-z0-9_]*`/)) {
			for (i = 1; i <= n; i++)
				if (table[i] != "")
					print table[i] " " substr($2,
						RSTART + 1, RLENGTH - 2)
			$2 = substr($2, RSTART + RLENGTH)
		}
	}' docs/queries.md | sort >"$T/said"
diff "$T/have" "$T/said" || fail "docs/queries.md has other columns"
exit 0
