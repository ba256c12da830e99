#!/bin/bash
# Waits and memory of a program that runs already, and was started without weft:
# with hooks and without, as many waits and blocks as it counts itself, of which
# each is led back afterwards; and it does what it does without weft.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
. tests/e2e/waits.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }
grep -q libweft <(ldd "$P/p_heap" "$P/p_waits") && fail "they have weft"

# Waits, by the program's own clock, and who let them go on.
as_planted() {
	record_late --waits -- "$1" || fail "$1: status $?"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$1: something was lost"
	waits_as_counted
}
gcc -O1 -w -D_GNU_SOURCE -o "$T/plain" tests/prog/p_waits.c -pthread ||
	fail "no compiler"
for program in "$P/p_waits" "$T/plain"; do
	one_of 5 as_planted "$program"
done
grep -q ',convoy,in_convoy+0x' "$T/locks" || fail "no caller without hooks"
"$P/p_waits_same" >"$T/alone" || fail "it fails by itself"
record_late --waits --heap -- "$P/p_waits_same" || fail "status $?"
diff "$T/alone" "$T/out" || fail "other results"

# Memory, to the byte.
as_counted() {
	record_late "$1" -- "$P/p_heap" 5 4 3000 || fail "$1: status $?"
	"$WEFT" heap --csv --process "$pid" "$T/trace" >"$T/heap" \
		2>"$T/report.err" || fail "weft heap"
	grep "^heap $pid " "$T/out" | awk '{ b += $5; n += $6; k += $7; a += $4 }
		END { print b, n, k, a }' >"$T/want"
	awk -F, 'index($0, "path_") && index($0, "by_") {
		b += $5; n += $2; k += $1; a += $6
		} END { print b, n, k, a }' "$T/heap" >"$T/got"
}
as_counted --heap=exact
grep -qx 'weft: lost: 0' "$T/err" || fail "something was lost"
diff "$T/want" "$T/got" || fail "other memory than it counts"
as_counted --heap=2k
paste "$T/want" "$T/got" | awk '{ exit !($5 > 0.9 * $1 && $5 < 1.1 * $1) }' ||
	fail "sampled: $(cat "$T/want" "$T/got")"

# Again and again; without it meanwhile, its calls are its own.
begin "$P/p_attach" 4
ask off
for options in --waits --heap=exact "--waits --heap=4k" "" --heap=2k; do
	# shellcheck disable=SC2086
	attach $options
	ask "round 500"
	detach
	right_calls 2000 "$options"
	ask off
	await leads_nowhere || fail "$options: words of it lead to libweft.so"
done
end

# Memory of each of several recordings is what was taken meanwhile, in its own way,
# though the program calls nothing between two of them.
cat >"$T/takes.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static char *take(size_t n) { return malloc(n); }
int main(void)
{
	char line[64], *kept = NULL;

	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "take", 4) == 0) {
			free(kept);
			for (int i = 0; i < 99; i++)
				free(take(1000));
			kept = take(1000);
		}
		fputs(line, stdout);
		fflush(stdout);
	}
	puts("right");
	return kept == NULL;
}
END
gcc -O1 -finstrument-functions -o "$T/takes" "$T/takes.c" || fail "no compiler"
begin "$T/takes"
ask off
for mean in exact 2k exact exact; do
	attach --heap=$mean
	"$WEFT" start "$pid" >"$T/o" 2>&1 || fail "weft start: $(cat "$T/o")"
	ask take
	ask take
	detach
	# Of a block that an earlier recording saw taken, only the end is seen here.
	"$WEFT" heap --csv "$T/trace" 2>"$T/report.err" |
		tail -n +2 | grep take >"$T/heap" ||
		fail "$mean: take has no memory"
	[ $mean = 2k ] || [ "$(cut -d, -f1,5,6 "$T/heap")" = 1000,200000,200 ] ||
		fail "$mean: $(cat "$T/heap")"
	[ $mean != 2k ] || awk -F, '{ off = $5 - 200000
		exit !(off * off < 25 * $11 * $11) }' "$T/heap" || fail "$(cat "$T/heap")"
done
end

# Without hooks and Lua there is nothing else to record.
sleep 60 &
pid=$!
"$WEFT" record -o "$T/no" -p $pid 2>"$T/o" && fail "sleep was recorded"
kill $pid
begin env LD_PRELOAD="$B/lib/libweft.so" "$P/p_attach" 1
ask off
"$WEFT" record -o "$T/no" --waits -p "$pid" 2>"$T/o" && fail "it has weft"
grep -q 'needs* a program without it' "$T/o" || fail "not said: $(cat "$T/o")"
end
exit 0
