#!/bin/bash
# A program without weft whose one thread hangs in the kernel, where no stop
# reaches it: attaching gives up, and says so. The thread's call then comes back as
# if nothing had been, and the program can be attached.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }

# What it reads must go to a page that its child does not provide until the file
# GO is there.
cat >"$T/hung.c" <<'END'
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
long work(long n);
long work(long n)
{
	return n + 1;
}
int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	char *const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register r = { .range = { (unsigned long)page, 4096 },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { .range = r.range };
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	int pipes[2];

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &r) != 0 || pipe(pipes) != 0 ||
	    write(pipes[1], "x", 1) != 1)
		return 77;
	if (fork() == 0) {
		while (access(argv[argc - 1], F_OK) != 0)
			usleep(1000);
		return ioctl(fd, UFFDIO_ZEROPAGE, &zero) != 0;
	}
	errno = 5;
	const int n = (int)read(pipes[0], page, 1);
	printf("%d %d %c\n", n, errno, page[0]);
	fflush(stdout);
	while (read(0, page, 1) == 1)
		work(1);
	return 0;
}
END
gcc -O1 -finstrument-functions "$T/hung.c" -o "$T/hung" ||
	fail "the program is not built"
mkfifo "$T/in"
"$T/hung" "$T/go" <"$T/in" >"$T/answers" &
pid=$!
exec 8>"$T/in"
hangs() {
	kill -0 "$pid" 2>/dev/null || { echo "no userfaultfd here"; exit 77; }
	[ "$(cut -d' ' -f1 "/proc/$pid/syscall")" = 0 ] &&
		grep -q '^State:.*S' "/proc/$pid/status"
}
await hangs || fail "it does not hang"

timeout -k 1 100 "$WEFT" record -o "$T/none" -p "$pid" >"$T/out" 2>"$T/err" 8>&-
[ $? = 2 ] || fail "weft record is content, or waits for ever"
grep -q 'cannot attach to .*: a thread of it hangs in the kernel' "$T/err" ||
	fail "it does not say why"
[ -s "$T/answers" ] && fail "its call has come back"
touch "$T/go"
await grep -qx '1 5 x' "$T/answers" || fail "it says $(cat "$T/answers")"

"$WEFT" record -o "$T/trace" -p "$pid" >"$T/out" 2>"$T/err" 8>&- &
recorder=$!
works() { echo >&8 && joins; }
await works || fail "it does not join: $(why_not)"
detach
exec 8>&-
wait "$pid" || fail "the program fails: $?"
