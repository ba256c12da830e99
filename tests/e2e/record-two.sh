#!/bin/bash
# Two recordings of one user at one time share LTTng's daemon, not their
# chunks, and the last one stops the daemon that one of them started.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
as_user "$WEFT" record -q -o "$HOME/a" -- "$P/p_slow" 1 >"$T/a" &
as_user "$WEFT" record -q -o "$HOME/b" -- "$P/p_slow" 2 >"$T/b"
[ $? = 9 ] || fail "b"
wait $!
[ $? = 9 ] || fail "a"
for t in a b; do
	rm -rf "$T/trace"
	cp -r "$HOME/$t" "$T/trace"
	cp "$T/$t" "$T/out"
	[ ! -e "$T/trace/spill.weft" ] || fail "$t: LTTng was not used"
	report
	nothing_lost
	want=$(sed -n 's/^calls \(.*\) tick/\1/p' "$T/$t")
	[ "$(calls tick)" = "$want" ] || fail "$t: $(calls tick), not $want"
done
for i in $(seq 100); do
	[ -z "$(consumers)" ] && break
	sleep 0.1
done
[ -z "$(consumers)" ] || fail "the daemon is still there"
exit 0
