#!/bin/bash
# What others do to a recording does not stop it: a program that writes to the
# pool that a process lives which there is not, limits of the files' size, and a
# lock file that another user made, with the number of a daemon in it.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
(cd / && as_user lttng-sessiond --daemonize --no-kernel) ||
	fail "the daemon does not start"

# try OPTION...: in a folder that the user may write to
try() {
	rm -rf "$HOME/trace"
	timeout -k 5 60 setpriv $as_nobody "$WEFT" record -o "$HOME/trace" \
		"$@" >"$T/out" 2>"$T/err"
}
as_nobody=
[ "$(id -u)" != 0 ] ||
	as_nobody="--reuid=65534 --regid=65534 --clear-groups"

# counted N: so many calls of drop, and none lost
counted() {
	rm -rf "$T/trace"
	cp -r "$HOME/trace" "$T/trace"
	report
	nothing_lost
	[ "$(calls drop)" = "$1" ] || fail "$(calls drop) calls of $1"
}
gone() {
	[ ! -e "$(cat "$HOME/trace/pool")" ] || fail "the pool is still there"
}

try -- sh -c "LD_PRELOAD= $P/p_phantom && exec $P/p_flood 1" ||
	fail "phantom: status $?"
grep -q '^slot' "$T/out" || fail "phantom: there was none"
grep -q 'running' "$T/err" && fail "phantom: it is said to run on"
gone

# No figure that cannot be is printed, and nobody says that nothing was lost.
try -- sh -c "LD_PRELOAD= $P/p_phantom counts && exec $P/p_flood 1" ||
	fail "counts: status $?"
grep -E '[0-9]{9}' "$T/err" && fail "counts: a figure that cannot be"
grep -q '^weft: lost: not known' "$T/err" || fail "counts: not told"
grep -qx 'weft: lost: 0' "$T/err" && fail "counts: lost: 0"
rm -rf "$T/trace"
cp -r "$HOME/trace" "$T/trace"
report
grep -qx '# nothing was lost' "$T/report.err" && fail "counts: nothing was lost"
[ "$(calls drop)" = 1000000 ] || fail "counts: $(calls drop) calls"

# The spill file has not room for all: LTTng must be there before.
joined="until $WEFT status \$PPID | grep -qE '^carrier *(lttng|spill)'; do
	sleep 0.1; done"

# The program keeps its limit, the recorder goes as far as it may.
(ulimit -S -f 2000 && try --on-full wait -- \
	bash -c "$joined; ulimit -S -f && exec $P/p_flood 1") || fail "soft: status $?"
grep -qx 2000 "$T/out" || fail "soft: the program has another limit"
counted 1000000
gone
(ulimit -f 2000 && try --on-full wait -- \
	bash -c "$joined; exec $P/p_flood 1") ||
	fail "hard: status $?"
counted 1000000
gone
(ulimit -f 2000 && try --pool-size 4M -- "$P/p_flood" 1)
[ $? = 2 ] || fail "too large: status"
grep -q 'ulimit -f' "$T/err" || fail "too large: not told why"

[ "$(id -u)" = 0 ] || exit 0
cc -o "$T/name" -x c - <<'C' || fail "lock: its name"
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static unsigned hash(const char *text, long n, unsigned seed)
{
	return XXH32(text, (size_t)n, seed);
}
int main(int argc, char **argv)
{
	char pid[64], time[64];
	const unsigned pids = hash(pid, readlink("/proc/self/ns/pid", pid,
						 sizeof(pid)), 0);
	const long n = readlink("/proc/self/ns/time", time, sizeof(time));
	const char *const home = argv[argc - 1];

	return !printf("%08x\n", hash(home, (long)strlen(home),
				      hash(time, n > 0 ? n : 0, pids)));
}
C
lock=/dev/shm/weft-lock-65534-$("$T/name" "$HOME")
# The process that closed a session looks after the daemon and the lock.
is_done() { ! as_user pgrep -u 65534 -x weft-record >/dev/null; }
await is_done || fail "lock: weft record does not end"
rm -f "$lock"
daemon >"$lock"
chmod 666 "$lock"
try -- "$P/p_flood" 1 || fail "lock: status $?"
await is_done || fail "lock: weft record does not end"
rm -f "$lock"
kill -0 "$(daemon)" || fail "lock: somebody's daemon was stopped"
exit 0
