#!/bin/bash
# Thousands of contended locks on 2 to 32 threads: of each lock, the waits take as
# long in sum as the program's own clock says around each call, and are as many,
# but for locks that were free again when weft looked. What their stacks waited and
# what their holders made wait add up to the same.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# adds_up OBJECT: what its stacks waited, and what is given to holders and nobody,
# but for what is lost when ticks become ns.
adds_up() {
	"$WEFT" locks --csv --object "$1" "$T/trace" >"$T/stacks" \
		2>"$T/report.err" || fail "weft locks --object"
	awk -F, -v object="$1" 'NR == FNR { if ($2 == object) all = $5; next }
		$1 == "waits" { waits += $2 }
		$1 == "holds" || $1 == "nobody" { given += $2 }
		END { exit all == 0 || (all - waits) ^ 2 > 1e4 ||
			(all - given) ^ 2 > 1e4 }' "$T/locks" "$T/stacks" ||
		fail "$1: $(cat "$T/stacks")"
}

# as_counted THREADS WAITS
as_counted() {
	record --waits --on-full wait -- "$P/p_contended" "$@" ||
		fail "weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
	"$WEFT" locks --csv "$T/trace" >"$T/locks" 2>"$T/report.err" ||
		fail "weft locks"
	awk -F'[ ,]' 'NR == FNR { at[$2] = $0; count[$2] = $4; ns[$2] = $5; next }
		$1 == "wait" {
			d = $4 - ns[$2]; d = d < 0 ? -d : d
			off = $3 - count[$2]
			if (off < 0 || off > 0.01 * $3 + 1 ||
			    (d > 0.02 * $4 && d > 20000)) {
				print $2, count[$2], ns[$2], "not", $3, $4
				bad = 1
			}
			all += $3
		}
		END { exit bad || all < '"$2"' }' "$T/locks" "$T/out" || return 1
	for object in $(awk '$3 > 0 { print $2 }' "$T/out"); do
		adds_up "$object"
	done
}
if [ -n "${DEEP-}" ]; then
	for threads in 2 4 8 16 32; do
		one_of 5 as_counted $threads 10000
	done
else
	one_of 5 as_counted 8 2000
fi
exit 0
