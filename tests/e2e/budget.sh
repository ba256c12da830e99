#!/bin/bash
# A program that counts its own calls and knows how long they take, recorded with
# a budget: tiny functions that are called all the time are counted soon, long
# ones never, and of each function all calls are there. What is counted later,
# rather than at once, and what grows rare, nests. Without the kernel's samples
# it is the same, by what calls should cost: as that may be 10 ns only, the
# program makes many of them.
# SPDX-License-Identifier: MIT
. tests/lib.sh

cat >"$T/main.c" <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define SILENT __attribute__((no_instrument_function))
static __thread volatile unsigned long sum;
struct calls { unsigned long tiny, hot, deep, jumps, middle, far, work; };
static __thread struct calls n;
static struct calls all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread jmp_buf back;
static double seconds;

void tiny(unsigned long x) { n.tiny++; sum = sum + x; }
void hot(unsigned long x) { n.hot++; tiny(x); tiny(x + 1); }
/* Is open while others, and it itself, come to be counted. */
void deep(unsigned long x)
{
	n.deep++;
	if (x > 0)
		deep(x - 1);
	hot(x);
}
void jumps(unsigned long x)
{
	n.jumps++;
	tiny(x);
	if (x % 3 == 0)
		longjmp(back, 1);
}
void middle(unsigned long x)
{
	n.middle++;
	for (unsigned i = 0; i < 3000; i++)
		sum = sum * 3 + x;
}
void far(void)
{
	n.far++;
	for (unsigned i = 0; i < 200000; i++)
		sum = sum * 5 + i;
}
void work(unsigned hots)
{
	n.work++;
	for (unsigned i = 0; i < hots; i++)
		hot(i);
	for (unsigned i = 0; i < 10; i++)
		middle(i);
	deep(9);
	if (setjmp(back) == 0)
		jumps(n.work);
	far();
}
SILENT static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
/* Hot for some time, then hardly. */
void *thread(void *unused)
{
	while (cpu() < seconds * 2 / 3)
		work(3000);
	while (cpu() < seconds)
		work(1);
	pthread_mutex_lock(&lock);
	all.tiny += n.tiny, all.hot += n.hot, all.deep += n.deep;
	all.jumps += n.jumps, all.middle += n.middle, all.far += n.far;
	all.work += n.work;
	pthread_mutex_unlock(&lock);
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t other;

	seconds = atof(argv[1]);
	pthread_create(&other, NULL, thread, NULL);
	thread(NULL);
	pthread_join(other, NULL);
	printf("tiny %lu\nhot %lu\ndeep %lu\njumps %lu\nmiddle %lu\nfar %lu\n"
	       "work %lu\nthread 2\nmain 1\n", all.tiny, all.hot, all.deep,
	       all.jumps, all.middle, all.far, all.work);
	return argc - 2;
}
C
gcc -g -O1 -fno-inline -finstrument-functions -pthread -o "$T/prog" "$T/main.c" ||
	fail "no program"

# look BUDGET OPTION...: record it and compare with its own account.
look() {
	record "${@:2}" --budget "$1" -- "$T/prog" 3 || fail "$*: weft record fails"
	"$WEFT" check "$T/trace" >"$T/check" || fail "$*: $(cat "$T/check")"
	"$WEFT" info "$T/trace" >"$T/info" || fail "$*: weft info fails"
	report --top 0
	nothing_lost
	while read -r f own; do
		[ "$(calls "$f")" = "$own" ] ||
			fail "$*: $f: $(calls "$f") calls of $own"
	done <"$T/out"
	sed -n '/^counted /,/^modules /s/^  //p' "$T/info" >"$T/counted"
	for f in tiny hot; do
		grep -qx $f "$T/counted" || fail "$*: $f is not counted"
	done
	for f in far work main thread; do
		grep -qx $f "$T/counted" && fail "$*: $f is counted"
	done
	grep -q "^budget.limit *$1" "$T/info" || fail "$*: info does not tell"
	"$WEFT" report "$T/trace" >"$T/said"
	grep -q "with --budget $1: all calls are there" "$T/said" ||
		fail "$*: reports do not tell"
}
look 2% --sample-rate 0
grep -q 'only counted: the time is their callers' "$T/said" ||
	fail "whose time it is: $(cat "$T/said")"
look 5%
# That is too little for so many calls, and said.
look 0.5%
grep -q 'the budget was not kept.*counting the others took' "$T/said" ||
	fail "it is not said that counting is too much: $(cat "$T/said")"

# Nothing to save: nothing is counted.
record --budget 90% -- "$T/prog" 0.02 || fail "weft record fails"
grep -q '^budget.counted *0$' <("$WEFT" info "$T/trace") ||
	fail "something is counted for nothing"

for bad in "--budget 0%" "--budget 95%" "--budget 5x" "--budget 5% --count-only"
do
	# shellcheck disable=SC2086
	record $bad -- true && fail "$bad is taken"
	grep -q "see weft record --help" "$T/err" || fail "$(cat "$T/err")"
done
exit 0
