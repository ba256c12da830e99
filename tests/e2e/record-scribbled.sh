#!/bin/bash
# A program writes noise all over the pool of its recording, and to its user's
# control sockets; each second one also cuts the pool's file. It hurts its own
# recording alone: another one at that time has each call, and everything ends.
# time: 900
# SPDX-License-Identifier: MIT
. tests/lib.sh
export XDG_RUNTIME_DIR=$T
mkfifo "$T/in"
"$WEFT" record --name other -o "$T/other" -- "$P/p_slow" 0.1 0.1 <"$T/in" \
	>"$T/other.out" 2>"$T/other.err" &
other=$!
exec 5>"$T/in"
await grep -q waits "$T/other.out" || fail "the other program does not start"

seeds=4
[ "${DEEP-}" = 1 ] && seeds=40
for seed in $(seq $seeds); do
	case $((seed % 4)) in
	0) how= ;;
	1) how='--pool-size 2M' ;;
	2) how='--flight-recorder 4M' ;;
	3) how='--max-size 1M --max-files 3' ;;
	esac
	cut=$([ $((seed / 2 % 2)) = 0 ] || echo cut)
	# shellcheck disable=SC2086
	record $how -- sh -c "$P/p_flood 2 & LD_PRELOAD= \"\$@\"; wait" sh \
		"$P/p_scribble" "$seed" "$T/weft" $cut
	status=$?
	[ $status = 0 ] || fail "seed $seed $how $cut: status $status"
	grep -qx scribbled "$T/out" || fail "seed $seed: nothing was scribbled"
	grep -qx 'weft: lost: 0' "$T/err" && fail "seed $seed: lost: 0"
	"$WEFT" report "$T/trace" 2>&1 | grep -qx "nothing was lost" &&
		fail "seed $seed: nothing was lost"
	for command in report check dump recover; do
		timeout 300 "$WEFT" $command "$T/trace" >"$T/o" 2>&1
		status=$?
		[ $status -le 2 ] || fail "seed $seed: weft $command: $status"
	done
	rm -rf "$T/trace.recovered"
	[ -z "$(find "$T/weft" -name 'sh.*')" ] || fail "seed $seed: a socket is left"
done

[ "$("$WEFT" status other | sed -n 's/^state *//p')" = on ] ||
	fail "the other recording is not on"
exec 5>&-
wait $other
[ $? = 9 ] || fail "the other program ends otherwise: $(cat "$T/other.err")"
rm -rf "$T/trace"
mv "$T/other" "$T/trace"
mv "$T/other.out" "$T/out"
report
nothing_lost
same_calls
exit 0
