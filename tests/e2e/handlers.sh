#!/bin/bash
# Eight functions take turns while a timer's instrumented handler interrupts
# hooks: its runs stand under the function whose turn it was, as the program
# itself counts. With arguments: that run of p_handlers alone.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# "TURN handlers" for each turn, as the tree has it.
placed() {
	"$WEFT" tree --csv "$T/trace" 2>"$T/tree.err" | awk -F, '
	NR == 1 { next }
	{ parent[$1] = $2; name[$1] = $4; calls[$1] = $10 }
	END {
		for (n in name) {
			if (name[n] != "handler")
				continue
			at = "nothing"
			for (p = n; p in name; p = parent[p])
				if (name[p] ~ /^turn/)
					at = name[p]
			count[at] += calls[n]
		}
		for (at in count)
			print at, count[at]
	}' | sort
}

one() {
	record --on-full wait -- "$P/p_handlers" "$@" ||
		fail "$*: weft record fails"
	report
	nothing_lost
	grep 'what they interrupted is not known' "$T/report.err" &&
		fail "$*: handlers without a place"
	awk '$3 > 0 { print $1, $3 }' "$T/out" | sort >"$T/truth"
	placed >"$T/placed"
	join -a 1 -a 2 -e 0 -o 1.2,2.2 "$T/truth" "$T/placed" | awk '
	{ off += $1 > $2 ? $1 - $2 : $2 - $1; all += $1 }
	END {
		print "note:", off / 2, "of", all, "stand elsewhere"
		exit off > 0
	}' || fail "$*: $(diff "$T/truth" "$T/placed")"
	echo "note: $*: $(calls handler) handlers, $(
		"$WEFT" dump --raw "$T/trace" 2>/dev/null |
			grep -c ' INTERRUPT ') records of interruptions"
}
if [ $# -gt 0 ]; then
	one "$@"
	exit 0
fi
spans="0.2 0.4 0.2"
[ -z "${DEEP-}" ] || spans="0.5 1 0.5"
read -r first second third <<<"$spans"
one 1000 "$first"

# weft path shows as many calls as are asked for: those in handlers that
# interrupted a hook, of which it can show none, do not count.
shown=$("$WEFT" path --call handler --requests 5 --nth 3 --csv "$T/trace" \
	2>/dev/null | awk -F, 'NR > 1 { n[$1]++ } END { print length(n) }')
[ "$shown" = 5 ] || fail "$shown calls instead of 5"
one 10000 "$second"
one 10000 "$third" alt
