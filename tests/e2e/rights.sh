#!/bin/bash
# A program gives up its user, its root, its descriptors while it is recorded:
# it stays recorded, its children too, and what it becomes by exec is recorded
# as long as one way to the pool is left. With none, that is said.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
[ "$(id -u)" = 0 ] || {
	echo "needs root"
	exit 77
}
# A root to change to: the program, weft's library and what both need.
root=$T/root
for f in "$P/p_rights" "$B/lib/libweft.so" $(ldd "$P/p_rights" |
	grep -o '/[^ ]*'); do
	mkdir -p "$root/${f%/*}"
	cp -L "$f" "$root/$f"
done
mkdir -p "$root/dev"

# lives WHAT AGAIN: all before the exec is recorded, and AGAIN calls after it.
lives() {
	local what=$1 again=$2 status
	"$P/p_rights" "$what" "$root" "$P/p_rights" >"$T/plain"
	status=$?
	[ $status = 7 ] || fail "$what: status $status without weft"
	record "$P/p_rights" "$what" "$root" "$P/p_rights"
	status=$?
	[ $status = 7 ] || fail "$what: status $status"
	cmp "$T/out" "$T/plain" || fail "$what: another output"
	report
	nothing_lost
	same_calls
	[ "$(calls again)" = "$again" ] ||
		fail "$what: $(calls again) calls of again, not $again"
	grep -q 'not recorded' "$T/err" && said=1 || said=0
	[ $said = $((again == 0)) ] || fail "$what: $(cat "$T/err")"
}
lives setuid 44
lives chroot 44
lives closed 44
lives chroot,setuid 44
lives closed,setuid 0
lives closed,chroot 0
grep -q 'cannot reach the pool' "$T/err" || fail "no way out"
lives closed,chroot,setuid 0
exit 0
