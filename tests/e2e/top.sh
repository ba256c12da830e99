#!/bin/bash
# weft top watches a recording from its beginning: at the end it has the calls
# that the program counts, and those of weft report. If it is stopped, the
# recording goes on and loses nothing, and what it missed is counted.
# SPDX-License-Identifier: MIT
. tests/lib.sh
export XDG_RUNTIME_DIR=$T
mkfifo "$T/go"

# watch PROGRAM ARGUMENT...: weft top, from before the program's first call;
# sets top and recorder.
watch() {
	rm -rf "$T/trace"
	"$WEFT" record --on-full wait -o "$T/trace" --name watched -- \
		sh -c 'read -r x <"$0"; exec "$@"' "$T/go" "$@" \
		>"$T/out" 2>"$T/err" &
	recorder=$!
	has_socket() {
		[ -n "$(find "$T/weft" -name 'watched.*' 2>/dev/null)" ]
	}
	await has_socket || fail "there is no socket"
	"$WEFT" top --csv --columns name,calls --sort calls watched \
		>"$T/top.csv" 2>"$T/top.err" &
	top=$!
	await_watching $top
}
# await_watching PID: that weft top waits for chunks or keys, which are the two
# files of its poll (7). Before, it waits for answers of the recorder.
await_watching() {
	local its=$1 call
	has_asked() {
		read -r call 2>/dev/null <"/proc/$its/syscall" &&
			[[ $call =~ ^7\ 0x[0-9a-f]+\ 0x2\  ]]
	}
	await has_asked || fail "weft top does not connect"
	"$WEFT" status watched >"$T/status" || fail "weft status fails"
}
of_top() {
	awk -F, -v name="$1" '$1 == name { print $2 }' "$T/top.csv"
}

# What a table cannot have is said before anything is watched.
for wrong in '--columns nonsense' '--columns tid' '--columns p99' \
	'--sort p99'; do
	"$WEFT" top $wrong nobody >"$T/out" 2>"$T/err"
	[ $? = 1 ] || fail "weft top $wrong is taken"
	grep -q 'nobody' "$T/err" && fail "it looks for a recording first"
done

! "$WEFT" help top | grep -E ' (p50|p95|p99|tid)[, ]' ||
	fail "the help lists what is refused"

watch "$P/p_slow" 1
"$WEFT" top --csv watched >"$T/usual.csv" 2>"$T/usual.err" &
usual=$!
await_watching $usual
echo >"$T/go"
wait $recorder
[ $? = 9 ] || fail "the program ends otherwise"
wait $top || fail "weft top fails"
wait $usual || fail "weft top --csv fails: $(cat "$T/usual.err")"
grep -q '^function,language,module,file,line,calls,self_ns,' "$T/usual.csv" ||
	fail "other columns: $(head -1 "$T/usual.csv")"
grep -q '^tick,' "$T/usual.csv" || fail "weft top --csv has no rows"
report --columns name,calls --sort calls
nothing_lost
own=$(sed -n 's/^calls \([0-9]*\) tick$/\1/p' "$T/out")
[ "$own" = 100000 ] || fail "the program counts $own"
[ "$(of_top tick)" = "$own" ] ||
	fail "weft top saw $(of_top tick) of $own: $(cat "$T/top.err")"
[ "$(of_top main)" = 1 ] || fail "main was called $(of_top main) times"
cmp "$T/top.csv" "$T/report.csv" || fail "weft report has other calls"
grep -q '^# lost by the program: 0; missed by weft top: 0 chunks$' \
	"$T/top.err" || fail "something was lost: $(cat "$T/top.err")"

# weft record -p: its calls are shown, though it is not known under which they are.
cat >"$T/naps.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) static void drop(void) { __asm__ volatile(""); }
int main(void)
{
	for (;; usleep(1000))
		for (int i = 0; i < 1000; i++)
			drop();
}
END
gcc -O1 -finstrument-functions -o "$T/naps" "$T/naps.c" || fail "no compiler"
"$T/naps" &
naps=$!
"$WEFT" record -q -o "$T/late" --name late -p $naps >"$T/out" 2>"$T/err" &
recorder=$!
is_attached() { "$WEFT" status late >"$T/status" 2>&1; }
await is_attached || fail "it does not attach: $(cat "$T/err")"
drops() {
	"$WEFT" top --csv --columns name,calls --refreshes 2 late >"$T/top.csv" \
		2>"$T/top.err" || fail "weft top fails: $(cat "$T/top.err")"
	[ "$(of_top drop)" ] && [ "$(of_top drop)" -gt 0 ]
}
await drops || fail "weft top has no calls: $(cat "$T/top.csv" "$T/top.err")"
kill -INT $recorder
wait $recorder || fail "weft record -p fails: $(cat "$T/err")"
kill $naps

# It is stopped; what comes is more than the recorder keeps for it.
watch "$P/p_flood" 10
kill -STOP $top
echo >"$T/go"
has_recorded() {
	[ -n "$(find "$T/trace" -size +2M 2>/dev/null)" ]
}
await has_recorded
kill -CONT $top
wait $recorder || fail "the program ends otherwise"
wait $top || fail "weft top fails"
report
nothing_lost
same_calls
[ "$(of_top drop)" -lt 10000000 ] || fail "it missed nothing"
missed=$(sed -n 's/.*missed by weft top: \([0-9,]*\) chunks*$/\1/p' \
	"$T/top.err" | tr -d ,)
[ "$missed" -gt 0 ] || fail "what it missed is not counted"
# A chunk has 8,192 records at most, and each call is one.
chunks=$("$WEFT" info "$T/trace" |
	sed -n 's/^data .* in \([0-9,]*\) chunks.*/\1/p' | tr -d ,)
[ $(($(of_top drop) + missed * 8192)) -ge 10000000 ] &&
	[ $(($(of_top drop) / 8192 + missed)) -le "$chunks" ] ||
	fail "$(of_top drop) calls, $missed of $chunks chunks missed"

# It is stopped until after the end.
watch "$P/p_flood" 4
kill -STOP $top
echo >"$T/go"
wait $recorder || fail "the program ends otherwise"
kill -CONT $top
wait $top || fail "weft top fails"
report
nothing_lost
same_calls
grep -q 'missed by weft top: .*, and the end$' "$T/top.err" ||
	fail "that it has not seen the end is not said"

# Ctrl-Z gives the terminal back as it was; fg takes it again.
if command -v script >/dev/null; then
	mkfifo "$T/keys"
	watch "$P/p_slow" 2
	# shellcheck disable=SC2016
	tty='set -m; tty >"$T/tty"; "$WEFT" top watched
		stty -a >"$T/stopped"; fg; stty -a >"$T/after"'
	T=$T WEFT=$WEFT script -qec "bash -c '$tty'" /dev/null \
		<"$T/keys" >"$T/screen" 2>&1 &
	script=$!
	exec 6>"$T/keys"
	is_raw() {
		[ -s "$T/tty" ] && stty -a -F "$(cat "$T/tty")" |
			grep -q -- '-icanon'
	}
	await is_raw || fail "weft top does not take the terminal"
	on=$(pgrep -n -t "$(sed 's|/dev/||' "$T/tty")" -f 'top watched') &&
		kill -TSTP "$on" || fail "no weft top"
	await [ -s "$T/stopped" ] || fail "weft top does not stop"
	grep -q -- '-icanon\|-echo ' "$T/stopped" &&
		fail "stopped: the terminal is raw: $(cat "$T/stopped")"
	await is_raw || fail "weft top does not go on"
	echo q >&6
	exec 6>&-
	await [ -s "$T/after" ] || fail "weft top does not end"
	grep -q -- '-icanon\|-echo ' "$T/after" &&
		fail "afterwards the terminal is raw"
	wait $script
	echo >"$T/go"
	kill $top
	wait $top $recorder
fi

# Tables, one after the other; and nobody to watch.
watch "$P/p_slow" 1
kill $top
wait $top
"$WEFT" top --batch --refreshes 1 --sort calls watched >"$T/batch" &
top=$!
await_watching $top
echo >"$T/go"
wait $top || fail "--batch fails"
[ "$(grep -c '^watched.*since the last table$' "$T/batch")" = 1 ] ||
	fail "tables: $(cat "$T/batch")"
wait $recorder

# A recording is named as for weft status; -b is --batch, as top has it.
watch "$P/p_slow" 1
kill $top
wait $top
socket=$(find "$T/weft" -name 'watched.*')
for which in "-p ${socket##*.}" "-p $recorder" "$socket"; do
	# shellcheck disable=SC2086
	"$WEFT" top -b --refreshes 1 $which >"$T/batch" 2>&1 &&
		grep -q '^watched.*since the last table$' "$T/batch" ||
		fail "weft top $which: $(cat "$T/batch")"
done
"$WEFT" top -p "$recorder" watched 2>"$T/batch"
[ $? = 1 ] || fail "two names are taken"
echo >"$T/go"
wait $recorder
"$WEFT" top watched 2>"$T/batch" && fail "it watches what is not there"
grep -q 'no recording "watched"' "$T/batch" || fail "it does not say why"
exit 0
