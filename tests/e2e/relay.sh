#!/bin/bash
# weft record --relay: three recorders stream to one lttng-relayd, and one weft
# report over what it wrote has the programs' own counts. A relay daemon that
# dies in mid-run, or is not there, costs nothing but a folder more.
# time: 900
# SPDX-License-Identifier: MIT
. tests/lib.sh
command -v lttng-relayd >/dev/null || { echo "there is no lttng-relayd"; exit 77; }
command -v perl >/dev/null || { echo "there is no perl"; exit 77; }
relayd=
trap '[ -z "$relayd" ] || kill -KILL $relayd' EXIT

# Three ports that nobody uses, for control, data and readers.
free_ports() {
	perl -MIO::Socket::INET -e '
		my @s = map { IO::Socket::INET->new(LocalAddr => "127.0.0.1",
			Listen => 1) or die } 1 .. 3;
		print join(" ", map { $_->sockport } @s), "\n";'
}

listens() {
	bash -c "exec 3<>/dev/tcp/127.0.0.1/$1" 2>/dev/null
}

# start_relay FOLDER: sets $relayd and $url.
start_relay() {
	local control data live
	read -r control data live < <(free_ports)
	mkdir "$1" || fail "no folder"
	LTTNG_HOME=$T lttng-relayd --output "$1" \
		--control-port tcp://127.0.0.1:$control \
		--data-port tcp://127.0.0.1:$data \
		--live-port tcp://127.0.0.1:$live >"$T/relayd" 2>&1 &
	relayd=$!
	await listens $control || fail "no relay daemon: $(cat "$T/relayd")"
	url=tcp://127.0.0.1:$control:$data
}

# Three at once, each with processes that come and go.
start_relay "$T/all"
seconds=3
[ "${DEEP-}" = 1 ] && seconds=60
run='end=$(($(date +%s) + $1)); while "$2" 20000; [ $(date +%s) -lt $end ]; do :; done'
recorders=
for zone in a b c; do
	timeout 600 "$WEFT" record --on-full wait --label zone=$zone \
		--relay $url -o "$T/$zone" -- sh -c "$run" sh $seconds \
		"$P/p_pieces" >"$T/$zone.out" 2>"$T/$zone.err" &
	recorders="$recorders $!"
done
for pid in $recorders; do
	wait $pid || fail "status: $(cat "$T"/?.err)"
done
for zone in a b c; do
	grep -qx 'weft: lost: 0 on this machine; weft report on 127.0.0.1 says what arrived there' \
		"$T/$zone.err" || fail "$(cat "$T/$zone.err")"
	grep -q 'records sent to 127.0.0.1' "$T/$zone.err" || fail "not sent"
	[ ! -e "$T/$zone/ctf" ] && [ ! -e "$T/$zone/spill.weft" ] ||
		fail "$zone is here, too"
done

# told FUNCTION: how often the three programs say that they called it.
told() {
	cat "$T"/?.out | awk -v f="$1" '$3 == f { n += $2 } END { print n }'
}
"$WEFT" report --csv "$T/all" >"$T/report.csv" 2>"$T/report.err" ||
	fail "weft report fails"
nothing_lost
grep -q "traces in $T/all: 3" "$T/report.err" || fail "not three traces"
for f in early late run main; do
	[ "$(calls $f)" = "$(told $f)" ] ||
		fail "$f: $(calls $f) calls, not $(told $f)"
done
"$WEFT" report --csv --by label "$T"/all/* >"$T/report.csv" \
	2>"$T/report.err" || fail "weft report fails"
for zone in a b c; do
	grep -qF "zone=$zone" "$T/report.csv" || fail "no zone=$zone"
done

# It dies while the program records at full speed: what it did not take is here.
rm -rf "$T/all" "$T"/?.out
kill -KILL $relayd
start_relay "$T/half"
timeout 600 "$WEFT" record --on-full wait --relay $url -o "$T/trace" -- \
	sh -c 'while "$1" 20000; [ ! -e "$2" ]; do :; done' \
	sh "$P/p_pieces" "$T/go" >"$T/a.out" 2>"$T/err" &
recorder=$!
streamed() {
	find "$T/half" -name 'weft_*' -size +8k | grep -q .
}
await streamed || fail "nothing comes"
kill -KILL $relayd
wait $relayd 2>/dev/null
relayd=
await grep -q 'LTTng is no longer used: the relay daemon is gone' "$T/err" ||
	fail "it is not said that the relay daemon is gone"
touch "$T/go"
wait $recorder || fail "status"
"$WEFT" report --csv "$T/half" >"$T/report.csv" 2>"$T/report.err"
grep -q '^# lost: the recorder ended before' "$T/report.err" ||
	fail "it is not said that the rest is missing: $(cat "$T/report.err")"
cp "$T/trace/spill.weft" "$T"/half/*/*/ || fail "no spill file"
"$WEFT" report --csv "$T/half" >"$T/report.csv" 2>"$T/report.err" ||
	fail "weft report fails"
nothing_lost
[ "$(calls early)" = "$(told early)" ] ||
	fail "both: $(calls early) calls, not $(told early)"

# Nobody listens there any more.
record --relay $url -- "$P/p_pieces" 1000 || fail "status"
grep -q 'recording goes to spill.weft' "$T/err" || fail "no message"
report
nothing_lost
same_calls
for wrong in ftp://host host tcp:// tcp://h:0 tcp://h:1:2:3 'tcp://h/x' \
	'tcp://[h]' 'net://a b' tcp://h:99999; do
	"$WEFT" record --relay "$wrong" -o "$T/none" true 2>"$T/err"
	[ $? = 1 ] || fail "$wrong is not refused"
done
for other in '--max-size 1M' '--flight-recorder 1M' --archive; do
	# shellcheck disable=SC2086
	"$WEFT" record --relay tcp://h $other -o "$T/none" true 2>"$T/err"
	[ $? = 1 ] || fail "$other is not refused"
done
exit 0
