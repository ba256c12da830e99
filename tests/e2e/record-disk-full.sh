#!/bin/bash
# The disk is full: weft record ends soon and says so, the program is not held
# up, and what fitted is read; also where the trace is in pieces.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || {
	echo "needs leave to mount"
	exit 77
}
mkdir "$HOME/disk"
export P WEFT T HOME

# full TOLD OPTION...: weft record says "no longer" of LTTng, or what TOLD is.
full() {
	local before=$SECONDS status told=$1
	shift
	rm -rf "$T/trace"
	# shellcheck disable=SC2016
	unshare -m --propagation private sh -c '
	mount -t tmpfs -o size=3m,mode=777 tmpfs "$HOME/disk" || exit 99
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WEFT" record "$@" \
		-o "$HOME/disk/t" -- "$P/p_flood" 8 >"$T/out" 2>"$T/err"
	status=$?
	cp -r "$HOME/disk/t" "$T/trace"
	exit $status' - "$@"
	status=$?
	[ $status = 0 ] || fail "status $status"
	[ $((SECONDS - before)) -lt 100 ] || fail "it hung"
	grep -q "$told" "$T/err" || fail "nobody is told: $told"
	grep -q 'No space left' "$T/err" || fail "nobody is told of the disk"
	grep -q '^weft: lost' "$T/err" || fail "no word of what was lost"
	report
	grep -qx '# nothing was lost' "$T/report.err" &&
		fail "the report says that nothing was lost"
	each_record
	[ "$(calls drop)" -gt 10000 ] || fail "what fitted is not read"
}

# What the program made was recorded or counted as lost (a call takes a record,
# or two where a chunk ends in its midst); what was recorded is in the trace or
# said to be missing, to the record: by weft record, and by the report.
each_record() {
	local made=8000002 there recorded dropped all missing kept
	there=$(sed -n 's/^weft: \([0-9]*\) of [0-9]* records,.*/\1/p' "$T/err")
	recorded=$(sed -n 's/^weft: [0-9]* of \([0-9]*\) records,.*/\1/p' "$T/err")
	dropped=$(sed -n 's/^weft: lost: \([0-9]*\) records (no free.*/\1/p' \
		"$T/err")
	all=$((recorded + ${dropped:-0}))
	[ $all -ge $made ] && [ $all -le $((made + 2500)) ] ||
		fail "$recorded records and ${dropped:-0} dropped are not $made"
	missing=$(sed -n \
		's/^# lost: \([0-9,]*\) records* written by the recorder, but not.*/\1/p' \
		"$T/report.err" | tr -d ,)
	kept=$("$WEFT" info "$T/trace" 2>/dev/null |
		sed -n 's/^data *\([0-9,]*\) records.*/\1/p' | tr -d ,)
	[ $((kept + ${missing:-0})) = "$recorded" ] ||
		fail "$kept records read, ${missing:-0} missing are not $recorded"
	[ "$kept" = "$there" ] || fail "$kept records read, not $there"
}
full 'LTTng is no longer used'
full 'chunks are being lost' --max-size 1M
exit 0
