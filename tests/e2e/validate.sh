#!/bin/bash
# weft validate: of a program whose calls are long, recorded times agree with
# samples of the program that is not recorded, in a thread of its own, too; so do
# those with a reference, of the program or of its build without the flag. A
# function that is slower by a known time is found to be slower by that.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/work.c" <<'C'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include "tracer/host/weft.h"
static volatile uint64_t sink = 3;
#define WORK(name, part) \
	__attribute__((noinline)) void name(int n) \
	{ \
		uint64_t x = sink; \
		DELAY_##name \
		for (int i = 0; i < part * n; i++) \
			x = x * 7 % 13 + sink; \
		sink = x; \
	}
#define DELAY_half
#define DELAY_quarter WEFT_DELAY();
#define DELAY_eighth
#define DELAY_least
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
gcc -O1 -g -finstrument-functions -I. -o "$T/work" "$T/work.c" -lpthread ||
	fail "no program"
gcc -O1 -g -I. -o "$T/plain" "$T/work.c" -lpthread || fail "no plain program"
# validate OPTION...: where other programs keep the recorder from a new thread for
# long, half of a run has no samples.
validate() {
	rm -rf "$T/kept"
	"$WEFT" validate -o "$T/kept" --sample-rate 997 --csv "$@" -- "$T/work" \
		>"$T/csv" 2>"$T/err" && return
	grep -q 'takes no samples, or too few' "$T/err" || fail "it fails: $*"
	return 1
}
record "$T/work" || fail "it is not recorded"
if no_switches; then
	echo "the kernel takes no samples here"
	exit 77
fi
one_of 3 validate
[ "$(grep -c '^of the program$' "$T/err")" = 5 ] || fail "not five runs"
for run in recorded referenced one other; do
	[ -d "$T/kept/$run" ] || fail "no trace of the run \"$run\""
	"$WEFT" info "$T/kept/$run" >"$T/info" || fail "weft info fails"
	grep -qE 'samples\.period +(9|10)[0-9]{5}$' "$T/info" ||
		fail "$run: another rate: $(grep samples "$T/info")"
done
"$WEFT" report "$T/kept/referenced" | grep -q 'as it runs unrecorded' ||
	fail "the run with a reference has none"
# agrees: $T/csv has name, then the shares unrecorded, net, raw and with a
# reference; work is little. $T/err says how far they agree.
agrees() {
	awk -F, '
	BEGIN { part["half"] = 55.2; part["quarter"] = 27.6
		part["eighth"] = 13.8; part["least"] = 3.4
		part["work"] = part["main"] = 0 }
	NR > 1 {
		seen++
		for (i = 6; i <= 9; i++) {
			off = $i - part[$1]
			if (!($1 in part) || off > 8 || off < -8)
				bad = 1
		}
	}
	END { exit bad || seen != 6 }' "$T/csv" || fail "shares: $(cat "$T/csv")"
	sed 's/^self with --reference/by self/' "$T/err" |
		awk '/^(raw|net|by) self/ { seen++
			if ($6 + 0 < 0.5 || $7 + 0 > 15) { print; bad = 1 } }
		END { exit bad || seen != 3 }' || fail "agreement: $(cat "$T/err")"
	sed -n 's/^\(... self\)[^0-9]*/note: validate: \1: /p' "$T/err"
}
agrees
# Of the build without the flag, functions are found by their names.
one_of 3 validate --plain "$T/plain"
grep -q "agreement with $T/plain as it runs unrecorded" "$T/err" ||
	fail "--plain is not said"
agrees
# Code that was inlined is its function's in every run, where debug information says
# so; else validate says that nothing does.
cat >"$T/inlined.c" <<'C'
#include <stdint.h>
static volatile uint64_t sink = 3;
static inline __attribute__((always_inline)) uint64_t inner(uint64_t x)
{
	for (int i = 0; i < 300000; i++)
		x = x * 7 % 13 + sink;
	return x;
}
__attribute__((noinline)) void outer(void)
{
	sink = inner(sink);
	for (int i = 0; i < 100000; i++)
		sink = sink * 7 % 13;
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		outer();
	return 0;
}
C
# inlines OPTION...: to $T/csv and $T/err; how much is misplaced in net self.
inlines() {
	gcc -O2 -finstrument-functions "$@" -o "$T/inlined" "$T/inlined.c" ||
		fail "no program with inlined code"
	"$WEFT" validate --sample-rate 997 --csv -- "$T/inlined" >"$T/csv" 2>"$T/err" ||
		fail "it fails: $(cat "$T/err")"
	misplaced=$(sed -n 's/^net self .* \([0-9.]*\)% .*%$/\1/p' "$T/err")
	echo "note: validate: inlined code $*: $misplaced % misplaced"
}
resolves() {
	inlines -g
	grep -q 'without debug information' "$T/err" && fail "it has debug information"
	awk -v is="$misplaced" 'BEGIN { exit !(is != "" && is < 15) }' ||
		fail "inlined code is elsewhere: $(cat "$T/err" "$T/csv")"
}
one_of 3 resolves
one_of 3 inlines
grep -q '100.0% of the samples are in code without debug information' "$T/err" ||
	fail "it does not say that nobody knows what was inlined: $(cat "$T/err")"
# A function that is slower by a known time is, and no other. So it is said, too, if
# it is not slower.
gcc -O1 -g -finstrument-functions -DWEFT_DELAY_NS=1000000 -I. -o "$T/slowed" \
	"$T/work.c" -lpthread || fail "no slowed program"
# grows FROM TO PROGRAM: quarter, by so many percent of what the delay is, by the
# reference; all others by less than a fifth of it. The machine may be slower or
# faster than it was when the delay was measured.
grows() {
	"$WEFT" validate --sample-rate 4000 --slow-down quarter=1000000 \
		--slowed "$T/$3" -- "$T/work" >"$T/out" 2>"$T/err" ||
		fail "--slow-down fails: $(cat "$T/err")"
	grep -q '^quarter: 3,000 calls, each 1.000 ms longer: it should grow by 3.000 s$' \
		"$T/out" || fail "another sum: $(cat "$T/out")"
	awk -v from="$1" -v to="$2" '/^self with --reference/ {
			seen++
			n = 0
			for (i = 4; i <= NF; i++)
				if ($i ~ /%$/)
					share[++n] = $i + 0
			if (n < 2 || share[1] < from || share[1] > to ||
			    share[2] > 20 || share[2] < -20)
				bad = 1
		}
		END { exit bad || seen != 1 }' "$T/out" ||
		fail "$3: it grows otherwise: $(cat "$T/out")"
}
one_of 3 grows 65 135 slowed
one_of 3 grows -20 20 work
"$WEFT" validate --slow-down quarter=1 -- "$T/work" >"$T/out" 2>"$T/err"
[ $? = 1 ] || fail "--slow-down needs no --slowed"
TMPDIR=$T "$WEFT" validate -- /bin/false >"$T/out" 2>"$T/err" && fail "no word"
ls "$T" | grep -q weft-validate &&
	fail "a folder is left"
exit 0
