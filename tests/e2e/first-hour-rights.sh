#!/bin/bash
# The first hour: the loader drops preloads for set-user-id programs and for
# those with file capabilities; weft record says so, as root and as a user.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
[ "$(id -u)" = 0 ] || {
	echo "needs root"
	exit 77
}
says() {
	local what=$1
	shift
	rm -rf "$HOME/trace"
	"$@" >"$T/out" 2>"$T/err"
	[ $? = 4 ] || fail "$what: status"
	grep -q 'set-user-id or has file capabilities.*a copy' "$T/err" ||
		fail "$what: nobody is told"
	grep -q 'nothing was recorded' "$T/err" || fail "$what: nothing"
}
install -m 755 "$P/p_exit" "$HOME/plain"
install -m 4755 "$P/p_exit" "$HOME/roots"
install -m 4755 -o 65534 "$P/p_exit" "$HOME/nobodys"
says "root, a user's" "$WEFT" record -o "$HOME/trace" -- "$HOME/nobodys" exit
says "a user, root's" as_user "$WEFT" record -o "$HOME/trace" -- \
	"$HOME/roots" exit
if setcap cap_net_raw+ep "$HOME/plain" 2>/dev/null; then
	says capabilities as_user "$WEFT" record -o "$HOME/trace" -- \
		"$HOME/plain" exit
fi
# Whose bit gives nothing is recorded.
rm -rf "$HOME/trace"
"$WEFT" record -o "$HOME/trace" -- "$HOME/roots" exit >"$T/out" 2>"$T/err"
grep -q '1[0-9]* records' "$T/err" || fail "root, root's own: not recorded"
# A child that has the bit: it is that one that is named.
rm -rf "$HOME/trace"
install -m 4755 "$P/p_slow" "$HOME/slow"
as_user "$WEFT" record -o "$HOME/trace" -- sh -c '"$0" exit; (exec "$1" 1.5)' \
	"$P/p_exit" "$HOME/slow" >"$T/out" 2>"$T/err"
[ $? = 9 ] || fail "a child: status"
grep -q 'slow", which is not recorded' "$T/err" ||
	fail "a child: not named"
exit 0
