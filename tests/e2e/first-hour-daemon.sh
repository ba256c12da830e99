#!/bin/bash
# The first hour: no session daemon is to be had. It is said, the spill file
# takes its place, and not a call is missing.
# SPDX-License-Identifier: MIT
. tests/lib.sh
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || {
	echo "needs leave to mount"
	exit 77
}
mkdir -p /run/lttng
export P T WEFT

# without WHAT PATTERN: where that command made LTTng impossible.
without() {
	rm -rf "$T/trace"
	unshare -m -p -f --mount-proc --propagation private sh -c '
	mount -t tmpfs tmpfs /run/lttng && eval "$1" || exit 99
	exec "$WEFT" record -o "$T/trace" -- "$P/p_slow" 0.3' - "$1" \
		>"$T/out" 2>"$T/err"
	[ $? = 9 ] || fail "$1: weft record fails"
	grep -qE "no LTTng session: .*$2" "$T/err" || fail "$1: no word of $2"
	[ -s "$T/trace/spill.weft" ] || fail "$1: no spill file"
	report
	nothing_lost
	same_calls
}
daemon=$(command -v lttng-sessiond)
without "mount --bind $P/p_nothing $daemon" '.'
without 'mount -o remount,ro /run/lttng' 'does not start'
cp /etc/hostname "$T/empty"
without "mount --bind $T/empty $daemon" 'no lttng-sessiond|does not start'
exit 0
