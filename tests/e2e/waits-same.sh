#!/bin/bash
# Locks of all kinds, cancellation, signal handlers, jumps out of waits and children
# do with weft record --waits what they do without, in a program with hooks and in
# one without, however its links are bound; and all that they call is recorded.
# SPDX-License-Identifier: MIT
. tests/lib.sh
"$P/p_waits_same" >"$T/alone" || fail "it fails by itself"
for bind in lazy now; do
	g++ -std=c++17 -O1 -D_GNU_SOURCE -o "$T/plain-$bind" \
		tests/prog/p_waits_same.cc -Wl,-z,$bind -w || fail "no compiler"
done
for program in "$P/p_waits_same" "$T/plain-lazy" "$T/plain-now"; do
	record --waits -- "$program" || fail "$program: status $?"
	diff "$T/alone" "$T/out" || fail "$program: other results"
	grep -qx 'weft: lost: 0' "$T/err" || fail "$program: something was lost"
	"$WEFT" check "$T/trace" >"$T/o" 2>&1 ||
		fail "$program: weft check: $(cat "$T/o")"
	report
	for f in pthread_mutex_lock pthread_rwlock_wrlock pthread_cond_wait \
		nanosleep read poll sem_wait pause pthread_join waitpid; do
		grep -q "^[_a-z0-9]*$f" "$T/report.csv" ||
			fail "$program: no call of $f"
	done
done

# A program that asks for the condition variables of before 2003 keeps them.
cat >"$T/old.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__asm__(".symver pthread_cond_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_signal, pthread_cond_signal@GLIBC_2.2.5");
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct { long old[6]; long behind; } c;
static int full;
static void *fill(void *unused)
{
	usleep(20000);
	pthread_mutex_lock(&m);
	full = 1;
	pthread_cond_signal((pthread_cond_t *)&c);
	pthread_mutex_unlock(&m);
	return unused;
}
int main(void)
{
	pthread_t t;
	pthread_mutex_lock(&m);
	pthread_create(&t, NULL, fill, NULL);
	while (!full)
		pthread_cond_wait((pthread_cond_t *)&c, &m);
	pthread_mutex_unlock(&m);
	pthread_join(t, NULL);
	for (int i = 1; i < 6; i++)
		printf("%d", c.old[i] != 0);
	puts("");
	return 0;
}
END
for bind in lazy now; do
	gcc -O1 -o "$T/old" "$T/old.c" -Wl,-z,$bind || fail "no compiler"
	"$T/old" >"$T/alone" || fail "it fails by itself"
	record --waits -- "$T/old" || fail "old, $bind: status $?"
	diff "$T/alone" "$T/out" || fail "old, $bind: other memory is written"
done
exit 0
