#!/bin/bash
# each: sleep epoll limit pause
# A program without weft whose one thread sleeps, or waits in epoll_wait or pause:
# it is stopped twice, and neither woken nor kept from a signal; its errno stays,
# and its call fails with none but the signal's. If it calls nothing during the
# recording, its first call afterwards puts its links back. Once it has entered a
# sandbox (seccomp), it is not stopped any more, and this is told.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }

cat >"$T/alone.c" <<'END'
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>
#define UNSEEN __attribute__((no_instrument_function))
enum { OURS = 77 };
static volatile sig_atomic_t calls, confines, ends, changed;
long work(long n);
long work(long n)
{
	return n + 1;
}
UNSEEN static void on_signal(int s)
{
	calls = s == SIGUSR1;
	confines = s == SIGUSR2;
	ends = s == SIGTERM;
	if (errno != OURS)
		changed = errno;
}
UNSEEN static int waits(int fd, const char *how, int limit)
{
	struct epoll_event e;

	errno = OURS;
	if (how[0] == 's')
		return sleep(1000) > 0 ? EINTR : 0;
	return (how[0] == 'p' ? pause() : epoll_wait(fd, &e, 1, limit)) == -1 ?
	       errno : 0;
}
UNSEEN static void confine(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog f = { 1, &all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f);
	dlopen("libm.so.6", RTLD_NOW);
}
UNSEEN int main(int argc, char **argv)
{
	const int fd = epoll_create1(0);
	const char *const how = argc > 1 ? argv[1] : "epoll";
	int woken = 0;

	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGTERM, on_signal);
	while (!ends) {
		const int error = waits(fd, how, how[0] == 'l' ? 1000000 : -1);

		woken++;
		if (error != EINTR || changed)
			printf("error %d, errno %d, ", error, (int)changed);
		if (calls)
			calls = work(0) - 1;
		if (confines)
			confine();
		confines = 0;
	}
	printf("%d times\n", woken);
	return 0;
}
END
gcc -O1 -finstrument-functions "$T/alone.c" -o "$T/alone" -ldl ||
	fail "the program is not built"
"$T/alone" "$1" >"$T/answers" &
pid=$!
waits() {
	case $(cut -d' ' -f1 "/proc/$pid/syscall") in
	34|35|230|232|219) ;;
	*) false ;;
	esac
}
await waits || fail "it does not wait"

# silent: attach, and wait until its calls are led.
silent() {
	rm -rf "$T/trace" "$T/err"
	"$WEFT" record -o "$T/trace" -p "$pid" >"$T/out" 2>"$T/err" &
	recorder=$!
	await grep -qs 'stood still\|cannot attach' "$T/err"
	grep -q 'stood still' "$T/err" || fail "$(cat "$T/err")"
}

# Loading fails there, and sets errno.
most=$(ulimit -n)
prlimit --pid "$pid" --nofile="0:$(ulimit -Hn)"
"$WEFT" record -o "$T/none" -p "$pid" >"$T/out" 2>"$T/err" &&
	fail "it can be loaded without a descriptor"
grep -q 'cannot load libweft.so: .*Too many open files' "$T/err" ||
	fail "$(cat "$T/err")"
prlimit --pid "$pid" --nofile="$most:$(ulimit -Hn)"

silent
[ "$("$P/p_links" "$pid")" -gt 0 ] || fail "no call is led"
detach
kill -USR1 "$pid"
await leads_nowhere || fail "its first call does not put its links back"
silent
kill -USR2 "$pid"
await grep -q 'has opened since are not recorded: it has given up' "$T/err" ||
	fail "it is not told that a library is not recorded"
kill -TERM "$pid"
wait "$recorder" || fail "weft record fails: $?"
wait "$pid" || fail "the program fails: $?"
[ "$(cat "$T/answers")" = "3 times" ] || fail "it was woken $(cat "$T/answers")"
