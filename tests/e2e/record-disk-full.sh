#!/bin/bash
# The disk is full: weft record ends soon and says so, the program is not held
# up, and what fitted is read.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || {
	echo "needs leave to mount"
	exit 77
}
mkdir "$T/disk"
before=$SECONDS
export P WEFT T HOME
unshare -m --propagation private sh -c '
mount -t tmpfs -o size=3m,mode=777 tmpfs "$T/disk" || exit 99
setpriv --reuid=65534 --regid=65534 --clear-groups \
	"$WEFT" record -o "$T/disk/t" -- "$P/p_flood" 8 >"$T/out" 2>"$T/err"
status=$?
cp -r "$T/disk/t" "$T/trace"
exit $status'
status=$?
[ $status = 0 ] || fail "status $status"
[ $((SECONDS - before)) -lt 30 ] || fail "it hung"
grep -q 'LTTng is given up' "$T/err" || fail "nobody is told of LTTng"
grep -q 'No space left' "$T/err" || fail "nobody is told of the disk"
grep -q '^weft: lost' "$T/err" || fail "no word of what was lost"
report
grep -qx '# nothing was lost' "$T/report.err" &&
	fail "the report says that nothing was lost"
exit 0
