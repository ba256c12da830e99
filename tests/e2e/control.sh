#!/bin/bash
# weft status, start, stop and finish: four busy threads are turned off and on,
# and what is recorded is what they counted while it was on; other users can do
# nothing; no socket is left, however the recording ends.
# SPDX-License-Identifier: MIT
. tests/e2e/record.inc
export XDG_RUNTIME_DIR=$HOME/run
mkdir "$XDG_RUNTIME_DIR"
chmod 711 "$HOME"
folder=$XDG_RUNTIME_DIR/weft
mkfifo "$T/in"
says() {
	await grep -q "$1" "$T/out" || fail "it never said $1"
}
left() {
	find "$folder" -mindepth 1 | grep .
}

# begin OPTION...: p_control, whose input ends with descriptor 5.
begin() {
	rm -rf "$T/trace"
	: >"$T/out"
	"$WEFT" record -o "$T/trace" "$@" -- "$P/p_control" <"$T/in" \
		>"$T/out" 2>"$T/err" &
	recorder=$!
	exec 5>"$T/in"
}
# value KEY: of the only recording.
value() {
	"$WEFT" status "$recorder" | sed -n "s/^$1 *//p"
}

# soon: records a second are known in the first second, too.
soon() {
	local at rate=0 last=0
	while [ "$rate" = 0 ]; do
		"$WEFT" status "$recorder" >"$T/o" || return 1
		at=$(sed -n 's/^seconds *//p' "$T/o")
		rate=$(sed -n 's/^rate *//p' "$T/o")
		[ "${at%.*}" = 0 ] || return $last
		last=1
	done
}

# All commands, by all three ways to name a recording.
begin --name served
says ready
soon || fail "no records in the first second: $(cat "$T/o")"
pid=$(value pid)
"$WEFT" status | grep -q "^served  *$pid on .*p_control" || fail "status"
for wrong in nobody 1 "p_control"; do
	"$WEFT" stop "$wrong" >"$T/o" 2>&1
	[ $? = 2 ] && grep -q 'no recording' "$T/o" || fail "stop $wrong"
done
"$WEFT" snapshot served 2>"$T/o" && fail "a snapshot without a flight recorder"
grep -qx 'weft: snapshot: .*see weft record --flight-recorder' "$T/o" ||
	fail "snapshot: $(cat "$T/o")"
"$WEFT" stop served | grep -qx 'recording *is off, was on' || fail "stop"
says off
sleep 0.4
[ "$(value state)" = off ] || fail "status: not off"
"$WEFT" start "$pid" | grep -qx 'recording *is on, was off' || fail "start"
says on
"$WEFT" finish "$recorder" >"$T/finish" || fail "finish"
grep -qx "trace *$T/trace" "$T/finish" || fail "finish: which trace?"
left && fail "a socket is left after finish"

# The trace is complete when finish returns, and the program goes on: what it
# does now is recorded no more, and weft record ends as it does.
"$WEFT" status | grep -q "^served" && fail "status: it is still there"
report
[ "$(calls before) $(calls after)" = '40000 40000' ] ||
	fail "before: $(calls before), after: $(calls after), not 40000 40000"
[ "$(calls unseen) $(calls late)" = '0 0' ] || fail "off, and still recorded"
nothing_lost
grep -q '^# note: recording was off for .*ms of the whole time' \
	"$T/report.err" || fail "the report does not say that it was off"
"$WEFT" dump "$T/trace" >"$T/dump" 2>"$T/dump.err"
[ "$(grep -c 'mark.*unseen' "$T/dump")" = 0 ] || fail "a mark while it was off"
[ "$(grep -c 'mark.*after' "$T/dump")" = 4 ] || fail "not four marks after"
exec 5>&-
wait $recorder
[ $? = 7 ] || fail "weft record did not end as the program did"
busy=$(sed -n 's/^busy //p' "$T/out")
[ "$(calls busy)" -gt 0 ] && [ "$(calls busy)" -le "$busy" ] ||
	fail "busy: $(calls busy) of $busy"

# Another user can neither look nor stop, whatever the folder's rights are.
if [ "$(id -u)" = 0 ]; then
	begin
	says ready
	socket=$(echo "$folder"/p_control.*)
	for open in no yes; do
		as_user env XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" "$WEFT" stop \
			p_control 2>"$T/o" &&
			fail "another user stops it ($open)"
		for command in status start stop snapshot finish top; do
			as_user "$WEFT" $command "$socket" >"$T/o" 2>&1
			[ $? = 2 ] || fail "another user: $command ($open)"
		done
		chmod 755 "$folder"
		chmod 666 "$socket"
	done
	chmod 700 "$folder"
	[ "$(value state)" = on ] || fail "another user stopped it"
	pid=$(value pid)
	"$WEFT" finish "$socket" >/dev/null || fail "finish by path"
	kill -9 "$pid" # it would wait for ever to be turned on
	exec 5>&-
	wait
	# And root may, by path.
	chown 65534 "$XDG_RUNTIME_DIR"
	rmdir "$folder"
	as_user mkdir -m 700 "$folder"
	as_user env XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" "$WEFT" record \
		-o "$HOME/trace" -- "$P/p_slow" 0 1 <"$T/in" >"$T/out" \
		2>"$T/err" &
	recorder=$!
	exec 5>"$T/in"
	is_there() {
		[ -S "$(echo "$folder"/p_slow.*)" ]
	}
	await is_there
	"$WEFT" status "$(echo "$folder"/p_slow.*)" | grep -qx 'state *on' ||
		fail "root may not look"
	exec 5>&-
	wait $recorder
	left && fail "a socket is left after the end"
	rmdir "$folder"
	chown 0 "$XDG_RUNTIME_DIR"
else
	echo "note: not root: no other user tries"
fi

# A killed recorder's socket goes with the next command that finds it.
begin
says ready
pid=$(value pid)
kill -9 $recorder "$pid"
wait $recorder 2>/dev/null
exec 5>&-
gone() {
	! "$WEFT" status | grep -q p_control && ! left
}
await gone || fail "a dead recorder's socket is left"
exit 0
