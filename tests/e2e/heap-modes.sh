#!/bin/bash
# What is taken is the same however the program is recorded otherwise: with calls
# left out, counted or cut off, in pieces, by a budget; a snapshot of a flight
# recorder has it; where recording is off or records are lost, that is said. Also
# with 10,000 threads.
# SPDX-License-Identifier: MIT
. tests/lib.sh

# all [TRACE]: what was taken, in bytes and blocks.
all() {
	"$WEFT" heap --csv "${1-$T/trace}" 2>"$T/report.err" |
		awk -F, 'NR > 1 { b += $5; n += $6 } END { print b + 0, n + 0 }'
}
program=("$P/p_heap" 3 1 4000)
record --heap=exact -- "${program[@]}" || fail "weft record fails"
want=$(all)
[ "${want#* }" -gt 5000 ] || fail "only $want"
# same OPTIONS: the same is taken, and nothing is missing.
same() {
	record --heap=exact "$@" -- "${program[@]}" || fail "$*: weft record fails"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$*: something was lost"
	[ "$(all)" = "$want" ] || fail "$*: $(all), not $want"
	grep -E 'unseen|seen to take' "$T/report.err" && fail "$*: unknown"
	"$WEFT" check "$T/trace" >"$T/o" 2>&1 || fail "$*: $(cat "$T/o")"
}
same --lua sampled
same --count-only
same --budget 5%
same --min-duration 1us
same --max-depth 2
same --skip '*'
same --only path_a
same --count 'by_*'
same --no-native
same --waits
same --max-size 1M
same --lua sampled --budget 5% --waits
same --lua sampled --skip '*' --max-size 1M

# By samples, about the same.
known=${want% *}
for options in "--lua sampled --budget 5%" "--skip * --waits" "--max-size 1M"; do
	set -f
	# shellcheck disable=SC2086
	record --heap=4k $options -- "${program[@]}" || fail "weft record fails"
	set +f
	"$WEFT" heap --csv "$T/trace" 2>/dev/null | awk -F, -v known="$known" '
		NR > 1 { b += $5; v += $11 ^ 2 }
		END { off = b - known; exit !(v > 0 && off * off < 25 * v) }' ||
		fail "by samples, $options: $(all), not $want"
done

# With pauses, only what is taken meanwhile is missing.
record --heap=exact --duty 50ms/100ms -- "${program[@]}" || fail "weft record fails"
awk -v w="$want" -v g="$(all)" 'BEGIN { split(w, a); split(g, b)
	exit !(b[1] > 0 && b[1] <= a[1] && b[2] <= a[2]) }' ||
	fail "--duty: $(all), of $want"
grep -q 'off at times (--duty)' "$T/report.err" || fail "pauses are not said"

record --heap=exact --paused -- "${program[@]}" || fail "weft record fails"
[ "$(all)" = "0 0" ] || fail "paused: $(all)"
record --heap=exact --on-full drop --pool-size 1M --sample-rate 0 -- \
	"$P/p_heap" 3 8 20000 || fail "weft record fails"
if ! grep -qx 'weft: lost: 0' "$T/err"; then
	all >"$T/o"
	grep -q '^# lost' "$T/report.err" || fail "the loss is not said"
fi
record --heap=exact --flight-recorder 64M --name "heap$$" -- sh -c \
	"${program[*]}; $WEFT snapshot heap$$; sleep 1" || fail "weft record fails"
snapshot=$(ls -d "$T"/trace/snapshot-* | head -n 1)
[ "$(all "$snapshot" | awk -v w="${want#* }" '{ print ($2 >= w) }')" = 1 ] ||
	fail "in the snapshot: $(all "$snapshot"), not $want"

cat >"$T/crowd.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *block[10000];
static void *thread(void *arg)
{
	const long i = (long)arg;

	block[i] = malloc(1000);
	if (i > 0)
		free(block[i - 1]);
	return NULL;
}
int main(void)
{
	pthread_t t;

	for (long i = 0; i < 10000; i++) {
		pthread_create(&t, NULL, thread, (void *)i);
		pthread_join(t, NULL);
	}
	return 0;
}
END
gcc -O1 -finstrument-functions -o "$T/crowd" "$T/crowd.c" || fail "no compiler"
record --heap=exact -- "$T/crowd" || fail "weft record fails"
"$WEFT" heap --csv "$T/trace" 2>"$T/report.err" | awk -F, '$12 == "thread" {
	ok = $1 == 1000 && $2 == 1 && $5 == 10000000 && $6 == 10000 }
	END { exit !ok }' || fail "10,000 threads: $("$WEFT" heap "$T/trace")"
exit 0
