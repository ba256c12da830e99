#!/bin/bash
# The guide's recipes for containers, with the namespaces that these are made
# of: a program in a mount and a PID namespace of its own, where /dev/shm has
# 64 MiB.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
{ [ "$(id -u)" = 0 ] && unshare --mount --pid --fork --mount-proc true; } || {
	echo "needs root, and the right to make namespaces"
	exit 77
}
LIB=$(realpath "$B/lib/libweft.so")
export XDG_RUNTIME_DIR=$T

# container: p_attach with the library, as process 1 of its container; pid is
# its number outside.
container() {
	begin unshare --mount --propagation private --pid --fork --mount-proc \
		--kill-child sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm
		LD_PRELOAD=$1 exec "$2" 2' sh "$LIB" "$P/p_attach"
	outer=$pid
	await pgrep -P "$outer" -x p_attach >/dev/null || fail "no program"
	pid=$(pgrep -P "$outer" -x p_attach)
}
is_mapped() { grep -q '/dev/shm/weft-' "/proc/$pid/maps"; }

# exact COMMAND...: it runs weft record, which attaches: it has each call between
# two marks.
exact() {
	rm -rf "$T/trace"
	"$@" >"$T/out" 2>"$T/err" 8>&- 9<&- &
	local recorder=$!
	ask on
	await is_mapped || fail "it does not join: $(cat "$T/err")"
	ask on
	ask "round 1000"
	nsenter --target "$pid" --mount --root --pid "$WEFT" \
		finish p_attach >"$T/said" ||
		fail "weft finish fails"
	wait $recorder || fail "weft record fails: $?"
	right_calls 2000 "$*"
}

# In the container, as docker exec does it. --root: these tests may run in a chroot,
# which is left with the mount namespace.
container
exact nsenter --target "$pid" --mount --root --pid "$WEFT" record --max-size 64M -o "$T/trace" -p 1

# Beside it with a shared PID namespace: as a sidecar, which enters what the
# program sees. It has another control group, and as rights SYS_PTRACE alone
# once it is in there.
exact nsenter --target "$pid" --pid sh -c '
	exec nsenter --target "$1" --mount --root setpriv --bounding-set -all,+sys_ptrace \
		--inh-caps -all,+sys_ptrace "$2" record --max-size 64M -o "$3" -p 1' \
	sh "$pid" "$WEFT" "$T/trace"

# Without entering it, or without the PID namespace, it is refused and says why.
nsenter --target "$pid" --pid unshare --mount-proc \
	"$WEFT" record -o "$T/none" -p 1 2>"$T/err" && fail "it attaches"
grep -q 'or sees other files (a container' "$T/err" || fail "$(cat "$T/err")"
"$WEFT" record -o "$T/none" -p "$pid" 2>"$T/err" && fail "it attaches"
grep -q 'in another PID namespace, or sees' "$T/err" ||
	fail "$(cat "$T/err")"
pid=$outer
end
exit 0
