#!/bin/bash
# The session daemon sees another file system than weft record, which is in a
# private mount namespace: the trace lies where it should, and is whole.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || {
	echo "needs leave to mount"
	exit 77
}
as_user mkdir "$HOME/disk"
# The daemon is there before: it is not the recording's own.
(cd / && as_user lttng-sessiond --daemonize --no-kernel) ||
	fail "the daemon does not start"
export P WEFT T HOME
unshare -m --propagation private sh -c '
mount -t tmpfs -o mode=777 tmpfs "$HOME/disk" || exit 99
setpriv --reuid=65534 --regid=65534 --clear-groups \
	"$WEFT" record --on-full wait -o "$HOME/disk/t" -- "$P/p_flood" 2 \
	>"$T/out" 2>"$T/err"
status=$?
cp -r "$HOME/disk/t" "$T/trace"
exit $status'
status=$?
[ $status = 0 ] || fail "status $status"
grep -q 'does not write to' "$T/err" || fail "nobody is told"
grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
report
nothing_lost
[ "$(calls drop)" = 2000000 ] || fail "$(calls drop) calls"
exit 0
