#!/bin/bash
# Others find the same: heaptrack all that four real programs take, in all within
# 1 %, and the ten places or stacks that take most, the same; massif the most that
# is in use, within 1 %.
# SPDX-License-Identifier: MIT
. tests/lib.sh
for tool in heaptrack zstdcat jq sqlite3 gnuplot; do
	command -v $tool >/dev/null && continue
	echo "$tool is not installed"
	exit 77
done
export LC_ALL=C

# taken [MODULE]: what heaptrack knows, in $T/want; PROGRAM... from $program.
taken() {
	rm -f "$T"/ht.*
	unset HAS_CPP
	ldd "$(command -v "${program[0]}")" | grep -q 'libstdc++' &&
		export HAS_CPP=1
	heaptrack -o "$T/ht" "${program[@]}" >"$T/o" 2>&1 ||
		fail "heaptrack: $(cat "$T/o")"
	zstdcat "$T/ht.zst" | lua5.4 tests/e2e/heaptrack.lua "$@" >"$T/want"
}
# Totals of columns 1 and 2 of both, and the rows of ten that are in one alone: the
# columns are bytes, blocks, and what follows "told".
same() {
	awk -F'\t' -v told="$T/$1" '
		{ w += $1; wn += $2; if (FNR <= 10) want[$1 " " $2]++ }
		END {
			while ((getline line < told) > 0) {
				split(line, f, "\t")
				g += f[1]; gn += f[2]
				if (++n <= 10 && want[f[1] " " f[2]]-- <= 0) {
					print "not among the ten: " line
					bad++
				}
			}
			print w, wn, g, gn
			exit bad || n == 0 || g < 0.99 * w || g > 1.01 * w ||
				gn < 0.99 * wn || gn > 1.01 * wn
		}' "$T/want" >"$T/o"
}
# places: the code that calls malloc, by its last digits or its function's name.
places() {
	record --heap=exact -- "${program[@]}" || fail "weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	"$WEFT" heap --csv --sort allocated "$T/trace" 2>"$T/report.err" |
		awk -F, 'NR > 1 { print $5 "\t" $6 "\t" $12 }' |
		sort -rn >"$T/got"
	taken
	same got || fail "${program[0]}: $(cat "$T/o"; head -n 12 "$T/want" "$T/got")"
	awk -F'\t' 'FILENAME != "-" {
		split($3, f, " "); at[$1 " " $2] = at[$1 " " $2] " " $3; next }
		FNR <= 10 {
			name = $3
			sub(/.*;/, "", name)
			off = name; sub(/.*\+0x/, "", off); sub(/\+.*/, "", name)
			off = substr("00" off, length("00" off) - 2)
			if (!index(at[$1 " " $2], "+" off) &&
			    !index(at[$1 " " $2], name)) {
				print $0 ": elsewhere: " at[$1 " " $2]
				exit 1
			}
		}' "$T/want" - <"$T/got" >"$T/o" || fail "${program[0]}: $(cat "$T/o")"
	command -v valgrind >/dev/null || return 0
	valgrind -q --tool=massif --peak-inaccuracy=0.0 \
		--massif-out-file="$T/massif" "${program[@]}" >"$T/o" 2>&1 ||
		fail "massif: $(cat "$T/o")"
	"$WEFT" plot memory --top 0 --keep "$T/kept" -o "$T/plot.svg" \
		"$T/trace" 2>"$T/report.err" || fail "no plot"
	awk -F= 'FILENAME ~ /massif$/ {
			if ($1 == "mem_heap_B" && $2 > most) most = $2
			next
		}
		/in use, bytes/ { unit = 1 }
		/in use, kB/ { unit = 1e3 }
		/in use, MB/ { unit = 1e6 }
		/^[0-9]/ {
			split($0, f, " ")
			if (f[3] + 0 > top)
				top = f[3] + 0
		}
		END {
			print "massif:", most, "weft:", top * unit
			exit !(top * unit > 0.99 * most &&
			       top * unit < 1.01 * most)
		}' "$T/massif" "$T/kept" >"$T/o" ||
		fail "${program[0]}: $(cat "$T/o")"
}

awk 'BEGIN { printf "["; for (i = 0; i < 3000; i++)
	printf "%s{\"id\":%d,\"name\":\"n%d\",\"v\":[%d,%d,\"%d\"]}",
		(i > 0 ? "," : ""), i, i, i, 2 * i, i; print "]" }' >"$T/in.json"
cat >"$T/in.sql" <<'END'
create table t(a,b,c);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into t select i, hex(i) || 'xxxxxxxx', i * 3.5 from n;
create index x on t(b);
select count(*), sum(length(b)) from t where b > '3';
select b, count(*) from t group by substr(b, 1, 3) order by 2 desc limit 5;
END
cat >"$T/in.gp" <<END
set terminal svg
set output '$T/sin.svg'
set samples 3000
plot for [k=1:10] sin(x * k)
END
# shellcheck disable=SC2016
program=(jq -c '[.[] | { n: .name, s: (.v | map(tostring) | join(",")) }] |
	group_by(.n[0:2]) | length' "$T/in.json")
places
program=(sqlite3 :memory: ".read $T/in.sql")
places
program=(gnuplot "$T/in.gp")
places

# With hooks, whole stacks: of the functions that are the program's own. Without
# recorded calls Lua takes what it takes alone.
program=("$B/demo/search" --rounds 1 --workers 1 --account "$T/account"
	docs/*.md)
record --heap=exact --no-lua -- "${program[@]}" || fail "weft record fails"
taken search
cut -f3 "$T/want" | tr ';' '\n' | sort -u >"$T/names"
"$WEFT" heap --csv "$T/trace" 2>"$T/report.err" | awk -F, '
	FILENAME != "-" { own[$1] = 1; next }
	FNR > 1 {
		n = split($12, f, ";")
		key = ""
		for (i = 1; i <= n; i++)
			if (f[i] in own)
				key = key (key == "" ? "" : ";") f[i]
		bytes[key] += $5
		blocks[key] += $6
	}
	END { for (k in bytes) print bytes[k] "\t" blocks[k] "\t" k }' \
	"$T/names" - | sort -rn >"$T/got"
same got || fail "search: $(cat "$T/o"; head -n 12 "$T/want" "$T/got")"
head -n 10 "$T/want" | cut -f3 >"$T/stacks"
head -n 10 "$T/got" | cut -f3 | grep -vxFf "$T/stacks" &&
	fail "search: other stacks: $(cat "$T/stacks")"
exit 0
