#!/bin/bash
# weft validate: of a program whose calls are long, recorded times agree with
# samples of the program that is not recorded, in a thread of its own, too.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/work.c" <<'C'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
static volatile uint64_t sink = 3;
#define WORK(name, part) \
	__attribute__((noinline)) void name(int n) \
	{ \
		uint64_t x = sink; \
		for (int i = 0; i < part * n; i++) \
			x = x * 7 % 13 + sink; \
		sink = x; \
	}
WORK(half, 16) WORK(quarter, 8) WORK(eighth, 4) WORK(least, 1)
void *work(void *unused)
{
	for (int i = 0; i < 1500; i++) {
		half(2000);
		quarter(2000);
		eighth(2000);
		least(2000);
	}
	return unused;
}
int main(void)
{
	pthread_t t;

	puts("of the program");
	pthread_create(&t, NULL, work, NULL);
	work(NULL);
	pthread_join(t, NULL);
	return 0;
}
C
gcc -O1 -g -finstrument-functions -o "$T/work" "$T/work.c" -lpthread ||
	fail "no program"
"$WEFT" validate -o "$T/kept" --csv -- "$T/work" >"$T/csv" 2>"$T/err" || {
	grep -q 'takes no samples, or too few' "$T/err" || fail "it fails"
	echo "the kernel takes no samples here"
	exit 77
}
[ "$(grep -c '^of the program$' "$T/err")" = 3 ] || fail "not three runs"
for run in recorded one other; do
	[ -d "$T/kept/$run" ] || fail "no trace of the run \"$run\""
done
# Name, then the shares unrecorded, net and raw; work is little.
awk -F, '
BEGIN { part["half"] = 55.2; part["quarter"] = 27.6; part["eighth"] = 13.8
	part["least"] = 3.4; part["work"] = part["main"] = 0 }
NR > 1 {
	seen++
	for (i = 6; i <= 8; i++) {
		off = $i - part[$1]
		if (!($1 in part) || off > 8 || off < -8)
			bad = 1
	}
}
END { exit bad || seen != 6 }' "$T/csv" || fail "shares: $(cat "$T/csv")"
awk '/^(raw|net) self/ { seen++
	if ($6 + 0 < 0.5 || $7 + 0 > 15) { print; bad = 1 } }
END { exit bad || seen != 2 }' "$T/err" || fail "agreement: $(cat "$T/err")"
sed -n 's/^\(... self\) */note: validate: \1: /p' "$T/err"
ls "$T" >"$T/before"
TMPDIR=$T "$WEFT" validate -- /bin/false >"$T/out" 2>"$T/err" && fail "no word"
ls "$T" | diff - "$T/before" >/dev/null || ls "$T" | grep -q weft-validate &&
	fail "a folder is left"
exit 0
