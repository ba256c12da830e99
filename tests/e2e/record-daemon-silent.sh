#!/bin/bash
# A session daemon that takes connections and never answers: the program waits for
# it for a moment only, and where the pool fills up goes on. No call is
# lost or there twice, also where LTTng comes when chunks were spilled already.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
. tests/e2e/attach.inc
command -v perl >/dev/null || { echo "there is no perl"; exit 77; }
socket=$HOME/.lttng/client-lttng-sessiond
as_user mkdir "$HOME/.lttng"

# It hangs up when it is told so.
silent() {
	as_user rm -f "$socket"
	as_user perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new(Local => shift, Listen => 9);
		$SIG{USR1} = sub { exit 0 };
		my @all;
		while (my $c = $s->accept) { push @all, $c; }
	' "$socket" &
	fake=$!
	await test -S "$socket" || fail "the daemon does not listen"
}
hang_up() {
	kill "$fake"
	wait "$fake"
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

# LTTng may answer when half of the pool is full.
as_user "$WEFT" record -o "$HOME/full" --pool-size 1M --on-full wait -- \
	"$P/p_flat_out" 2 300000 >"$T/out" 2>"$T/err" || fail "status"
rm -rf "$T/trace"
cp -r "$HOME/full" "$T/trace"
report
nothing_lost
[ "$(calls work)" = 600000 ] || fail "$(calls work) calls, not 600000"
exit 0
