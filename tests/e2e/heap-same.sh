#!/bin/bash
# Programs do with weft record --heap what they do without: with a malloc of their
# own or of another library, with modules that have another malloc or go away, with
# constructors and handlers of fork that take memory. What is not seen is said.
# SPDX-License-Identifier: MIT
. tests/lib.sh
cat >"$T/module.c" <<'END'
#include <stdlib.h>
#include <string.h>
static char *mine;
static int taken;
static void *count(size_t n) { taken++; return malloc(n); }
static void *(*volatile take_one)(size_t) = malloc;
__attribute__((constructor)) static void begin(void)
{
	mine = malloc(1000);
	take_one = count; /* and so it stays */
}
__attribute__((destructor)) static void end(void) { free(mine); }
char *take(const char *s)
{
	free(take_one(10));
	return taken ? strdup(s) : NULL;
}
END
# Its first call of malloc looks for that; where its own free is, it knows before.
cat >"$T/lazy.c" <<'END'
#include <stdlib.h>
#include <string.h>
static void (*volatile give)(void *) = free;
char *take(const char *s) { give(malloc(100)); return strdup(s); }
END
cat >"$T/same.c" <<'END'
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *early;
static pthread_key_t key;
__attribute__((constructor(150))) static void begin(void) { early = malloc(10); }
static void in_fork(void) { free(malloc(30)); }
static void destroy(void *p)
{
	free(p);
}
static void *thread(void *unused)
{
	pthread_setspecific(key, malloc(77));
	return unused;
}
int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f = tmpfile();
	pthread_t t;

	(void)argc;
	pthread_atfork(in_fork, in_fork, in_fork);
	for (int i = 0; i < 200; i++) {
		void *const m = dlopen(argv[1], i % 2 ? RTLD_NOW : RTLD_LAZY |
				       RTLD_DEEPBIND);
		char *(*take)(const char *) = m ? (char *(*)(const char *))
			dlsym(m, "take") : NULL;
		char *const s = take ? take("something") : NULL;

		if (!s)
			return 3;
		dlclose(m);
		free(s);
	}
	fputs("a line\nanother one\n", f);
	rewind(f);
	while (getline(&line, &size, f) > 0)
		fputs(line, stdout);
	free(line);
	fclose(f);
	pthread_key_create(&key, destroy);
	for (int i = 0; i < 50; i++) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
	}
	errno = 0;
	free(malloc(10));
	printf("%d", errno);
	printf(" %d", !malloc((size_t)1 << 62));
	printf(" %d\n", errno == ENOMEM);
	fflush(stdout);
	if (fork() == 0) {
		free(early);
		_exit(7);
	}
	wait(NULL);
	if (vfork() == 0)
		_exit(7);
	free(early);
	return 0;
}
END
gcc -O1 -shared -fPIC -o "$T/module.so" "$T/module.c" || fail "no compiler"
gcc -O1 -shared -fPIC -Wl,-z,lazy -o "$T/lazy.so" "$T/lazy.c" || fail "no compiler"
gcc -O1 -w -D_GNU_SOURCE -o "$T/plain" "$T/same.c" || fail "no compiler"
gcc -O1 -w -D_GNU_SOURCE -finstrument-functions -o "$T/hooked" "$T/same.c" ||
	fail "no compiler"

# same STATUS PROGRAM...
same() {
	local status=$1
	shift
	"$@" >"$T/alone"
	[ $? = "$status" ] || fail "$*: fails by itself"
	record --heap=exact -- "$@"
	[ $? = "$status" ] || fail "$*: another status"
	diff "$T/alone" "$T/out" || fail "$*: other results"
	"$WEFT" check "$T/trace" >"$T/o" 2>&1 || [ -n "${MAY_LOSE-}" ] ||
		fail "$*: weft check: $(cat "$T/o")"
	"$WEFT" heap "$T/trace" >"$T/heap" 2>&1 || fail "$*: weft heap"
}
for program in plain hooked; do
	same 0 "$T/$program" "$T/module.so"
	grep -q 'given back unseen' "$T/heap" && fail "$program: $(cat "$T/heap")"
	# The child's one, and what the loader allocates.
	grep -q 'seen to take' "$T/heap" || fail "$program: the child's block"
done
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	at=$(ldconfig -p | awk -v l="$library" '$1 == l { print $NF; exit }')
	[ -n "$at" ] || continue
	export LD_PRELOAD="$at"
	same 0 "$T/hooked" "$T/lazy.so"
	same 0 "$T/hooked" "$T/module.so"
	unset LD_PRELOAD
	grep -q 'given back unseen' "$T/heap" && fail "$library: $(cat "$T/heap")"
	"$WEFT" heap --csv "$T/trace" 2>/dev/null | grep -q ',main' ||
		fail "$library: nothing is seen: $(cat "$T/heap")"
	gcc -O1 -w -D_GNU_SOURCE -finstrument-functions -o "$T/linked" \
		"$T/same.c" -Wl,--no-as-needed "$at" || fail "no compiler"
	same 0 "$T/linked" "$T/module.so"
	grep -q 'given back unseen' "$T/heap" &&
		fail "$library, linked: $(cat "$T/heap")"
	"$WEFT" heap --csv "$T/trace" 2>/dev/null | grep -q ',main' ||
		fail "$library, linked: nothing is seen: $(cat "$T/heap")"
done
same 0 "$P/p_waits_same"

# A delete that is left by a jump is never seen to end, however often.
cat >"$T/leap_in.cc" <<'END'
#include <csetjmp>
#include <cstdlib>
jmp_buf out;
int jumps;
void operator delete(void *p) noexcept
{
	if (jumps-- > 0)
		longjmp(out, 1);
	free(p);
}
END
cat >"$T/leap.cc" <<'END'
#include <csetjmp>
#include <cstdlib>
#include <new>
extern jmp_buf out;
extern int jumps;
static void *(*volatile take)(size_t) = malloc;
int main()
{
	void *const p = operator new(100);

	for (volatile int i = jumps = 255; i > 0; i--)
		if (!setjmp(out))
			operator delete(p);
	operator delete(p);
	for (int i = 0; i < 1000; i++)
		free(take(100));
}
END
g++ -O1 -w -shared -fPIC -o "$T/libleap.so" "$T/leap_in.cc" &&
	g++ -O1 -o "$T/leap" "$T/leap.cc" -L"$T" -lleap -Wl,-rpath,"$T" ||
	fail "the compiler fails"
same 0 "$T/leap"
grep -q 'blocks given back unseen' "$T/heap" && fail "jumps: $(cat "$T/heap")"
MAY_LOSE=1
same 3 "$P/p_malloc"
grep -q 'has a malloc of its own' "$T/heap" || fail "not said: $(cat "$T/heap")"

# Without the option nothing is led, and weft heap says what is missing.
record "$T/hooked" "$T/module.so" || fail "weft record fails"
"$WEFT" heap "$T/trace" >"$T/o" 2>&1 || fail "weft heap of a trace without any"
grep -q 'weft record --heap' "$T/o" || fail "not said: $(cat "$T/o")"
"$WEFT" record -o "$T/no" --heap=exact --sample-only -- true 2>"$T/o" &&
	fail "--heap with --sample-only"
grep -q 'exclude each other' "$T/o" || fail "not said: $(cat "$T/o")"
exit 0
