#!/bin/bash
# Damaged traces through the command: all that stands in them whole is
# reported, what is wrong is said, and an undamaged one needs no carver. Of a
# trace of packed chunks, and of one of format version 1.
# each: 0 3
# harms
# SPDX-License-Identifier: MIT
. tests/lib.sh
"$B/tests/prog/p_write_trace" "$T/made" threads=3 chunks=20 records=300 \
	cpus=2 coroutines=1 packed="$1" >"$T/truth" || fail "no trace was written"
true_calls=$(awk '{ n += $2 } END { print n }' "$T/truth")
ctf=trace/ctf/ust/uid/0/64-bit

# all_calls WHAT: the report of $T/trace gives all calls; stderr is kept.
all_calls() {
	timeout 300 "$WEFT" report --csv "$T/trace" >"$T/report.csv" \
		2>"$T/report.err" || fail "$1: weft report fails"
	local n
	n=$(awk 'NR > 1 { n += $2 } END { print n + 0 }' \
		FS=',[a-z]*,[^,]*,[^,]*,[0-9]*,' "$T/report.csv")
	[ "$n" = "$true_calls" ] || fail "$1: $n calls, not $true_calls"
}
fresh() {
	rm -rf "$T/trace"
	cp -r "$T/made" "$T/trace"
}

fresh
all_calls whole
nothing_lost
"$WEFT" info "$T/trace" >"$T/info" || fail "weft info fails"
grep -q babeltrace2 "$T/info" || fail "info names no reader"
grep -q carver "$T/info" && fail "an undamaged trace is carved"

fresh
truncate -s -1 "$T/$ctf/weft_0"
all_calls "a stream cut by a byte"
grep -q 'CTF trace is damaged' "$T/report.err" || fail "does not say so"

fresh
: >"$T/$ctf/metadata"
all_calls "empty metadata"
grep -q 'CTF trace is damaged' "$T/report.err" || fail "does not say so"

fresh
truncate -s 1000 "$T/$ctf/metadata"
all_calls "metadata cut short"

fresh
rm "$T/$ctf/metadata"
all_calls "no metadata"

# LTTng discarded all of it: so it is said, where it is all that there is, too.
rm -rf "$T/trace"
"$B/tests/prog/p_write_trace" "$T/trace" spill_from=0 discarded=7 packed="$1" \
	>"$T/discarded" || fail "no trace was written"
"$WEFT" info "$T/trace" >"$T/info" || fail "weft info fails"
grep -q 'events that LTTng discarded: 2 or more' "$T/info" ||
	fail "what LTTng discarded is not said: $(cat "$T/info")"
rm "$T/trace/spill.weft"
"$WEFT" info "$T/trace" >"$T/info" 2>&1 && fail "an empty trace is read"
grep -q 'events that LTTng discarded: 2 or more' "$T/info" ||
	fail "what LTTng discarded is not said: $(cat "$T/info")"

fresh
rm -r "$T/$ctf/index"
all_calls "no index"
nothing_lost

# A trace that was moved, renamed and lies deep in another folder.
fresh
mkdir -p "$T/else/where"
mv "$T/trace" "$T/else/where/renamed"
ln -s "$T/else" "$T/trace"
all_calls "a link to a folder above it"

# A chunk that is gone is missed: the words of one, overwritten.
fresh
dd if=/dev/zero of="$T/$ctf/weft_1" bs=1 seek=5000 count=64 conv=notrunc \
	2>/dev/null
timeout 300 "$WEFT" report --csv "$T/trace" >"$T/report.csv" \
	2>"$T/report.err" || fail "overwritten: weft report fails"
grep -q 'nothing was lost' "$T/report.err" &&
	fail "overwritten: nothing is said to be lost"

# The last chunk of a thread leaves no hole: the recorder counted its records.
rm -rf "$T/trace"
"$B/tests/prog/p_write_trace" "$T/trace" threads=1 chunks=9 spill_from=4 \
	packed="$1" \
	>"$T/truth"
true_calls=$(awk '{ n += $2 } END { print n }' "$T/truth")
all_calls "a spill file"
nothing_lost
magic=WEFTCHNK
[ "$1" = 0 ] || magic="WEFT2 "
at=$(grep -abo "$magic" "$T/trace/spill.weft" | tail -n 2 | head -n 1)
dd if=/dev/zero of="$T/trace/spill.weft" bs=1 seek="${at%%:*}" count=8 \
	conv=notrunc 2>/dev/null
timeout 300 "$WEFT" report --csv "$T/trace" >"$T/report.csv" \
	2>"$T/report.err" || fail "no last chunk: weft report fails"
grep -q 'written by the recorder, but not here' "$T/report.err" ||
	fail "no last chunk: it is not missed: $(cat "$T/report.err")"
exit 0
