#!/bin/bash
# There is no place for the trace: a file system that may not be written to, at
# the start; a folder that somebody removes while the program runs. The first is
# refused before the program starts, the second does not disturb it.
# SPDX-License-Identifier: MIT
. tests/lib.sh
rm -rf "$T/trace"
mkfifo "$T/in"
"$WEFT" record -o "$T/trace" -- "$P/p_slow" 0.5 0.5 <"$T/in" >"$T/out" \
	2>"$T/err" &
recorder=$!
exec 5>"$T/in"
await test -s "$T/out"
# LTTng makes the folder of its files when it first writes.
await sh -c 'ls "$0"/ctf/ust/uid/*/*/weft_*' "$T/trace" >"$T/ls" 2>&1
before=$SECONDS
mv "$T/trace" "$T/away" && rm -rf "$T/away"
exec 5>&-
wait $recorder
[ $? = 9 ] || fail "removed: status"
[ $((SECONDS - before)) -lt 100 ] || fail "removed: it hung"
grep -qx 'calls 100000 tick' "$T/out" || fail "removed: the program"
grep -qE 'chunks reached the disk|spill.weft was removed' "$T/err" ||
	fail "removed: nobody is told"
grep -qx 'weft: no records of those that were made, 0 bytes on disk' "$T/err" ||
	fail "removed: records are said to be there"
grep -q '^weft: lost: [0-9]* chunks with 10[0-9]* records' "$T/err" ||
	fail "removed: no word of what was lost"
grep '^weft: next:' "$T/err" && fail "removed: nothing is there to report"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || exit 0
mkdir "$T/ro"
export P T WEFT
unshare -m --propagation private sh -c 'mount -t tmpfs -o ro tmpfs "$T/ro" &&
	"$WEFT" record -o "$T/ro/t" -- "$P/p_slow" 1' >"$T/out" 2>"$T/err"
[ $? = 2 ] || fail "read-only: status"
[ ! -s "$T/out" ] || fail "read-only: the program was started"
grep -q 'Read-only file system' "$T/err" || fail "read-only: not told"
exit 0
