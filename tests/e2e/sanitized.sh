#!/bin/bash
# Programs built with sanitizers, whose libraries want to be the first, run
# recorded as they do alone, threads too, and no call is missing.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/s.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PLAIN __attribute__((noinline))
static unsigned long calls;

PLAIN int step(char *p, int i)
{
	p[i % 64]++;
	return p[i % 7];
}

PLAIN void *work(void *arg)
{
	char *const p = calloc(64, 1);
	int sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += step(p, i);
	__atomic_add_fetch(&calls, 20000, __ATOMIC_RELAXED);
	free(p);
	return sum == 1 ? arg : NULL;
}

int main(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("calls %lu step\n", calls);
	return 7;
}
C
for how in "gcc address" "gcc thread" "gcc undefined" "gcc leak" \
	"clang address" "clang thread" "clang undefined"; do
	${how% *} -g -O1 -fsanitize=${how#* } -finstrument-functions \
		-o "$T/s" "$T/s.c" -lpthread 2>"$T/err" ||
		fail "$how: not built"
	"$T/s" >"$T/alone" 2>&1
	[ $? = 7 ] || fail "$how: fails by itself: $(cat "$T/alone")"
	record "$T/s"
	status=$?
	[ $status = 7 ] || fail "$how: status $status"
	cmp "$T/alone" "$T/out" || fail "$how: prints something else"
	report
	nothing_lost
	same_calls
done
exit 0
