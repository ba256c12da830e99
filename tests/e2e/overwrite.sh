#!/bin/bash
# A flight recorder that is too small: what was overwritten is counted, the
# times that are missing are listed, and the reader blames nobody else.
# SPDX-License-Identifier: MIT
. tests/lib.sh

record --on-full overwrite --pool-size=2M -- "$P/p_flood" 30 ||
	fail "weft record fails"
"$WEFT" check "$T/trace" >"$T/check" 2>&1
status=$?
grep -q 'chunks* missing: their numbers never came' "$T/check" || {
	echo "the recorder kept up with 30 million calls"
	exit 77
}
[ $status = 2 ] || fail "weft check exits $status: $(cat "$T/check")"
grep 'babeltrace2 did not give' "$T/check" &&
	fail "babeltrace2 gave all there is"
grep -Eq '^lost: [0-9.]+ m?s of threads. time missing in [0-9,]+ places' \
	"$T/check" || fail "no total of the missing time: $(cat "$T/check")"
grep -Eq '^missing in thread [0-9]+ p_flood of process [0-9]+: [0-9,]+ chunks? and [0-9,]+ records? at \+[0-9.]+ .?s for [0-9.]+ .?s$' \
	"$T/check" || fail "no missing time is listed: $(cat "$T/check")"
# The program made 30 million calls, each a record, and a few more. Where the
# recorder is copying all that is full, there is nothing to overwrite.
awk '/chunks? missing: their numbers/ { gsub(",", ""); n += $(NF - 1) }
/^lost: [0-9,]+ records?: no free buffer/ { gsub(",", ""); n += $2 }
/^not whole: / { gsub(",", ""); n += $3 }
END {
	print "note:", n, "records here and missing"
	exit n < 30000000 || n > 30100000
}' "$T/check" || fail "the records do not add up: $(cat "$T/check")"
"$WEFT" info "$T/trace" | grep -q '^missing in  thread' ||
	fail "weft info lists no missing time"
"$WEFT" report -n 3 "$T/trace" | grep -q "^lost: .* of threads' time missing" ||
	fail "weft report does not say how much is missing"
