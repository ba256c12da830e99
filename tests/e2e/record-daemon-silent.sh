#!/bin/bash
# A session daemon that takes connections and never answers, or hangs later while
# it is joined: the program waits for it for a moment only, and no call is lost.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
command -v perl >/dev/null || { echo "there is no perl"; exit 77; }
socket=$HOME/.lttng/client-lttng-sessiond
as_user mkdir "$HOME/.lttng"

silent() {
	as_user rm -f "$socket"
	as_user perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new(Local => shift, Listen => 9);
		my @all;
		alarm 300;
		while (my $c = $s->accept) { push @all, $c; }
	' "$socket" &
	fake=$!
	await test -S "$socket" || fail "the daemon does not listen"
}
hang_up() {
	kill $(pgrep -P "$fake") && wait "$fake"
	as_user rm -f "$socket"
}

# begins [WEFT]: a program that waits until input ends is recorded.
begins() {
	rm -rf "$HOME/w" "$T/in" "$T/out"
	mkfifo "$T/in"
	as_user "${1:-$WEFT}" record -o "$HOME/w" -- "$P/p_slow" 0.1 0.1 \
		<"$T/in" >"$T/out" 2>"$T/err" &
	recorder=$!
	exec 5>"$T/in"
}
ends() {
	await grep -qx waits "$T/out" || fail "the program does not run"
	exec 5>&-
	wait "$recorder"
	[ $? = 9 ] || fail "status"
	rm -rf "$T/trace"
	cp -r "$HOME/w" "$T/trace"
	report
	nothing_lost
	same_calls
}

silent
before=$SECONDS
begins
await grep -qx waits "$T/out" || fail "the program does not run"
[ $((SECONDS - before)) -le 20 ] || fail "it took $((SECONDS - before)) s"
ends
hang_up
grep -q 'no LTTng session: the session daemon does not answer' "$T/err" ||
	fail "nobody is told"

# The same of one that hangs while it is being started.
mkdir "$HOME/bin"
echo "#!/bin/sh
echo \$\$ >'$HOME/started'
exec sleep 300" >"$HOME/bin/lttng-sessiond"
chmod +x "$HOME/bin/lttng-sessiond"
PATH=$HOME/bin:$PATH begins
await test -s "$HOME/started" || fail "no daemon is started"
ends
kill "$(cat "$HOME/started")"
grep -q 'no LTTng session: the session daemon does not answer' "$T/err" ||
	fail "nobody is told that it does not start"

# An LTTng that answers, and then is not to be loaded: the constructor of its
# library waits for the daemon, too.
if command -v lttng-sessiond >/dev/null; then
	mkdir "$HOME/weft"
	cp -r "$B/bin" "$B/lib" "$B/libexec" "$HOME/weft"
	echo '#include <fcntl.h>
	#include <unistd.h>
	__attribute__((constructor)) static void hang(void)
	{
		close(creat("'"$HOME"'/hangs", 0600));
		for (;;)
			pause();
	}' | gcc -xc -fPIC -shared -o "$HOME/weft/lib/weft/weft-provider.so" - ||
		fail "gcc fails"
	begins "$HOME/weft/bin/weft"
	ends
	grep -q 'no LTTng session: ' "$T/err" || fail "nobody is told"

	# The daemon may die meanwhile.
	dies() {
		rm -f "$HOME/hangs"
		begins "$HOME/weft/bin/weft"
		await test -e "$HOME/hangs" || fail "nothing is loaded"
		kill -9 "$(daemon)"
		ends
		grep -q 'no LTTng session: the session daemon has died' "$T/err"
	}
	one_of 3 dies

	# Or the recorder can have no more threads.
	echo '#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <errno.h>
	#include <string.h>
	int pthread_create(void *thread, void *with, void *f, void *ctx)
	{
		int (*real)(void *, void *, void *, void *) =
			dlsym(RTLD_NEXT, "pthread_create");

		return strncmp(program_invocation_short_name, "weft", 4) == 0 ?
		       EAGAIN : real(thread, with, f, ctx);
	}' | gcc -xc -fPIC -shared -o "$HOME/no-thread.so" - || fail "gcc fails"
	LD_PRELOAD=$HOME/no-thread.so begins
	ends
	grep -q 'no LTTng session: there can be no thread' "$T/err" ||
		fail "nobody is told that there is no thread"
fi

exit 0
