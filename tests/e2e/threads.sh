#!/bin/bash
# 500 threads at once and 2,000 short-lived ones: no call is lost. Of threads for
# which there is no memory every call is counted.
# SPDX-License-Identifier: MIT
. tests/lib.sh
for what in "at-once 500" "in-turn 2000"; do
	# shellcheck disable=SC2086
	record "$P/p_threads" $what || fail "$what: weft record fails"
	report
	nothing_lost
	same_calls
	n=$("$WEFT" info "$T/trace" | awk '$1 == "threads" { print $2 }')
	[ "$n" = $((${what#* } + 1)) ] || fail "$what: $n threads"
	report --thread "late name"
	same_calls
done

record "$P/p_threads" no-memory 50 || fail "no-memory: weft record fails"
report
truth=$(awk '{ n += $2 } END { print n }' "$T/out")
seen=$(($(calls small) + $(calls run)))
lost=$(sed -n 's/^# lost: \([0-9,]*\) calls that could not .*/\1/p' \
	"$T/report.err" | tr -d ,)
[ $((seen + ${lost:-0})) = "$truth" ] ||
	fail "no-memory: $seen and ${lost:-0} lost calls are not $truth"
grep -q "had no memory left" "$T/err" || fail "no-memory: the cause is not said"
echo "note: no memory: $lost of $truth calls"
