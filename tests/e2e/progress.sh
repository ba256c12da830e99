#!/bin/bash
# --progress shows on a terminal, in one line, how far the recording is: time,
# records, bytes, what was lost. The summary takes the line's place. Not in a
# pipe, nor with -q.
# SPDX-License-Identifier: MIT
. tests/lib.sh
run="$P/p_zones-gcc-O2 >$T/out"
tty() {
	rm -rf "$T/trace"
	script -qec "stty cols $1; $WEFT record -o $T/trace $2 -- sh -c '$run; $run; $run; $run'" \
		/dev/null </dev/null >"$T/screen" || fail "weft record fails"
}
shown() {
	tr '\r' '\n' <"$T/screen" | sed -n 's/^\x1b\[Kweft: \([1-9][0-9]* s, .*\)/\1/p'
}
tty 200 --progress
shown | grep -Eqx '[0-9]+ s, [1-9][0-9]* records, [0-9.]+ [kKMG]?B, lost: 0(, recording takes [0-9.]+% of a core)?(.\[K.*)?' ||
	fail "no progress: $(cat -v "$T/screen")"
grep -q $'\r\x1b\\[Kweft: recorded' "$T/screen" ||
	fail "the summary does not take its place: $(cat -v "$T/screen")"
tty 30 --progress
[ "$(shown | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 23 ] ||
	fail "too wide: $(cat -v "$T/screen")"
for none in '' '--progress -q'; do
	tty 200 "$none"
	[ -z "$(shown)" ] || fail "$none: $(cat -v "$T/screen")"
done
record --progress -- sh -c "$run" || fail "in a pipe"
! grep -q $'\x1b' "$T/err" || fail "in a pipe: $(cat -v "$T/err")"
