#!/bin/bash
# A session daemon that takes connections and never answers: the program waits for
# it for a moment only, and where the pool fills up goes on. The recording can be
# watched meanwhile, and ends with the program. No call is lost or there twice,
# also where LTTng comes when chunks were spilled already.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
. tests/e2e/attach.inc
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

# starts N OPTION...: the program that reads lines is asked N times while the
# daemon has not answered: weft record has not given it up yet.
starts() {
	local n=$1
	shift
	rm -rf "$HOME/t"
	silent
	begin as_user "$WEFT" record -o "$HOME/t" "$@" -- "$P/p_start_on" lines
	for _ in $(seq "$n"); do ask go; done
	cp "$T/program.err" "$T/err"
	hang_up
	exec 8>&-
	wait "$pid"
	[ $? = 5 ] || fail "status"
	grep -q 'no LTTng session' "$T/err" &&
		{ echo "weft record had given up before"; return 1; }
	grep -q 'no LTTng session' "$T/program.err" || fail "nobody is told"
	rm -rf "$T/trace"
	cp -r "$HOME/t" "$T/trace"
	report
	nothing_lost
	[ "$(calls before) $(calls go) $(calls step)" = \
		"1000 $((n * 1000)) $((n * 10000))" ] ||
		fail "$n: $(calls before) $(calls go) $(calls step) calls"
	return 0
}
one_of 3 starts 1
one_of 3 starts 40 --pool-size 1M --on-full wait

# says KEY VALUE: of the recording that $recorder is the job of.
says() {
	as_user "$WEFT" status "$(pgrep -P "$recorder")" 2>"$T/status.err" |
		grep -qE "^$1 *$2\$"
}

# waits [WEFT]: the program waits until input ends.
waits() {
	rm -rf "$HOME/w" "$T/in" "$T/out"
	mkfifo "$T/in"
	as_user "${1:-$WEFT}" record -o "$HOME/w" -- "$P/p_slow" 0.1 0.1 \
		<"$T/in" >"$T/out" 2>"$T/err" &
	recorder=$!
	exec 5>"$T/in"
	await grep -qx waits "$T/out" || fail "the program does not run"
}
ends() {
	exec 5>&-
	wait "$recorder"
	[ $? = 9 ] || fail "status"
	rm -rf "$T/trace"
	cp -r "$HOME/w" "$T/trace"
	report
	nothing_lost
	same_calls
}

# It is given up with the program, or when it was waited for long enough.
watched() {
	silent
	waits
	await says records '[1-9].*' || fail "no record is seen"
	says carrier awaited
	local is_awaited=$?
	ends
	hang_up
	grep -q 'no LTTng session: the session daemon does not answer' "$T/err" ||
		fail "nobody is told"
	[ $is_awaited = 0 ] && grep -q 'and the recording is over' "$T/err"
}
one_of 3 watched

# The same of one that hangs while it is being started.
mkdir "$HOME/bin"
echo "#!/bin/sh
echo \$\$ >'$HOME/started'
exec sleep 300" >"$HOME/bin/lttng-sessiond"
chmod +x "$HOME/bin/lttng-sessiond"
started() {
	rm -f "$HOME/started"
	PATH=$HOME/bin:$PATH waits
	await test -s "$HOME/started" || fail "no daemon is started"
	ends
	kill "$(cat "$HOME/started")"
	grep -q 'no LTTng session: .*, and the recording is over' "$T/err"
}
one_of 3 started

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
	waits "$HOME/weft/bin/weft"
	ends
	grep -q 'no LTTng session: ' "$T/err" || fail "nobody is told"

	# The daemon may die meanwhile.
	dies() {
		rm -f "$HOME/hangs"
		waits "$HOME/weft/bin/weft"
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
	LD_PRELOAD=$HOME/no-thread.so waits
	ends
	grep -q 'no LTTng session: there can be no thread' "$T/err" ||
		fail "nobody is told that there is no thread"
fi

# LTTng may answer when half of the pool is full.
as_user "$WEFT" record -o "$HOME/full" --pool-size 1M --on-full wait -- \
	"$P/p_flat_out" 2 300000 >"$T/out" 2>"$T/err" || fail "status"
rm -rf "$T/trace"
cp -r "$HOME/full" "$T/trace"
report
nothing_lost
[ "$(calls work)" = 600000 ] || fail "$(calls work) calls, not 600000"
exit 0
