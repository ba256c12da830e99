#!/bin/bash
# An instrumented handler interrupts the hooks themselves: every call is
# counted, the records nest, and in every chunk the times add up to its span.
# With arguments: that run of p_signal alone.
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
	record --on-full wait -- "$P/p_signal" "$@" ||
		fail "$*: weft record fails"
	report
	nothing_lost
	same_calls
	[ "${3-}" != jump ] || begun
	echo "note: $*: $(calls handler) handlers in $(($(calls leaf) +
		$(calls step))) calls"
}

# A call that a jump leaves at its very beginning may have been seen or not.
begun() {
	local least jumped more
	least=$(sed -n 's/^steps //p' "$T/out")
	jumped=$(sed -n 's/^jumped //p' "$T/out")
	more=$(($(calls step) - least))
	[ "$jumped" -gt 0 ] && [ $more -ge 0 ] && [ $more -le "$jumped" ] ||
		fail "$more more calls of step, in $jumped jumps"
	echo "note: $jumped jumps, $more out of calls that had just begun"
}

if [ $# -gt 0 ]; then
	one "$@"
	exit 0
fi
# Without DEEP=1 each takes a fourth of the time.
span() {
	[ -n "${DEEP-}" ] && echo $1 || lua5.4 -e "print($1 / 4)"
}
one 1000 $(span 0.7)
one 10000 $(span 0.4)
for what in "1000 1 paced" "10000 1 paced" "5000 0.5 alt" "10000 0.5 jump"; do
	read -r hz seconds how <<<"$what"
	one $hz $(span $seconds) $how
	[ $how = jump ] || no_unwinds
	deltas || fail "$what: times in a chunk do not add up"
done
one 20000 $(span 0.3) jump
