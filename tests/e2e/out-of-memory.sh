#!/bin/bash
# A control group limits memory, as in a container, and the kernel kills the
# program for want of it: what it called is there, and weft record ends as ever.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
limit=$((256 << 20))
for file in memory/weft-test-$$/memory.limit_in_bytes \
	weft-test-$$/memory.max; do
	group=/sys/fs/cgroup/${file%/*}
	mkdir "$group" 2>/dev/null || continue
	echo $limit 2>/dev/null >"$group/${file##*/}" && break
	rmdir "$group"
done
[ -d "$group" ] || {
	echo "needs leave to limit a control group's memory"
	exit 77
}
trap 'clean_up; await rmdir "$group" 2>/dev/null' EXIT
# Swap would make it slow.
echo $limit 2>/dev/null >"$group/memory.memsw.limit_in_bytes"
echo 0 2>/dev/null >"$group/memory.swap.max"

(
	echo "$BASHPID" >"$group/cgroup.procs" || exit 99
	as_user "$WEFT" record -o "$HOME/trace" -- "$P/p_exit" memory \
		>"$T/out" 2>"$T/err"
)
status=$?
[ $status = 137 ] || fail "status $status: $(cat "$T/err")"
cp -r "$HOME/trace" "$T/trace"
report
nothing_lost
[ "$(calls leaf)" = 1000 ] || fail "$(calls leaf) calls of leaf, not 1000"
[ "$(calls outer)" = 1 ] || fail "outer is missing"
bytes=$("$WEFT" info "$T/trace" | sed -n 's/^pool.bytes *//p')
[ "$bytes" -le $((limit / 4)) ] || fail "its pool has $bytes bytes"
