#!/bin/bash
# weft record --compress, each way: the counts are the program's own, chunks are
# packed as was asked for, what is compressed is smaller, and babeltrace2 prints
# it without a control character.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# way WAY WORDS: WORDS are those of weft info.
way() {
	record --compress "$1" -- "$P/p_flat_out" 4 200000 || fail "$1"
	report
	nothing_lost
	same_calls
	"$WEFT" info "$T/trace" >"$T/info" || fail "$1: weft info"
	grep -q "^packing .* chunks $2" "$T/info" ||
		fail "$1: $(grep '^packing' "$T/info")"
	size=$(du -sb "$T/trace" | cut -f 1)
	[ "$(babeltrace2 "$T/trace" | tr -d '\n' | tr -d '\040-\377' |
		wc -c)" = 0 ] || fail "$1: control characters"
	babeltrace2 "$T/trace" | grep -q 'weft:chunk.*data = "WEFT2 ' ||
		fail "$1: no packed chunk"
}
way none "not compressed"
plain=$size
[ "$(grep -c ';' <(grep '^packing' "$T/info"))" = 0 ] || fail "none: compressed"
way fast "with LZ4"
fast=$size
way small "with zstd"
small=$size
way auto "with LZ4"
echo "note: $plain bytes plain, $fast fast, $small small, $size auto"
[ $((2 * fast)) -lt "$plain" ] || fail "fast: $fast bytes of $plain"
[ "$small" -lt "$fast" ] || fail "small: $small bytes of $fast"
exit 0
