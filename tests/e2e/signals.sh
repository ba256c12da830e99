#!/bin/bash
# An instrumented handler interrupts the hooks themselves: every call is
# counted, the records nest, and in every chunk the times add up to its span.
# time: 200
# SPDX-License-Identifier: MIT
. tests/lib.sh

# Per chunk: gaps and durations, and the chunk's span in ticks.
deltas() {
	"$WEFT" dump --raw "$T/trace" 2>/dev/null | awk '
	function check() {
		if (chunks > 0 && level0 != "" && sum > span) {
			printf "chunk %s: %.0f ticks in %.0f\n", number, sum,
				span
			bad++
		}
	}
	/^chunk / {
		check()
		number = $2; sum = 0; chunks++; level0 = "x"
	}
	/^  ticks / { span = $4 - $2 }
	/^  [0-9]+ LEAF / { sum += substr($4, 2) + $6 }
	/^  [0-9]+ TIME / { sum += $3 }
	/^  [0-9]+ (ENTER|LEAVE|LEAVE_OLD|UNWIND|RESUME|SUSPEND|CREATE|MARK) / {
		for (i = 3; i <= NF; i++)
			if ($i ~ /^\+/) { sum += substr($i, 2); break }
	}
	END {
		check()
		if (chunks == 0) { print "no chunk"; bad++ }
		exit bad > 0
	}'
}

one() {
	record "$P/p_signal" "$@" || fail "$*: weft record fails"
	report
	nothing_lost
	same_calls
	deltas || fail "$*: times in a chunk do not add up"
	echo "note: $*: $(calls handler) handlers"
}
one 1000 1.5
no_unwinds
one 10000 1.5
no_unwinds
one 1000 1 alt
one 2000 1 jump
