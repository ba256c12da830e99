#!/bin/bash
# The flight recorder: a pool that is too small keeps the latest chunks, and how
# many it gave up for them is said by weft record and by the report.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# without_recorder COMMAND...: it runs while the recorder is stopped.
without_recorder() {
	"$WEFT" record --pool-size 2M --on-full overwrite -o "$T/trace" -- \
		sh -c 'r=$(pgrep -P $PPID -x weft-record)
		kill -STOP $r; "$0" "$@"; kill -CONT $r' "$@" >"$T/out" \
		2>"$T/err"
}
without_recorder "$P/p_flood" 3 || fail "weft record fails"
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
# Of a thread that calls one function and then another, the latest calls are
# there, and of the first function's the last chunks.
cat >"$T/late.c" <<'C'
void early(void) { __asm__ volatile(""); }
void late(void) { __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 3000000; i++)
		early();
	for (int i = 0; i < 50000; i++)
		late();
}
C
gcc -g -O1 -finstrument-functions -o "$T/late" "$T/late.c" || fail "no program"
rm -r "$T/trace"
without_recorder "$T/late" || fail "weft record fails"
report
[ "$(calls late) $(calls main)" = "50000 1" ] || fail "late: $(calls late)"
[ "$(calls early)" -gt 50000 ] && [ "$(calls early)" -lt 2900000 ] ||
	fail "early: $(calls early)"

# What has room is all there.
"$WEFT" record --on-full overwrite -o "$T/all" -- "$P/p_flood" 1 \
	>"$T/out" 2>"$T/err" || fail "weft record fails"
grep -qx 'weft: lost: 0' "$T/err" || fail "something was overwritten"
exit 0
