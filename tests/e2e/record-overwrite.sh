#!/bin/bash
# The flight recorder: a pool that is too small keeps the latest chunks, and how
# many it gave up for them is said by weft record and by the report.
# SPDX-License-Identifier: MIT
. tests/lib.sh
"$WEFT" record --pool-size 2M --on-full overwrite -o "$T/trace" -- \
	sh -c 'r=$(pgrep -P $PPID -x weft-record)
	kill -STOP $r; "$0" 3; kill -CONT $r' "$P/p_flood" \
	>"$T/out" 2>"$T/err" || fail "weft record fails"
said=$(sed -n 's/^weft: lost: \([0-9]*\) chunks*, overwritten.*/\1/p' "$T/err")
[ "${said:-0}" -gt 100 ] || fail "${said:-no} chunks are said to be lost"
grep -qx 'weft: lost: 0' "$T/err" && fail "lost: 0"
report
grep -qE "^# lost: $said chunks? overwritten" "$T/report.err" ||
	fail "the report does not say so"
# A chunk holds 8,192 records at most, less a few kept free.
missing=$((3000000 - $(calls drop)))
[ $missing -gt $((said * 8000)) ] && [ $missing -le $((said * 8192)) ] ||
	fail "$missing calls are missing in $said chunks"
# The latest were kept: the program's end is there.
"$WEFT" record --on-full overwrite -o "$T/all" -- "$P/p_flood" 1 \
	>"$T/out" 2>"$T/err" || fail "weft record fails"
grep -qx 'weft: lost: 0' "$T/err" || fail "something was overwritten"
exit 0
