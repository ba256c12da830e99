#!/bin/bash
# A program that makes so many calls in a second of its CPU time that a budget
# counts some of its functions. It knows how often each caller calls each
# function: all calls are there, and samples tell their times.
# SPDX-License-Identifier: MIT
. tests/lib.sh

cat >"$T/main.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define SILENT __attribute__((no_instrument_function))
static volatile unsigned long sum;
static unsigned long n[4][2];

void f0(int by) { n[0][by]++; sum = sum + 1; }
void f1(int by) { n[1][by]++; sum = sum + 2; }
void f2(int by) { n[2][by]++; sum = sum + 3; }
void f3(int by) { n[3][by]++; sum = sum + 4; }
void left(unsigned calls)
{
	for (unsigned i = 0; i < calls; i++)
		f0(0), f1(0), f2(0), f3(0);
}
void right(unsigned calls)
{
	for (unsigned i = 0; i < calls; i++)
		f3(1), f2(1), f1(1), f0(1);
}
SILENT static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
/* Seven million calls in a second of CPU time. */
int main(int argc, char **argv)
{
	const double seconds = atof(argv[1]);

	for (double next = cpu(); next < seconds; next += 0.004) {
		left(4000);
		right(3000);
		while (cpu() < next + 0.004)
			;
	}
	for (int f = 0; f < 4; f++)
		printf("f%d left %lu\nf%d right %lu\n", f, n[f][0], f,
		       n[f][1]);
	return argc - 2;
}
C
gcc -g -O1 -fno-inline -finstrument-functions -o "$T/prog" "$T/main.c" ||
	fail "no program"

record --budget 1% -- "$T/prog" 2 || fail "weft record fails"
"$WEFT" info "$T/trace" >"$T/info" || fail "weft info fails"
sed -n '/^counted /,/^modules /s/^  \(f.\)$/\1/p' "$T/info" >"$T/counted"
[ -s "$T/counted" ] || fail "no function is counted: $(cat "$T/info")"
"$WEFT" check "$T/trace" >"$T/check" || fail "$(cat "$T/check")"
report --top 0
nothing_lost
while read -r f; do
	"$WEFT" callers --csv "$f" "$T/trace" 2>"$T/said" |
		sed -nE "s/^caller,$f,([^,]*,){4}([a-z]+),([^,]*,){4}([0-9]+),.*/$f \2 \4/p" |
		sort >"$T/found"
	grep "^$f " "$T/out" | sort >"$T/own"
	cmp -s "$T/own" "$T/found" ||
		fail "$f is counted: $(cat "$T/found"), of $(cat "$T/own")"
done <"$T/counted"
"$WEFT" report "$T/trace" >"$T/said"
! grep -q 'probes took' "$T/said" ||
	grep -qE 'at times only counted \(.*f[0-3].*self comes from samples' \
		"$T/said" || fail "reports do not tell: $(cat "$T/said")"
exit 0
