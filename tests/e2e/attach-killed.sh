#!/bin/bash
# each: plain lua
# The recorder is killed while it holds a thread of a program that was started
# without weft, at any moment of loading the library and leading calls: the
# program goes on and answers as ever, and can be attached again.
# SPDX-License-Identifier: MIT
. tests/lib.sh
. tests/e2e/attach.inc
[ "$(uname -m)" = x86_64 ] || { echo "not x86-64"; exit 77; }
times=8
[ "${DEEP:-}" ] && times=${ATTACHES:-60}
flags=()
if [ "$1" = lua ]; then
	pkg-config --exists lua5.4 || { echo "no lua5.4 for programs"; exit 77; }
	read -ra flags <<<"-DLUA $(pkg-config --cflags --libs lua5.4)"
fi
gcc -O1 -g -I. -finstrument-functions tests/prog/p_attach.c -o "$T/p_attach" \
	"${flags[@]}" -lpthread -ldl || fail "the program is not built"

# killer PID USEC: kills what traces a thread of PID, USEC after it began.
cat >"$T/killer.c" <<'END'
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static long tracer_of(const char *pid, const char *tid)
{
	char path[600], text[4096];

	snprintf(path, sizeof(path), "/proc/%s/task/%s/status", pid, tid);
	FILE *const f = fopen(path, "r");
	const size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	const char *const at = strstr(text, "TracerPid:");

	return at ? atol(at + 10) : 0;
}
static long tracer(const char *pid)
{
	char path[64];
	long found = 0;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	DIR *const threads = opendir(path);

	for (const struct dirent *e; threads && !found &&
	     (e = readdir(threads)); )
		found = e->d_name[0] == '.' ? 0 : tracer_of(pid, e->d_name);
	if (threads)
		closedir(threads);
	return found;
}
static long us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}
int main(int argc, char **argv)
{
	const long given_up = us() + 60000000;
	long found;

	while ((found = tracer(argv[1])) == 0)
		if (us() > given_up)
			return 1;
	const long then = us() + atol(argv[argc - 1]);

	while (us() < then)
		;
	return kill((pid_t)found, SIGKILL) != 0;
}
END
gcc -O1 "$T/killer.c" -o "$T/killer" || fail "the killer is not built"

# On a busy machine, the killer may look too late. Then all is done by then.
is_over() {
	! kill -0 $killer 2>/dev/null || grep -q 'stood still\|cannot' "$T/err"
}

# The process that holds the last pool's lock dies a moment later.
is_free() {
	local pool
	pool=$(cat "$T/killed$i/pool" 2>/dev/null)
	[ ! -e "$pool" ] || flock -sn "$pool" true
}

begin "$T/p_attach" 4
ask "round 1" # it runs
hits=0
for i in $(seq $times); do
	[ "$i" -le 8 ] || [ $SECONDS -lt 200 ] || break
	# Half of them in the first moments, when registers are changed.
	us=$((RANDOM % (i % 2 ? 300 : 2000)))
	"$T/killer" "$pid" $us 8>&- 9<&- &
	killer=$!
	: >"$T/err"
	"$WEFT" record -o "$T/killed$i" -p "$pid" >"$T/out" 2>"$T/err" 8>&- \
		9<&- &
	recorder=$!
	await is_over || fail "time $i: nothing holds a thread"
	kill $killer 2>/dev/null
	wait $killer && hits=$((hits + 1))
	kill -KILL "$recorder" 2>/dev/null
	wait "$recorder" 2>/dev/null
	kill -0 "$pid" || fail "time $i: the program has ended ($us us)"
	ask "round 20"
	[ "$answer" = "calls 80 right" ] ||
		fail "time $i: it says \"$answer\" ($us us)"
done
echo "note: $hits of $i were killed while they held a thread"
await is_free || fail "the recorder lives"
attach
ask "round 500"
detach
right_calls 2000 "after recorders were killed"
ask off
await leads_nowhere || fail "words of it lead to libweft.so"
end
