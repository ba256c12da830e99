#!/bin/bash
# weft check of damaged traces: each kind of damage with its place, the file and
# the byte, the stream, the index, the metadata, the thread; what left all chunks
# whole is a note. Of a trace of packed chunks, and of one of format version 1.
# each: 0 1
# SPDX-License-Identifier: MIT
. tests/cli/same.inc
make_trace made threads=2 chunks=10 records=120 cpus=1 coroutines=1 \
	spill_from=7 packed="$1"
magic=WEFTCHNK
[ "$1" = 0 ] || magic="WEFT2 "
ctf=ctf/ust/uid/0/64-bit

# damage: a fresh copy in $T/d; its commands are run there.
damage() {
	rm -rf "$T/d"
	cp -r "$T/made" "$T/d"
	(cd "$T/d" && eval "$1") || fail "cannot: $1"
}
# says STATUS LINE...: weft check's status, and lines that it prints.
says() {
	local wanted=$1 status=0
	"$W" check "$T/d" >"$T/o" 2>"$T/e" || status=$?
	[ $status = "$wanted" ] || fail "status $status: $(cat "$T/o" "$T/e")"
	shift
	for line in "$@"; do
		grep -qxF "$line" "$T/o" || fail "no \"$line\" in: $(cat "$T/o")"
	done
}
# chunk FILE N: where its Nth chunk begins.
chunk() {
	grep -abo "$magic" "$T/made/$1" | sed -n "$2s/:.*//p"
}
put() {
	printf '\377\376' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

damage true
says 0
grep -q '^whole: 2,132 records in 20 chunks' "$T/o" || fail "not whole"
grep -q '^\(lost\|damaged\|missing\|in thread\)' "$T/o" && fail "$(cat "$T/o")"

# Each chunk of stream and spill file, somewhere in it.
for file in $ctf/weft_0 spill.weft; do
	count=$(grep -abo "$magic" "$T/made/$file" | wc -l)
	for n in $(seq 2 $((count - 1))); do
		at=$(chunk $file "$n")
		damage "put $file $((at + 200 + 90 * n % 400))"
		says 2 "damaged in $file: the chunk at byte $at"
		[ "$(grep -c '^damaged' "$T/o")" = 1 ] ||
			fail "$file, chunk $n: $(cat "$T/o")"
		# Only behind a thread's last chunk no number is missing.
		grep -q -e '^in thread 100[12] weft of process 1000: 1 chunks' \
			-e '^lost: .* written by the recorder, but not here' \
			"$T/o" || fail "$file, chunk $n: no thread"
	done
	at=$(chunk $file 5)
	damage "truncate -s $((at + 300)) $file"
	says 2 "damaged in $file: the chunk at byte $at"
	damage "truncate -s $((at + 20)) $file"
	says 2 "damaged in $file: the chunk at byte $at"
done

# Several, each with its place; the threads with how many they lack.
damage "for n in 3 5 6; do put $ctf/weft_0 \$((\$(chunk $ctf/weft_0 \$n) + 300))
	done"
says 2 "damaged in $ctf/weft_0: the chunk at byte $(chunk $ctf/weft_0 3)" \
	"damaged in $ctf/weft_0: the chunk at byte $(chunk $ctf/weft_0 5)" \
	"damaged in $ctf/weft_0: the chunk at byte $(chunk $ctf/weft_0 6)" \
	"lost: 3 chunks damaged and not used"

# Around the chunks: they are found all the same. babeltrace2 2.1 opens the first,
# and aborts at the last.
ctf_is="note: the CTF trace is damaged:"
damage "put $ctf/weft_0 0"
says 0
grep -q '^whole: 2,132 records in 20 chunks' "$T/o" || fail "not whole"
damage "put $ctf/index/weft_0.idx 30"
says 0
damage "put $ctf/metadata 900"
says 0 "$ctf_is babeltrace2 cannot open it"
damage ": >$ctf/metadata"
says 0
grep -q -e "^$ctf_is babeltrace2 cannot open it" \
	-e '^note: babeltrace2 crashed' "$T/o" || fail "$(cat "$T/o")"
damage "rm -r $ctf/index"
says 0

# Files that are gone: what is missing of whom.
damage "rm $ctf/weft_0"
says 2 "lost: 14 chunks missing: their numbers never came" \
	"lost: 1,494 records written by the recorder, but not here" \
	"missing in thread 1001 weft of process 1000: 7 chunks before +0"
damage "rm spill.weft"
says 2 "lost: the recorder ended before the recording did: what it had \
not written is missing, see weft recover"
exit 0
