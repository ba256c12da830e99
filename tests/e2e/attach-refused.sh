#!/bin/bash
# What cannot be attached is left alone, and told with its reason: nothing that
# runs, several of a name, stopped, traced, static, another user's, without weft,
# recorded already.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
cd "$T" || exit 1

# refused TEXT [COMMAND...]: attaching to $pid fails, and says so.
refused() {
	local text=$1
	shift
	timeout 60 "$@" "$WEFT" record -o "$T/none" -p "$pid" >"$T/out" \
		2>"$T/err" 8>&- 9<&-
	[ $? = 2 ] || fail "not refused: $text"
	grep -q "$text" "$T/err" || fail "not said: $text"
	[ -e "$T/none" ] && fail "it leaves a trace: $text"
}

sleep 100 & first=$!
pid=$first
await grep -qx sleep "/proc/$pid/comm"
refused 'nothing in it calls what weft records'
kill -STOP $first
await grep -q '^State:.*T' "/proc/$first/status"
refused 'it is stopped'
kill $first
kill -CONT $first
wait $first
refused "there is no process $first"
pid=no-such-name
refused 'no process is named "no-such-name"'

cp "$P/p_attach" "$T/twin$$" || exit 1
mkfifo "$T/nothing"
exec 7<>"$T/nothing"
for i in 1 2; do
	"$T/twin$$" 1 <&7 >/dev/null &
	twin[i]=$!
done
are_two() {
	[ "$(cat /proc/"${twin[1]}"/comm)$(cat /proc/"${twin[2]}"/comm)" = \
		"twin$$""twin$$" ]
}
await are_two
pid=twin$$
refused "2 processes are named \"twin$$\": .*${twin[2]}"
kill "${twin[@]}"

echo 'int main(void) { for (;;) __builtin_ia32_pause(); }' >static.c
if gcc -O1 -static static.c -o static 2>/dev/null; then
	./static &
	pid=$!
	await grep -qx static "/proc/$pid/comm"
	refused 'it is linked statically'
	kill "$pid"
fi

# Its parent traces it, and lets it go on.
cat >tracer.c <<'END'
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[1], argv + 1);
		_exit(argc);
	}
	if (waitpid(pid, NULL, 0) != pid || ptrace(PTRACE_CONT, pid, NULL, NULL))
		return 77;
	printf("%d\n", pid);
	fflush(stdout);
	waitpid(pid, NULL, 0);
	return 0;
}
END
gcc -O1 tracer.c -o tracer || fail "the program is not built"
./tracer "$P/p_attach" 1 <&7 >traced &
is_traced() {
	pid=$(head -n 1 traced) && [ -n "$pid" ] &&
		grep -q '^State:.*[RS]' "/proc/$pid/status"
}
await is_traced || fail "the program is not traced"
refused 'a debugger or another tracer holds it'
kill -KILL "$pid"

cat >confined.c <<'END'
#include <linux/seccomp.h>
#include <sys/prctl.h>
int main(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		return 77;
	for (;;)
		__builtin_ia32_pause();
}
END
gcc -O1 confined.c -o confined || fail "the program is not built"
LD_PRELOAD="$B/lib/libweft.so" ./confined &
pid=$!
is_confined() {
	! kill -0 "$pid" 2>/dev/null ||
		grep -q '^Seccomp:.*1$' "/proc/$pid/status"
}
await is_confined
if kill -0 "$pid" 2>/dev/null; then
	refused 'it has given up system calls'
	kill "$pid"
fi

# It waits in a signal handler, which may have interrupted malloc: whatever the
# handler has on its stack, which may be one of its own.
cat >handled.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static size_t size;
__attribute__((no_instrument_function)) static void on(int s)
{
	char some[size], c;

	memset(some, s, size);
	if (read(0, &c, 1) == 1)
		_exit(some[size / 2] != s);
}
int main(int argc, char **argv)
{
	const stack_t own = { .ss_sp = malloc(1 << 20), .ss_size = 1 << 20 };
	const struct sigaction a = { .sa_handler = on, .sa_flags = SA_ONSTACK };

	size = (size_t)atoi(argv[1]);
	if (argc > 2)
		sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &a, NULL);
	return raise(SIGUSR1);
}
END
gcc -O1 -finstrument-functions handled.c -o handled ||
	fail "the program is not built"
reads() {
	grep -q '^0 0x0 ' "/proc/$pid/syscall"
}
for how in 200000 "200000 own"; do
	# shellcheck disable=SC2086
	./handled $how <&7 &
	pid=$!
	await reads
	refused 'none of its threads waits for something'
	kill -KILL "$pid"
done

begin env LD_PRELOAD="$B/lib/libweft.so" "$P/p_attach" 1
ask off
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 777 "$T"
	refused 'cannot attach to process\|cannot read\|cannot make' setpriv \
		--reuid 65534 --regid 65534 --clear-groups
fi
attach
refused 'it is being recorded already'
main=$pid
pid=$(cd "/proc/$main/task" && printf '%s\n' * | sort -n | tail -n 1)
refused "cannot attach to process $main "
pid=$main
detach
end

exit 0
